package threadkeep

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

// Config configures a client. The zero value of each field is its default.
type Config struct {
	// Address of the server: "host:port", or "host" for port 7443. "https://host:port" turns TLS on. Default: the value of
	// THREADKEEP_ADDRESS, else 127.0.0.1:7443.
	Address string
	// Token is sent as "authorization: Bearer TOKEN" with every call. Over plaintext it is sent to this machine only. Default:
	// the value of THREADKEEP_TOKEN, else none.
	Token string
	// TokenSource returns the token; it is called before every attempt of a call, and replaces Token.
	TokenSource func(context.Context) (string, error)
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
	// MaxAttempts is the maximum number of attempts of calls that are safe to repeat; 1 turns retries off. Default: 5, which is
	// also the most that gRPC makes.
	MaxAttempts int
	// Logger receives retries, reopened streams, dropped appends and failed handlers. Default: none.
	Logger *slog.Logger
	// Dial contains gRPC options, for example interceptors or the stats handler of OpenTelemetry. They override the client's.
	Dial []grpc.DialOption
}

// Client is a client of one server. Share it, and close it.
//
// Lists, searches, watches and deletions cover the client's user and app, unless AnyUser, AnyApp, WithUser or WithApp is given. A
// method without Page in its name iterates over all items, page by page.
type Client struct {
	raw     Services
	address string
	user    *pb.UserScope
	timeout time.Duration
	silence time.Duration
	log     *slog.Logger
	conn    *grpc.ClientConn
	open    context.Context // until Close
	end     context.CancelFunc
}

// Services are the generated clients of the server's services, with the client's credentials, deadlines, retries and errors. They
// send requests unchanged: app and user are not completed.
type Services struct {
	Sessions      pb.SessionServiceClient
	Events        pb.EventServiceClient
	States        pb.StateServiceClient
	Compaction    pb.CompactionServiceClient
	Searches      pb.SearchServiceClient
	Memories      pb.MemoryServiceClient
	Tools         pb.ToolServiceClient
	Subscriptions pb.SubscriptionServiceClient
	Consumers     pb.ConsumerServiceClient
	Server        pb.ServerServiceClient
}

// Raw returns the generated clients, for every RPC as it is: client.Raw().Sessions.
func (c *Client) Raw() Services { return c.raw }

