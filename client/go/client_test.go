package threadkeep

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

func TestSafeCallIsRetriedWithTheSameIDs(t *testing.T) {
	var ids []string
	s := &script{appendEvents: func(_ context.Context, r *pb.AppendEventsRequest) (*pb.AppendEventsResponse, error) {
		ids = append(ids, r.Events[0].EventId)
		if len(ids) < 3 {
			return nil, status.Error(codes.Unavailable, "not now")
		}
		return &pb.AppendEventsResponse{LogVersion: 1}, nil
	}}
	session := serve(t, s).Session("s1")
	// Larger than gRPC's default retry buffer.
	given := User(strings.Repeat("x", 1<<20))
	answer, err := session.Append(t.Context(), []*Event{given})
	if err != nil || answer.GetLogVersion() != 1 {
		t.Fatal(answer, err)
	}
	if len(ids) != 3 || ids[0] == "" || ids[0] != ids[1] || ids[1] != ids[2] {
		t.Fatalf("the ids of the tries: %q", ids)
	}
	if given.EventId != "" {
		t.Fatal("the caller's event was changed")
	}
}

func TestCallIsSentAtMostFiveTimes(t *testing.T) {
	var tries atomic.Int32
	s := &script{appendEvents: func(context.Context, *pb.AppendEventsRequest) (*pb.AppendEventsResponse, error) {
		tries.Add(1)
		return nil, refusal(codes.Unavailable, ErrStoreUnavailable, map[string]string{"problem": "disk full"})
	}}
	_, err := serve(t, s).Session("s1").Append(t.Context(), []*Event{User("hi")})
	if !errors.Is(err, ErrStoreUnavailable) || tries.Load() != 5 {
		t.Fatalf("%v after %d tries", err, tries.Load())
	}
}

func TestCallThatTheServerCanceledIsRetriedIfItMayBe(t *testing.T) {
	var appends, creates atomic.Int32
	s := &script{
		appendEvents: func(context.Context, *pb.AppendEventsRequest) (*pb.AppendEventsResponse, error) {
			if appends.Add(1) < 3 {
				return nil, status.Error(codes.Canceled, "overloaded")
			}
			return &pb.AppendEventsResponse{}, nil
		},
		create: func() (*pb.CreateSessionResponse, error) {
			creates.Add(1)
			return nil, status.Error(codes.Canceled, "overloaded")
		},
	}
	client := serve(t, s)
	if _, err := client.Session("s1").Append(t.Context(), []*Event{User("hi")}); err != nil || appends.Load() != 3 {
		t.Errorf("%v after %d tries", err, appends.Load())
	}
	_, err := client.Raw().Sessions.CreateSession(t.Context(), &pb.CreateSessionRequest{})
	if status.Code(err) != codes.Unavailable || errors.Is(err, context.Canceled) || creates.Load() != 1 {
		t.Errorf("%v after %d tries", err, creates.Load())
	}
}

func TestUnsafeCallsAreNotRetried(t *testing.T) {
	var tries atomic.Int32
	s := &script{create: func() (*pb.CreateSessionResponse, error) {
		tries.Add(1)
		return nil, status.Error(codes.Unavailable, "not now")
	}}
	_, err := serve(t, s).Raw().Sessions.CreateSession(t.Context(), &pb.CreateSessionRequest{})
	if status.Code(err) != codes.Unavailable || tries.Load() != 1 {
		t.Fatalf("%v after %d tries", err, tries.Load())
	}
}

