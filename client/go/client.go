package threadkeep

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

// Options configures a client. The zero value of each field is its default.
type Options struct {
	// Address of the server: "host:port", or "host" for port 7443. "https://host:port" turns TLS on. Default: the value of
	// THREADKEEP_ADDRESS, else 127.0.0.1:7443.
	Address string
	// Token is sent as "authorization: Bearer TOKEN" with every call. Over plaintext it is sent to this machine only. Default:
	// the value of THREADKEEP_TOKEN, else none.
	Token string
	// AllowPlaintextToken sends the token over plaintext to other machines, where it can be intercepted. Use it for networks
	// that encrypt traffic, and for credentials in Dial.
	AllowPlaintextToken bool
	// App and UserID complete sessions that are specified by id alone, and app and user where lists, searches, watches and
	// deletions leave them empty. Default: no app, and no user; the session id must then be unique in the tenant, unless the
	// token is bound to a user.
	App, UserID string
	// Timeout limits each call whose context has no deadline, retries included. Default: 30 seconds. Negative means no limit.
	Timeout time.Duration
	// TLS encrypts the connection; its zero value is TLS with the system's roots. Default: plaintext, unless the scheme is
	// https.
	TLS *tls.Config
	// Dial contains gRPC options. They override the client's.
	Dial []grpc.DialOption
}

// Client is a client of one server. Share it, and close it.
//
// Its fields are the generated clients of the server's services, with the client's credentials, deadlines, retries and errors.
// They send requests unchanged: app and user are not completed.
type Client struct {
	Sessions      threadkeepv1.SessionServiceClient
	Events        threadkeepv1.EventServiceClient
	Compaction    threadkeepv1.CompactionServiceClient
	Searches      threadkeepv1.SearchServiceClient
	Memories      threadkeepv1.MemoryServiceClient
	Tools         threadkeepv1.ToolServiceClient
	Subscriptions threadkeepv1.SubscriptionServiceClient
	Consumers     threadkeepv1.ConsumerServiceClient
	Server        threadkeepv1.ServerServiceClient

	address       string
	authorization string
	user          *threadkeepv1.UserScope
	timeout       time.Duration
	silence       time.Duration
	conn          *grpc.ClientConn
	open          context.Context // until Close
	end           context.CancelFunc
}

// New creates a client. It does not connect: the first call does, and fails with code Unavailable if there is no server.
//
// Methods that the protos declare free of side effects or idempotent are retried while the server is unavailable: at most five
// attempts, with pauses of 0.1 to 2 seconds, within the deadline of the call. Other methods and streams are never retried. New
// returns an error if the address or a gRPC option is invalid, or if the token would cross a network in plaintext.
func New(options Options) (*Client, error) {
	given := cmp.Or(options.Address, os.Getenv("THREADKEEP_ADDRESS"), "127.0.0.1:"+defaultPort)
	server, err := parseTarget(given)
	if err != nil {
		return nil, fmt.Errorf("threadkeep: the address %q: %w", given, err)
	}
	if server.encrypted && options.TLS == nil {
		options.TLS = &tls.Config{}
	}
	c := &Client{
		address: server.address,
		user:    &threadkeepv1.UserScope{UserId: options.UserID},
		timeout: cmp.Or(options.Timeout, 30*time.Second),
		silence: longestSilence,
	}
	if options.App != "" {
		c.user.App = &options.App
	}
	if token := cmp.Or(options.Token, os.Getenv("THREADKEEP_TOKEN")); token != "" {
		if options.TLS == nil && !server.local && !options.AllowPlaintextToken {
			return nil, fmt.Errorf("threadkeep: the token would cross the network to %s in plaintext: use https://%s, Options.TLS or, "+
				"if the network encrypts traffic, Options.AllowPlaintextToken", server.address, server.address)
		}
		c.authorization = "Bearer " + token
	}
	conn, err := grpc.NewClient(c.address, c.dialOptions(options)...)
	if err != nil {
		return nil, fmt.Errorf("threadkeep: the address %q: %w", c.address, err)
	}
	c.conn = conn
	c.open, c.end = context.WithCancel(context.Background())
	c.Sessions = threadkeepv1.NewSessionServiceClient(conn)
	c.Events = threadkeepv1.NewEventServiceClient(conn)
	c.Compaction = threadkeepv1.NewCompactionServiceClient(conn)
	c.Searches = threadkeepv1.NewSearchServiceClient(conn)
	c.Memories = threadkeepv1.NewMemoryServiceClient(conn)
	c.Tools = threadkeepv1.NewToolServiceClient(conn)
	c.Subscriptions = threadkeepv1.NewSubscriptionServiceClient(conn)
	c.Consumers = threadkeepv1.NewConsumerServiceClient(conn)
	c.Server = threadkeepv1.NewServerServiceClient(conn)
	return c, nil
}

// Close closes the connection. Active and later calls and subscriptions fail with an *Error of code Canceled that wraps
// ErrClosed. Closing twice has no effect. Close always returns nil.
func (c *Client) Close() error {
	c.end()
	_ = c.conn.Close() // its only error is that it is already closed
	return nil
}

// Conn returns the connection, for services other than Threadkeep's, such as health checks. Calls through it also fail with an
// *Error.
func (c *Client) Conn() grpc.ClientConnInterface {
	return c.conn
}

// Session is a handle on one session, which need not exist. Creating it makes no call, and it needs no closing.
type Session struct {
	client *Client
	ref    *SessionRef
}

// Session returns a handle on the session with this id, of the client's app and user.
func (c *Client) Session(id string) *Session {
	return &Session{client: c, ref: &SessionRef{App: c.user.GetApp(), UserId: c.user.GetUserId(), SessionId: id}}
}

// SessionOf returns a handle on the session of ref, which is used unchanged.
func (c *Client) SessionOf(ref *SessionRef) *Session {
	return &Session{client: c, ref: proto.CloneOf(ref)}
}

// Ref returns a copy of the session's reference, for requests of the generated clients.
func (s *Session) Ref() *SessionRef {
	return proto.CloneOf(s.ref)
}
