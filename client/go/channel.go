package threadkeep

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

const maxMessageBytes = 64 << 20

const retryPolicy = `{"maxAttempts": 5, "initialBackoff": "0.1s", "maxBackoff": "2s", "backoffMultiplier": 2,
	"retryableStatusCodes": ["UNAVAILABLE", "CANCELLED"]}`

func (c *Client) dialOptions(options Options) []grpc.DialOption {
	secrets := insecure.NewCredentials()
	if options.TLS != nil {
		secrets = credentials.NewTLS(options.TLS)
	}
	// By default gRPC waits from 1 s up to 2 minutes before it reconnects.
	reconnect := grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: 20 * time.Second}
	reconnect.Backoff.BaseDelay, reconnect.Backoff.MaxDelay = 100*time.Millisecond, 5*time.Second
	return append([]grpc.DialOption{
		grpc.WithTransportCredentials(secrets),
		grpc.WithChainUnaryInterceptor(c.unary),
		grpc.WithChainStreamInterceptor(c.stream),
		// The service config of a name service must not replace the retry policy of the protos.
		grpc.WithDisableServiceConfig(),
		grpc.WithDefaultServiceConfig(
			fmt.Sprintf(`{"methodConfig": [{"name": [%s], "retryPolicy": %s}]}`, strings.Join(repeatable(), ","), retryPolicy),
		),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(maxMessageBytes),
			grpc.MaxCallSendMsgSize(maxMessageBytes),
			// The default, 256 KiB, would silently exclude larger appends from retries.
			grpc.MaxRetryRPCBufferSize(maxMessageBytes),
		),
		grpc.WithConnectParams(reconnect),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
	}, options.Dial...)
}

// repeatable returns the methods whose idempotency_level allows retries, in the form of a service config. Streams are excluded,
// because they are resumed instead.
func repeatable() (names []string) {
	files := protoregistry.GlobalFiles
	files.RangeFilesByPackage(threadkeepv1.File_threadkeep_v1_event_proto.Package(), func(file protoreflect.FileDescriptor) bool {
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
	return c.typed(ctx, invoke(c.authorized(ctx), method, req, reply, conn, opts...))
}

// stream converts the errors of a stream.
func (c *Client) stream(
	ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	opened, err := open(c.authorized(ctx), desc, conn, method, opts...)
	return &typedStream{ClientStream: opened, client: c, ctx: ctx}, c.typed(ctx, err)
}

func (c *Client) authorized(ctx context.Context) context.Context {
	if c.authorization == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, "authorization", c.authorization)
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