func TestRetriedMethodsMatchTheProtos(t *testing.T) {
	names := strings.Join(repeatable(), "\n")
	for method, want := range map[[2]string]bool{
		{"threadkeep.v1.EventService", "AppendEvents"}:            true,
		{"threadkeep.v1.EventService", "GetContext"}:              true,
		{"threadkeep.v1.CompactionService", "ApplyCompaction"}:    true,
		{"threadkeep.v1.ConsumerService", "ReplayParkedChanges"}:  true,
		{"threadkeep.v1.ServerService", "GetServerInfo"}:          true,
		{"threadkeep.v1.SearchService", "SearchEvents"}:           true,
		{"threadkeep.v1.MemoryService", "AddMemories"}:            true,
		{"threadkeep.v1.ToolService", "CallTool"}:                 true,
		{"threadkeep.v1.SessionService", "CreateSession"}:         false,
		{"threadkeep.v1.CompactionService", "CompactSession"}:     false,
		{"threadkeep.v1.EventService", "AppendStream"}:            false,
		{"threadkeep.v1.SubscriptionService", "WatchSession"}:     false,
		{"threadkeep.v1.SubscriptionService", "NoSuchMethodHere"}: false,
	} {
		if strings.Contains(names, fmt.Sprintf(`{"service": %q, "method": %q}`, method[0], method[1])) != want {
			t.Errorf("%v: %v", method, !want)
		}
	}
}

func TestEveryCallSendsTheToken(t *testing.T) {
	t.Setenv("THREADKEEP_TOKEN", "from the environment")
	s := &script{appendEvents: func(context.Context, *pb.AppendEventsRequest) (*pb.AppendEventsResponse, error) {
		return &pb.AppendEventsResponse{}, nil
	}}
	client := serve(t, s)
	given := connected(t, client.address, func(o *Config) { o.Token = "given" })
	t.Setenv("THREADKEEP_TOKEN", "")
	for _, each := range []*Client{client, given, connected(t, client.address)} {
		if _, err := each.Session("s1").Append(t.Context(), []*Event{User("hi")}); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.tokens) != 2 || s.tokens[0] != "Bearer from the environment" || s.tokens[1] != "Bearer given" {
		t.Fatalf("%q", s.tokens)
	}
}

func TestTokenSourceIsCalledBeforeEveryAttempt(t *testing.T) {
	var tries, calls atomic.Int32
	s := &script{appendEvents: func(context.Context, *pb.AppendEventsRequest) (*pb.AppendEventsResponse, error) {
		if tries.Add(1) == 1 {
			return nil, status.Error(codes.Unavailable, "not now")
		}
		return &pb.AppendEventsResponse{}, nil
	}}
	source := func(context.Context) (string, error) { return fmt.Sprint("secret-", calls.Add(1)), nil }
	client := serve(t, s, func(c *Config) { c.TokenSource = source })
	if _, err := client.Session("s1").Append(t.Context(), Events(User("hi"))); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(s.tokens) != "[Bearer secret-1 Bearer secret-2]" {
		t.Error(s.tokens)
	}
	if _, err := New(Config{Address: "memory.example", TokenSource: source}); err == nil || !strings.Contains(err.Error(), "plaintext") {
		t.Error(err)
	}
}

func TestRetriesCanBeTurnedOffAndAreLogged(t *testing.T) {
	var tries atomic.Int32
	s := &script{appendEvents: func(context.Context, *pb.AppendEventsRequest) (*pb.AppendEventsResponse, error) {
		tries.Add(1)
		return nil, status.Error(codes.Unavailable, "not now")
	}}
	for attempts, want := range map[int]int32{1: 1, 2: 2} {
		var lines strings.Builder
		tries.Store(0)
		client := serve(t, s, func(c *Config) { c.MaxAttempts, c.Logger = attempts, slog.New(slog.NewTextHandler(&lines, nil)) })
		_, err := client.Session("s1").Append(t.Context(), Events(User("hi")))
		if status.Code(err) != codes.Unavailable || tries.Load() != want {
			t.Error(attempts, tries.Load(), err)
		}
		if logged := strings.Count(lines.String(), "a call is retried"); logged != attempts-1 {
			t.Errorf("%d: %s", attempts, lines.String())
		}
	}
}