// New creates a client. It does not connect: the first call does, and fails with code Unavailable if there is no server.
//
// Methods that the protos declare free of side effects or idempotent are retried while the server is unavailable: at most five
// attempts, with pauses of 0.1 to 2 seconds, within the deadline of the call. Other methods and streams are never retried. New
// returns an error if the address or a gRPC option is invalid, or if the token would cross a network in plaintext.
func New(config Config) (*Client, error) {
	given := cmp.Or(config.Address, os.Getenv("THREADKEEP_ADDRESS"), "127.0.0.1:"+defaultPort)
	server, err := parseTarget(given)
	if err != nil {
		return nil, fmt.Errorf("threadkeep: the address %q: %w", given, err)
	}
	if server.encrypted && config.TLS == nil {
		config.TLS = &tls.Config{}
	}
	c := &Client{
		address: server.address,
		user:    &pb.UserScope{UserId: config.UserID},
		timeout: cmp.Or(config.Timeout, 30*time.Second),
		silence: longestSilence,
		log:     config.Logger,
	}
	if config.App != "" {
		c.user.App = &config.App
	}
	if token := cmp.Or(config.Token, os.Getenv("THREADKEEP_TOKEN")); token != "" && config.TokenSource == nil {
		config.TokenSource = func(context.Context) (string, error) { return token, nil }
	}
	if config.TokenSource != nil && config.TLS == nil && !server.local && !config.AllowPlaintextToken {
		return nil, fmt.Errorf("threadkeep: the token would cross the network to %s in plaintext: use https://%s, Config.TLS or, "+
			"if the network encrypts traffic, Config.AllowPlaintextToken", server.address, server.address)
	}
	conn, err := grpc.NewClient(c.address, c.dialOptions(config)...)
	if err != nil {
		return nil, fmt.Errorf("threadkeep: the address %q: %w", c.address, err)
	}
	c.conn = conn
	c.open, c.end = context.WithCancel(context.Background())
	c.raw = Services{
		Sessions:      pb.NewSessionServiceClient(conn),
		Events:        pb.NewEventServiceClient(conn),
		States:        pb.NewStateServiceClient(conn),
		Compaction:    pb.NewCompactionServiceClient(conn),
		Searches:      pb.NewSearchServiceClient(conn),
		Memories:      pb.NewMemoryServiceClient(conn),
		Tools:         pb.NewToolServiceClient(conn),
		Subscriptions: pb.NewSubscriptionServiceClient(conn),
		Consumers:     pb.NewConsumerServiceClient(conn),
		Server:        pb.NewServerServiceClient(conn),
	}
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

// SessionHandle is a handle on one session, which need not exist. Creating it makes no call, and it needs no closing.
type SessionHandle struct {
	client *Client
	ref    *SessionRef
	memory MemoryProvider
}

// Session returns a handle on the session with this id, of the client's app and user. An empty id is for Create, to get one from
// the server.
func (c *Client) Session(id string) *SessionHandle {
	return &SessionHandle{client: c, ref: &SessionRef{App: c.user.GetApp(), UserId: c.user.GetUserId(), SessionId: id}}
}

// SessionOf returns a handle on the session of ref, which is used unchanged.
func (c *Client) SessionOf(ref *SessionRef) *SessionHandle {
	return &SessionHandle{client: c, ref: proto.CloneOf(ref)}
}

// ID returns the id of the session.
func (s *SessionHandle) ID() string { return s.ref.GetSessionId() }

// Ref returns a copy of the session's reference, for requests of the generated clients.
func (s *SessionHandle) Ref() *SessionRef {
	return proto.CloneOf(s.ref)
}

// WithMemory returns a handle on the same session that reads and writes as the provider says: GetContext without a provider
// returns its context, and if it does not write, appends send nothing and set Dropped in their results.
func (s *SessionHandle) WithMemory(provider MemoryProvider) *SessionHandle {
	return &SessionHandle{client: s.client, ref: s.ref, memory: provider}
}

// Scoped is an option of every call that covers the data of a user and an app.
type Scoped interface {
	ScopeOption
	SessionsOption
	ExpiredOption
	EraseOption
	UserEventsOption
	SearchOption
	WatchAllOption
	ConsumeOption
}

// ScopedByApp is an option of every call that covers the data of an app.
type ScopedByApp interface {
	Scoped
	UsersOption
}

// AnyUser covers every user within the token's reach, unless WithUser is given. Without it a call covers the client's user.
func AnyUser() Scoped {
	return scopeOption(func(s *settings) { s.anyUser = true })
}

// AnyApp covers every app, unless WithApp is given. Without it a call covers the client's app, if it has one.
func AnyApp() ScopedByApp {
	return scopeOption(func(s *settings) { s.anyApp = true })
}

// WithUser covers this user instead of the client's.
func WithUser(userID string) Scoped {
	return scopeOption(func(s *settings) { s.userID = userID })
}

// WithApp covers this app instead of the client's; "" is what has no app.
func WithApp(app string) ScopedByApp {
	return scopeOption(func(s *settings) { s.app = &app })
}

// userOf returns the user of a request: that of the options or the client's; empty for any.
func (c *Client) userOf(s *settings) string {
	if s.userID != "" || s.anyUser {
		return s.userID
	}
	return c.user.GetUserId()
}

// appOf returns the app of a request: that of the options or the client's; nil for any.
func (c *Client) appOf(s *settings) *string {
	if s.app != nil || s.anyApp {
		return s.app
	}
	return c.user.App
}

// changeScope returns the scope of a watch or a consumer.
func (c *Client) changeScope(s *settings) *pb.ChangeScope {
	return &pb.ChangeScope{App: c.appOf(s), UserId: c.userOf(s), Labels: s.labels}
}
