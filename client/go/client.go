package recollect

import (
	"context"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/recollect-dev/recollect-go/recollect/v1"
)

// Client is a client of one server. Share one, and close it.
//
// Its fields are the generated clients of the server's services, with the client's credentials, deadlines, repetitions and
// errors.
type Client struct {
	Sessions      recollectv1.SessionServiceClient
	Events        recollectv1.EventServiceClient
	Compaction    recollectv1.CompactionServiceClient
	Recall        recollectv1.RecallServiceClient
	Subscriptions recollectv1.SubscriptionServiceClient
	Consumers     recollectv1.ConsumerServiceClient
	Server        recollectv1.ServerServiceClient

	address string
	app     string
	userID  string
	timeout time.Duration
	silence time.Duration
	conn    *grpc.ClientConn
	once    sync.Once
	closed  chan struct{}
}

// New makes a client of the server at address, "host:port"; empty is the value of RECOLLECT_ADDRESS, else DefaultAddress.
//
// It does not connect: the first call does, and fails with code Unavailable where there is no server. Methods that the protos
// declare free of side effects or idempotent are sent again while the server is unavailable: at most five times in all, 0.1 to
// 2 seconds apart, within the call's deadline. Other methods and streams are never repeated. The error says that the address or
// an option of gRPC is malformed.
func New(address string, opts ...Option) (*Client, error) {
	chosen := newOptions(opts)
	c := &Client{
		address: addressOrDefault(address),
		app:     chosen.app,
		userID:  chosen.userID,
		timeout: chosen.timeout,
		silence: longestSilence,
		closed:  make(chan struct{}),
	}
	conn, err := grpc.NewClient(c.address, c.dialOptions(chosen)...)
	if err != nil {
		return nil, fmt.Errorf("recollect: the address %q: %w", c.address, err)
	}
	c.conn = conn
	c.Sessions = recollectv1.NewSessionServiceClient(conn)
	c.Events = recollectv1.NewEventServiceClient(conn)
	c.Compaction = recollectv1.NewCompactionServiceClient(conn)
	c.Recall = recollectv1.NewRecallServiceClient(conn)
	c.Subscriptions = recollectv1.NewSubscriptionServiceClient(conn)
	c.Consumers = recollectv1.NewConsumerServiceClient(conn)
	c.Server = recollectv1.NewServerServiceClient(conn)
	return c, nil
}

// Close ends the connection. Calls and subscriptions under way fail with an *Error of code Canceled that wraps ErrClosed, later
// ones with ErrClosed itself. Closing twice does nothing. It always returns nil.
func (c *Client) Close() error {
	c.once.Do(func() {
		close(c.closed)
		_ = c.conn.Close() // its only error is that it is closed
	})
	return nil
}

// Address is where the client's server is.
func (c *Client) Address() string {
	return c.address
}

// Conn is the connection, for services beside Recollect's own: health checks, say. Calls through it fail with an *Error too.
func (c *Client) Conn() grpc.ClientConnInterface {
	return c.conn
}

func (c *Client) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

// pause waits, but not beyond the end of the context or of the client.
func (c *Client) pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return c.typed(ctx.Err())
	case <-c.closed:
		return c.typed(context.Canceled)
	}
}

// Session is a handle on one session, which need not exist. It is made without a call and needs no closing.
type Session struct {
	client *Client
	ref    *SessionRef
}

// Session is the session of this id, of the client's app and user.
func (c *Client) Session(id string) *Session {
	return &Session{client: c, ref: &SessionRef{App: c.app, UserId: c.userID, SessionId: id}}
}

// SessionOf is the session that ref names, as it is; the client's app and user do not complete it.
func (c *Client) SessionOf(ref *SessionRef) *Session {
	return &Session{client: c, ref: proto.CloneOf(ref)}
}

// Ref names the session, for requests of the generated clients. It is a copy.
func (s *Session) Ref() *SessionRef {
	return proto.CloneOf(s.ref)
}