func TestCallEndsWithTheTimeoutOrTheContext(t *testing.T) {
	s := &script{appendEvents: func(ctx context.Context, _ *pb.AppendEventsRequest) (*pb.AppendEventsResponse, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	client := serve(t, s, func(o *Config) { o.Timeout = 50 * time.Millisecond })
	within(t, 30*time.Second, func() {
		_, err := client.Session("s1").Append(t.Context(), []*Event{User("hi")})
		if !errors.Is(err, ErrDeadlineExceeded) || !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Millisecond, cancel)
		patient := connected(t, client.address) // the timeout must not come first
		if _, err := patient.Session("s1").Append(ctx, []*Event{User("hi")}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	// The deadline of the context applies, although it is longer than the timeout.
	begun := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := client.Session("s1").Append(ctx, []*Event{User("hi")})
	if took := time.Since(begun); !errors.Is(err, ErrDeadlineExceeded) || took < 250*time.Millisecond {
		t.Fatal(took, err)
	}
}

func TestErrorReportsAMissingServer(t *testing.T) {
	client := connected(t, "127.0.0.1:1")
	_, err := client.Session("s1").Append(t.Context(), []*Event{User("hi")})
	var e *Error
	if !errors.As(err, &e) || e.Code != codes.Unavailable || e.Reason != "" {
		t.Fatal(err)
	}
	for _, words := range []string{"no server at 127.0.0.1:1", "make serve"} {
		if !strings.Contains(err.Error(), words) {
			t.Errorf("%q lacks %q", err, words)
		}
	}
}

func TestAddressDefaultsAndErrors(t *testing.T) {
	for _, want := range []struct{ given, environment, address string }{
		{"", "", "127.0.0.1:7443"}, {"", "memory:1", "memory:1"}, {"given:2", "memory:1", "given:2"},
	} {
		t.Setenv("THREADKEEP_ADDRESS", want.environment)
		if address := connected(t, want.given).address; address != want.address {
			t.Error(address, want)
		}
	}
	if _, err := New(Config{Address: "no address\x7f%%"}); err == nil || !strings.Contains(err.Error(), "threadkeep: the address") {
		t.Error(err)
	}
}

func TestTLSOptionEncryptsTheConnection(t *testing.T) {
	client := serve(t, &script{})
	encrypted := connected(t, client.address, func(o *Config) { o.TLS = &tls.Config{} })
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	_, err := encrypted.Session("s1").Append(ctx, []*Event{User("hi")})
	if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "tls") {
		t.Fatal(err)
	}
}

func TestCloseEndsCallsAndLeavesNothing(t *testing.T) {
	before := runtime.NumGoroutine()
	started := make(chan struct{})
	s := &script{appendEvents: func(ctx context.Context, _ *pb.AppendEventsRequest) (*pb.AppendEventsResponse, error) {
		close(started)
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	t.Run("calls", func(t *testing.T) {
		client := serve(t, s)
		go func() {
			<-started
			_ = client.Close()
			_ = client.Close()
		}()
		within(t, 30*time.Second, func() {
			_, err := client.Session("s1").Append(t.Context(), []*Event{User("hi")})
			var e *Error
			if !errors.As(err, &e) || e.Code != codes.Canceled || !errors.Is(err, ErrClosed) {
				t.Errorf("under way: %v", err)
			}
		})
		if _, err := client.Session("s1").Append(t.Context(), []*Event{User("hi")}); !errors.Is(err, ErrClosed) {
			t.Errorf("later: %v", err)
		}
		if _, err := client.Raw().Subscriptions.WatchAll(t.Context(), &pb.WatchAllRequest{}); !errors.Is(err, ErrClosed) {
			t.Errorf("a stream: %v", err)
		}
	})
	settled(t, before)
}

func TestSessionCompletesAnIDAndSessionOfKeepsAReference(t *testing.T) {
	client := connected(t, "127.0.0.1:1")
	completed := &SessionRef{App: "shop", UserId: "alice", SessionId: "s1"}
	if ref := client.Session("s1").Ref(); !proto.Equal(ref, completed) {
		t.Error(ref)
	}
	given := &SessionRef{SessionId: "s1"}
	session := client.SessionOf(given)
	given.SessionId = "changed later"
	session.Ref().SessionId = "changed in the copy"
	if ref := session.Ref(); !proto.Equal(ref, &SessionRef{SessionId: "s1"}) {
		t.Error(ref)
	}
}
