package threadkeep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	grpcbackoff "google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/stats"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

const maxMessageBytes = 64 << 20

const retryPolicy = `{"maxAttempts": %d, "initialBackoff": "0.1s", "maxBackoff": "2s", "backoffMultiplier": 2,
	"retryableStatusCodes": ["UNAVAILABLE", "CANCELLED"]}`

func (c *Client) dialOptions(config Config) []grpc.DialOption {
	secrets := insecure.NewCredentials()
	if config.TLS != nil {
		secrets = credentials.NewTLS(config.TLS)
	}
	// By default gRPC waits from 1 s up to 2 minutes before it reconnects. The attempts of a call take longer than the longest
	// wait here, so a call to a server that has returned succeeds.
	reconnect := grpc.ConnectParams{Backoff: grpcbackoff.DefaultConfig, MinConnectTimeout: 20 * time.Second}
	reconnect.Backoff.BaseDelay, reconnect.Backoff.MaxDelay = 100*time.Millisecond, 500*time.Millisecond
	own := []grpc.DialOption{
		grpc.WithTransportCredentials(secrets),
		grpc.WithChainUnaryInterceptor(c.unary),
		grpc.WithChainStreamInterceptor(c.stream),
		// The service config of a name service must not replace the retry policy of the protos.
		grpc.WithDisableServiceConfig(),
		grpc.WithUserAgent("threadkeep-go/" + Version),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(maxMessageBytes),
			grpc.MaxCallSendMsgSize(maxMessageBytes),
			// The default, 256 KiB, would silently exclude larger appends from retries.
			grpc.MaxRetryRPCBufferSize(maxMessageBytes),
		),
		grpc.WithConnectParams(reconnect),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
	}
	if attempts := cmp.Or(config.MaxAttempts, 5); attempts > 1 {
		policy := fmt.Sprintf(retryPolicy, attempts)
		own = append(own, grpc.WithDefaultServiceConfig(
			fmt.Sprintf(`{"methodConfig": [{"name": [%s], "retryPolicy": %s}]}`, strings.Join(repeatable(), ","), policy),
		))
	}
	if config.TokenSource != nil {
		own = append(own, grpc.WithPerRPCCredentials(bearer(config.TokenSource)))
	}
	if config.Logger != nil {
		own = append(own, grpc.WithStatsHandler(retryLog{config.Logger}))
	}
	return append(own, config.Dial...)
}

// bearer sends the token. New checks that it does not cross a network in plaintext.
type bearer func(context.Context) (string, error)

func (b bearer) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	token, err := b(ctx)
	if err != nil || token == "" {
		return nil, err
	}
	return map[string]string{"authorization": "Bearer " + token}, nil
}

func (bearer) RequireTransportSecurity() bool { return false }

// retryLog logs the second and later attempts of calls.
type retryLog struct{ log *slog.Logger }

// call counts the attempts of one call.
type call struct{ attempts atomic.Int32 }

type callKey struct{}

type methodKey struct{}

func (retryLog) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	return context.WithValue(ctx, methodKey{}, info.FullMethodName)
}

func (l retryLog) HandleRPC(ctx context.Context, event stats.RPCStats) {
	if _, begins := event.(*stats.Begin); !begins {
		return
	}
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		if n := c.attempts.Add(1); n > 1 {
			l.log.WarnContext(ctx, "threadkeep: a call is retried", "method", ctx.Value(methodKey{}), "attempt", n)
		}
	}
}

func (retryLog) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (retryLog) HandleConn(context.Context, stats.ConnStats)                       {}

// repeatable returns the methods whose idempotency_level allows retries, in the form of a service config. Streams are excluded,
// because they are resumed instead.
func repeatable() (names []string) {
	files := protoregistry.GlobalFiles
	files.RangeFilesByPackage(pb.File_threadkeep_v1_event_proto.Package(), func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				method := service.Methods().Get(j)
				level := method.Options().(*descriptorpb.MethodOptions).GetIdempotencyLevel()
				if level != descriptorpb.MethodOptions_IDEMPOTENCY_UNKNOWN && !method.IsStreamingServer() {
					names = append(names, fmt.Sprintf(`{"service": %q, "method": %q}`, service.FullName(), method.Name()))
				}
			}
		}
		return true
	})
	return names
}

