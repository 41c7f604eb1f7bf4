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

// Options is how a client differs from the default, which is the zero of each field.
type Options struct {
	// Address of the server: "host:port", or "host" for port 7443. "https://host:port" turns TLS on. Default: the value of
	// THREADKEEP_ADDRESS, else 127.0.0.1:7443.
	Address string
	// Token is sent as "authorization: Bearer TOKEN" with every call. Over plaintext it is sent to this machine only. Default: the
	// value of THREADKEEP_TOKEN; where that is empty too, none.
	Token string
	// AllowPlaintextToken sends the token over plaintext to other machines too, where anybody on the way can read it: for a network
	// that encrypts by itself, and for credentials that are given by Dial.
	AllowPlaintextToken bool
	// App and UserID complete sessions that are given by their id alone, and what requests of lists, searches, watches and
	// deletions leave empty. Default: no app; and no user, so that the id must be the tenant's only one of that name, unless the
	// token names the user.
	App, UserID string
	// Timeout limits each call whose context bears no deadline, repetitions included. Default: 30 seconds; negative is no limit.
	Timeout time.Duration
	// TLS encrypts the connection; its zero is TLS with the system's roots. Default: plaintext, unless the address says https.
	TLS *tls.Config
	// Dial is options of gRPC; they win over the client's own.
	Dial []grpc.DialOption
}

// Client is a client of one server. Share one, and close it.
//
// Its fields are the generated clients of the server's services, with the client's credentials, deadlines, repetitions and
// errors. They send requests as they are: app and user are not filled in.
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

// New makes a client. It does not connect: the first call does, and fails with code Unavailable where there is no server.
//
// Methods that the protos declare free of side effects or idempotent are sent again while the server is unavailable: at most five
// times in all, 0.1 to 2 seconds apart, within the call's deadline. Other methods and streams are never repeated. The error says
// that the address or an option of gRPC is malformed, or that the token would cross a network in plaintext.
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
				"where the network encrypts by itself, Options.AllowPlaintextToken", server.address, server.address)
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

// Close ends the connection. Calls and subscriptions under way, and later ones, fail with an *Error of code Canceled that wraps
// ErrClosed. Closing twice does nothing. It always returns nil.
func (c *Client) Close() error {
	c.end()
	_ = c.conn.Close() // its only error is that it is closed
	return nil
}

// Conn is the connection, for services beside Threadkeep's own: health checks, say. Calls through it fail with an *Error too.
func (c *Client) Conn() grpc.ClientConnInterface {
	return c.conn
}

// Session is a handle on one session, which need not exist. It is made without a call and needs no closing.
type Session struct {
	client *Client
	ref    *SessionRef
}

// Session is the session of this id, of the client's app and user.
func (c *Client) Session(id string) *Session {
	return &Session{client: c, ref: &SessionRef{App: c.user.GetApp(), UserId: c.user.GetUserId(), SessionId: id}}
}

// SessionOf is the session that ref names, as it is; the client's app and user do not complete it.
func (c *Client) SessionOf(ref *SessionRef) *Session {
	return &Session{client: c, ref: proto.CloneOf(ref)}
}

// Ref names the session, for requests of the generated clients. It is a copy.
func (s *Session) Ref() *SessionRef {
	return proto.CloneOf(s.ref)
}
