package threadkeep

import (
	"context"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

// script is a loopback server that does what a test scripts.
type script struct {
	pb.UnimplementedEventServiceServer
	pb.UnimplementedSessionServiceServer
	pb.UnimplementedCompactionServiceServer
	pb.UnimplementedSubscriptionServiceServer
	pb.UnimplementedSearchServiceServer

	appendEvents  func(context.Context, *pb.AppendEventsRequest) (*pb.AppendEventsResponse, error)
	create        func() (*pb.CreateSessionResponse, error)
	list          func(*pb.ListEventsRequest) (*pb.ListEventsResponse, error)
	plan          func() (*pb.PlanCompactionResponse, error)
	apply         func(*pb.ApplyCompactionRequest) (*pb.ApplyCompactionResponse, error)
	watch         func(*pb.WatchSessionRequest, grpc.ServerStreamingServer[pb.WatchSessionResponse]) error
	watchAll      func(*pb.WatchAllRequest, grpc.ServerStreamingServer[pb.WatchAllResponse]) error
	search        func(*pb.SearchEventsRequest)
	sessions      func(*pb.ListSessionsRequest)
	deleteExpired func(*pb.DeleteExpiredSessionsRequest)
	mutex         sync.Mutex
	tokens        []string
}

func (s *script) AppendEvents(
	ctx context.Context, r *pb.AppendEventsRequest,
) (*pb.AppendEventsResponse, error) {
	s.mutex.Lock()
	s.tokens = append(s.tokens, metadata.ValueFromIncomingContext(ctx, "authorization")...)
	s.mutex.Unlock()
	return s.appendEvents(ctx, r)
}

func (s *script) CreateSession(
	context.Context, *pb.CreateSessionRequest,
) (*pb.CreateSessionResponse, error) {
	return s.create()
}

func (s *script) ListEvents(_ context.Context, r *pb.ListEventsRequest) (*pb.ListEventsResponse, error) {
	return s.list(r)
}

func (s *script) ListSessions(
	_ context.Context, r *pb.ListSessionsRequest,
) (*pb.ListSessionsResponse, error) {
	s.sessions(r)
	return &pb.ListSessionsResponse{}, nil
}

func (s *script) DeleteExpiredSessions(
	_ context.Context, r *pb.DeleteExpiredSessionsRequest,
) (*pb.DeleteExpiredSessionsResponse, error) {
	s.deleteExpired(r)
	return &pb.DeleteExpiredSessionsResponse{}, nil
}

func (s *script) SearchEvents(
	_ context.Context, r *pb.SearchEventsRequest,
) (*pb.SearchEventsResponse, error) {
	s.search(r)
	return &pb.SearchEventsResponse{}, nil
}

func (s *script) PlanCompaction(
	context.Context, *pb.PlanCompactionRequest,
) (*pb.PlanCompactionResponse, error) {
	return s.plan()
}

func (s *script) ApplyCompaction(
	_ context.Context, r *pb.ApplyCompactionRequest,
) (*pb.ApplyCompactionResponse, error) {
	return s.apply(r)
}

func (s *script) WatchSession(
	r *pb.WatchSessionRequest, stream grpc.ServerStreamingServer[pb.WatchSessionResponse],
) error {
	return s.watch(r, stream)
}

func (s *script) WatchAll(
	r *pb.WatchAllRequest, stream grpc.ServerStreamingServer[pb.WatchAllResponse],
) error {
	return s.watchAll(r, stream)
}

// serve starts the script and returns a client of it, with the app "shop" and the user "alice".
func serve(t *testing.T, s *script, opts ...func(*Config)) *Client {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.MaxRecvMsgSize(maxMessageBytes))
	pb.RegisterEventServiceServer(server, s)
	pb.RegisterSessionServiceServer(server, s)
	pb.RegisterCompactionServiceServer(server, s)
	pb.RegisterSubscriptionServiceServer(server, s)
	pb.RegisterSearchServiceServer(server, s)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return connected(t, listener.Addr().String(), opts...)
}

func connected(t *testing.T, address string, opts ...func(*Config)) *Client {
	t.Helper()
	options := Config{Address: address, App: "shop", UserID: "alice"}
	for _, option := range opts {
		option(&options)
	}
	client, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// refusal returns an error as the server sends it.
func refusal(code codes.Code, reason Reason, meta map[string]string, details ...protoadapt.MessageV1) error {
	info := &errdetails.ErrorInfo{Reason: string(reason), Domain: errorDomain, Metadata: meta}
	st, err := status.New(code, "the server says so").WithDetails(append(details, info)...)
	if err != nil {
		panic(err)
	}
	return st.Err()
}

func retryInfo(after time.Duration) protoadapt.MessageV1 {
	return &errdetails.RetryInfo{RetryDelay: durationpb.New(after)}
}

// settled fails the test unless the number of goroutines returns to its previous value.
func settled(t *testing.T, before int) {
	t.Helper()
	var after int
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if after = runtime.NumGoroutine(); after <= before {
			return
		}
	}
	stacks := make([]byte, 1<<16)
	t.Fatalf("%d goroutines, %d before:\n%s", after, before, stacks[:runtime.Stack(stacks, true)])
}

// within runs f and fails the test if it takes too long.
func within(t *testing.T, limit time.Duration, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(limit):
		t.Fatalf("not done within %s", limit)
	}
}