// unary sets the deadline of a call and converts its error.
func (c *Client) unary(
	ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
) error {
	if _, limited := ctx.Deadline(); !limited && c.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.timeout)
		defer cancel()
	}
	if c.log != nil {
		ctx = context.WithValue(ctx, callKey{}, &call{})
	}
	return c.typed(ctx, invoke(ctx, method, req, reply, conn, opts...))
}

// stream converts the errors of a stream.
func (c *Client) stream(
	ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	opened, err := open(ctx, desc, conn, method, opts...)
	return &typedStream{ClientStream: opened, client: c, ctx: ctx}, c.typed(ctx, err)
}

type typedStream struct {
	grpc.ClientStream
	client *Client
	ctx    context.Context // the caller's; that of the stream is canceled when the stream ends
}

func (s *typedStream) RecvMsg(m any) error {
	return s.client.typed(s.ctx, s.ClientStream.RecvMsg(m))
}

func (s *typedStream) SendMsg(m any) error {
	return s.client.typed(s.ctx, s.ClientStream.SendMsg(m))
}

// typed returns the *Error for an error of gRPC in a call with ctx. nil and io.EOF, the end of a stream, are returned unchanged.
func (c *Client) typed(ctx context.Context, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	e := newError(err, c.address, c.open.Err() != nil)
	if e.Code == codes.Canceled && ctx.Err() == nil && c.open.Err() == nil {
		// An overloaded server or a proxy ended it.
		e.Code, e.Message, e.cause = codes.Unavailable, fmt.Sprintf("%s canceled the call (%s)", c.address, e.Message), nil
	}
	return e
}

const defaultPort = "7443"

// target is the endpoint of a connection.
type target struct {
	address   string // in gRPC's syntax
	encrypted bool   // the scheme is https
	local     bool   // traffic stays on this machine
}

// parseTarget parses "host:port", "host", "https://host:port" or "http://host:port". Names for gRPC's resolvers pass through.
func parseTarget(address string) (target, error) {
	scheme, rest, hasScheme := strings.Cut(address, "://")
	switch {
	case hasScheme && (strings.EqualFold(scheme, "https") || strings.EqualFold(scheme, "http")):
		host, err := hostPort(strings.TrimSuffix(rest, "/"))
		return target{host, strings.EqualFold(scheme, "https"), isLoopback(host)}, err
	case hasScheme || strings.HasPrefix(address, "unix:") || strings.HasPrefix(address, "unix-abstract:"):
		local := strings.HasPrefix(address, "unix") || isLoopback(address[strings.LastIndexByte(address, '/')+1:])
		return target{address, false, local}, nil
	}
	host, err := hostPort(address)
	return target{host, false, isLoopback(host)}, err
}

// hostPort returns the address with a port.
func hostPort(address string) (string, error) {
	if ip := net.ParseIP(address); ip != nil && strings.Contains(address, ":") {
		address = "[" + address + "]"
	}
	parsed, err := url.Parse("//" + address)
	if err != nil {
		return "", errors.New(`it must be "host:port" or "https://host:port"`)
	}
	if parsed.Hostname() == "" || parsed.Host != address {
		return "", errors.New(`it must be "host:port" or "https://host:port", without a path`)
	}
	port := parsed.Port()
	if port == "" {
		port = defaultPort
	}
	if number, err := strconv.Atoi(port); err != nil || number < 1 || number > 65535 {
		return "", fmt.Errorf("its port must be from 1 to 65535, not %s", port)
	}
	return net.JoinHostPort(parsed.Hostname(), port), nil
}

// isLoopback reports whether a "host:port" is this machine.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	ip := net.ParseIP(host)
	return ip.IsLoopback() || host == "localhost" || strings.HasSuffix(host, ".localhost")
}
