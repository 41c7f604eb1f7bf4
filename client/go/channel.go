package recollect

import (
	"context"
	"encoding/json"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"
	grpcbackoff "google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/recollect-dev/recollect-go/recollect/v1"
)

const maxMessageBytes = 64 << 20

// bearer is the token as call metadata. It is sent in plaintext too: whether to encrypt is said by WithTLS.
type bearer string

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

func (b bearer) RequireTransportSecurity() bool { return false }

func (c *Client) dialOptions(chosen options) []grpc.DialOption {
	secrets := insecure.NewCredentials()
	if chosen.tls != nil {
		secrets = credentials.NewTLS(chosen.tls)
	}
	dial := []grpc.DialOption{
		grpc.WithTransportCredentials(secrets),
		grpc.WithChainUnaryInterceptor(c.unary),
		grpc.WithChainStreamInterceptor(c.stream),
		// What a name service says of retries must not replace what the protos say.
		grpc.WithDisableServiceConfig(),
		grpc.WithDefaultServiceConfig(serviceConfig()),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(maxMessageBytes),
			grpc.MaxCallSendMsgSize(maxMessageBytes),
			// The default, 256 KiB, would silently exempt larger appends from the retry policy.
			grpc.MaxRetryRPCBufferSize(maxMessageBytes),
		),
		// By default a connection waits from 1 s up to 2 minutes before it looks again for a server that was away.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: grpcbackoff.Config{
				BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 5 * time.Second,
			},
			MinConnectTimeout: 20 * time.Second,
		}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
	}
	if chosen.token != "" {
		dial = append(dial, grpc.WithPerRPCCredentials(bearer(chosen.token)))
	}
	return append(dial, chosen.dial...)
}

// serviceConfig has gRPC repeat the methods whose idempotency_level allows it. Not streams: those are resumed, not repeated.
var serviceConfig = sync.OnceValue(func() string {
	config := map[string]any{"methodConfig": []any{map[string]any{
		"name": repeatable(),
		"retryPolicy": map[string]any{
			"maxAttempts":          5,
			"initialBackoff":       "0.1s",
			"maxBackoff":           "2s",
			"backoffMultiplier":    2,
			"retryableStatusCodes": []string{"UNAVAILABLE"},
		},
	}}}
	text, err := json.Marshal(config)
	if err != nil {
		panic(err) // maps of texts and numbers
	}
	return string(text)
})

type methodName struct {
	Service string `json:"service"`
	Method  string `json:"method"`
}

func repeatable() []methodName {
	var names []methodName
	files := protoregistry.GlobalFiles
	files.RangeFilesByPackage(recollectv1.File_recollect_v1_event_proto.Package(), func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				method := service.Methods().Get(j)
				level := method.Options().(*descriptorpb.MethodOptions).GetIdempotencyLevel()
				if level != descriptorpb.MethodOptions_IDEMPOTENCY_UNKNOWN && !method.IsStreamingServer() {
					names = append(names, methodName{string(service.FullName()), string(method.Name())})
				}
			}
		}
		return true
	})
	return names
}

// unary limits a call's time and types its error.
func (c *Client) unary(
	ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
) error {
	if c.isClosed() {
		return ErrClosed
	}
	if _, limited := ctx.Deadline(); !limited && c.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.timeout)
		defer cancel()
	}
	return c.typed(invoke(ctx, method, req, reply, conn, opts...))
}

// stream types the errors of a stream.
func (c *Client) stream(
	ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	if c.isClosed() {
		return nil, ErrClosed
	}
	opened, err := open(ctx, desc, conn, method, opts...)
	if err != nil {
		return nil, c.typed(err)
	}
	return &typedStream{ClientStream: opened, client: c}, nil
}

type typedStream struct {
	grpc.ClientStream
	client *Client
}

func (s *typedStream) RecvMsg(m any) error {
	return s.client.typed(s.ClientStream.RecvMsg(m))
}

func (s *typedStream) SendMsg(m any) error {
	return s.client.typed(s.ClientStream.SendMsg(m))
}

// typed is the *Error for what gRPC returned; nil and io.EOF, the end of a stream, stay what they are.
func (c *Client) typed(err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return newError(err, c.address, c.isClosed())
}
