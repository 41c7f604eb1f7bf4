package threadkeep

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

type (
	watchRequest = pb.WatchSessionRequest
	watchStream  = grpc.ServerStreamingServer[pb.WatchSessionResponse]
)

func send(stream watchStream, changes ...*Change) {
	_ = stream.Send(&pb.WatchSessionResponse{Changes: changes})
}

func checkpointOf(token string) *Change {
	return &Change{Kind: &pb.Change_Checkpoint{Checkpoint: &pb.Checkpoint{}}, ResumeToken: token}
}

// collect returns the seqs of up to n changes of a subscription, and the error that ended it.
func collect(t *testing.T, n int, changes func(func(*Change, error) bool)) (seen []string, last error) {
	t.Helper()
	within(t, 60*time.Second, func() {
		for change, err := range changes {
			if err != nil {
				last = err
				continue // it must be the last item without a break
			}
			if last != nil {
				t.Error("a change after an error")
			}
			if seen = append(seen, seqsOf(change)); len(seen) == n {
				return
			}
		}
	})
	return seen, last
}

func TestStreamIsReopenedWhereItStopped(t *testing.T) {
	var starts []string
	s := &script{watch: func(r *watchRequest, stream watchStream) error {
		starts = append(starts, fmt.Sprintf("%v", r.Start))
		switch len(starts) {
		case 1: // two changes, a part of a third, and the connection breaks
			send(stream, batchOf(1, "t1", false, 1), batchOf(2, "t2", false, 2))
			send(stream, batchOf(3, "t2", true, 3))
			return status.Error(codes.Unavailable, "gone")
		case 2: // it continues, repeats a change, and ends without an error
			send(stream, batchOf(3, "t2", true, 3), batchOf(3, "t3", false, 4), batchOf(2, "t3", false, 2))
			return nil
		case 3: // a checkpoint is a place to continue from too; then the server requests a delay
			send(stream, checkpointOf("c1"))
			return refusal(codes.ResourceExhausted, ErrRateLimited, nil, retryInfo(20*time.Millisecond))
		case 4:
			send(stream, batchOf(4, "t4", false, 5))
			return status.Error(codes.Canceled, "overloaded")
		}
		return refusal(codes.OutOfRange, ErrResumePositionExpired, nil)
	}}
	seen, err := collect(t, 0, serve(t, s).Session("s1").Watch(t.Context(), From(Beginning)))
	if fmt.Sprint(seen) != "[[1] [2] [3 4] [5]]" || !errors.Is(err, ErrResumePositionExpired) {
		t.Error(seen, err)
	}
	want := []string{"&{0}", "&{t2}", "&{t3}", "&{c1}", "&{t4}"}
	if !slices.Equal(starts, want) {
		t.Errorf("%q, not %q", starts, want)
	}
}

func TestCheckpointsAreDeliveredOnRequest(t *testing.T) {
	s := &script{watch: func(_ *watchRequest, stream watchStream) error {
		send(stream, checkpointOf("c"), batchOf(1, "t", false, 1))
		<-stream.Context().Done()
		return nil
	}}
	session := serve(t, s).Session("s1")
	if seen, err := collect(t, 1, session.Watch(t.Context())); fmt.Sprint(seen) != "[[1]]" || err != nil {
		t.Error(seen, err)
	}
	if seen, err := collect(t, 2, session.Watch(t.Context(), Checkpoints())); fmt.Sprint(seen) != "[[] [1]]" || err != nil {
		t.Error(seen, err)
	}
}

func TestSilentStreamIsReopened(t *testing.T) {
	var opened atomic.Int32
	s := &script{watch: func(_ *watchRequest, stream watchStream) error {
		if opened.Add(1) > 1 {
			send(stream, batchOf(1, "t", false, 1))
		}
		<-stream.Context().Done()
		return nil
	}}
	client := serve(t, s)
	client.silence = 100 * time.Millisecond
	// On a loaded machine a later stream may be late, too, and be opened again.
	if seen, err := collect(t, 1, client.Session("s1").Watch(t.Context())); fmt.Sprint(seen) != "[[1]]" || err != nil || opened.Load() < 2 {
		t.Error(seen, err, opened.Load())
	}
	client = serve(t, &script{watch: func(_ *watchRequest, stream watchStream) error {
		<-stream.Context().Done()
		return nil
	}})
	client.silence = 100 * time.Millisecond
	_, err := collect(t, 0, client.Session("s1").Watch(t.Context(), MaxRetries(0)))
	if status.Code(err) != codes.Unavailable || err.Error() != "threadkeep: Unavailable: no heartbeat from "+client.address+" for 100ms" {
		t.Error(err)
	}
}

func TestSlowReaderIsNotASilentServer(t *testing.T) {
	var opened atomic.Int32
	resumed := make(chan struct{})
	s := &script{watch: func(_ *watchRequest, stream watchStream) error {
		opened.Add(1)
		send(stream, batchOf(1, "t", false, 1))
		<-resumed
		time.Sleep(50 * time.Millisecond)
		send(stream, batchOf(2, "t", false, 2))
		<-stream.Context().Done()
		return nil
	}}
	client := serve(t, s)
	client.silence = 5 * time.Second // a loaded machine takes its time for each message
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	n := 0
	for _, err := range client.Session("s1").Watch(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 2 {
			break
		}
		time.Sleep(client.silence + 100*time.Millisecond)
		close(resumed)
	}
	if opened.Load() != 1 {
		t.Error("opened", opened.Load(), "times")
	}
}

func TestConsecutiveRetriesAreCounted(t *testing.T) {
	opened := 0
	s := &script{watch: func(_ *watchRequest, stream watchStream) error {
		if opened++; opened == 2 {
			send(stream, checkpointOf("c")) // resets the count
		}
		return status.Error(codes.Unavailable, "gone")
	}}
	_, err := collect(t, 0, serve(t, s).Session("s1").Watch(t.Context(), MaxRetries(2)))
	if status.Code(err) != codes.Unavailable || opened != 4 {
		t.Error(err, opened)
	}
}

func TestWatchAllStartsWhereTheRequestSays(t *testing.T) {
	var requested []*pb.WatchAllRequest
	s := &script{watchAll: func(r *pb.WatchAllRequest, _ grpc.ServerStreamingServer[pb.WatchAllResponse]) error {
		requested = append(requested, r)
		return refusal(codes.InvalidArgument, ErrInvalidField, nil)
	}}
	client := serve(t, s)
	collect(t, 0, client.WatchAll(t.Context()))
	collect(t, 0, client.WatchAll(t.Context(), From(Beginning), WithFilter(Filter{Keyword: "x"}), AnyUser(), AnyApp()))
	collect(t, 0, client.WatchAll(t.Context(), From(Token("t"))))
	if _, err := collect(t, 0, client.WatchAll(t.Context(), From(AfterSeq(1)))); err == nil || errors.As(err, new(*Error)) {
		t.Error(err)
	}
	if requested[0].GetScope().GetUserId() != "alice" || requested[0].GetScope().GetApp() != "shop" || requested[0].Start != nil {
		t.Error(requested[0])
	}
	if requested[1].GetScope().App != nil || !requested[1].GetFromBeginning() || requested[1].GetFilter().GetKeyword() != "x" {
		t.Error(requested[1])
	}
	if requested[2].GetResumeToken() != "t" || len(requested) != 3 {
		t.Error(requested[2:])
	}
}

func TestWatchStartsWhereTheOptionSays(t *testing.T) {
	var started []string
	s := &script{watch: func(r *watchRequest, _ watchStream) error {
		started = append(started, fmt.Sprintf("%T %q %d", r.GetStart(), r.GetResumeToken(), r.GetAfterSeq()))
		return refusal(codes.InvalidArgument, ErrInvalidField, nil)
	}}
	trip := serve(t, s).Session("s1")
	for _, start := range []Start{Token(""), Token("t"), AfterSeq(7), Beginning} {
		collect(t, 0, trip.Watch(t.Context(), From(start)))
	}
	want := []string{
		`*threadkeepv1.WatchSessionRequest_ResumeToken "" 0`, `*threadkeepv1.WatchSessionRequest_ResumeToken "t" 0`,
		`*threadkeepv1.WatchSessionRequest_AfterSeq "" 7`, `*threadkeepv1.WatchSessionRequest_AfterSeq "" 0`,
	}
	if !slices.Equal(started, want) {
		t.Errorf("%q", started)
	}
}

// leftAfterTheFirst calls leave soon after the first change, while the loop waits for another.
func leftAfterTheFirst(leave func(), changes func(func(*Change, error) bool)) func(func(*Change, error) bool) {
	return func(yield func(*Change, error) bool) {
		changes(func(change *Change, err error) bool {
			if err == nil {
				time.AfterFunc(50*time.Millisecond, leave)
			}
			return yield(change, err)
		})
	}
}

// Each way to leave ends the call at once, on both sides, and leaves no goroutine.
func TestLeavingEndsTheCall(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("each way", func(t *testing.T) {
		ended := make(chan struct{}, 1)
		s := &script{watch: func(_ *watchRequest, stream watchStream) error {
			send(stream, batchOf(1, "t", false, 1))
			<-stream.Context().Done()
			ended <- struct{}{}
			return nil
		}}
		client := serve(t, s)
		session := client.Session("s1")
		connected := 0 // goroutines, including those of the connection
		for n := range 20 {
			if seen, err := collect(t, 1, session.Watch(t.Context())); len(seen) != 1 || err != nil {
				t.Fatal(seen, err)
			}
			within(t, 30*time.Second, func() { <-ended })
			if time.Sleep(10 * time.Millisecond); n == 4 {
				connected = runtime.NumGoroutine()
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		seen, err := collect(t, 0, leftAfterTheFirst(cancel, session.Watch(ctx)))
		if len(seen) != 1 || !errors.Is(err, context.Canceled) {
			t.Error("the context's end:", seen, err)
		}
		within(t, 30*time.Second, func() { <-ended })
		settled(t, connected)
		closes := func() { _ = client.Close() }
		seen, err = collect(t, 0, leftAfterTheFirst(closes, session.Watch(t.Context())))
		if len(seen) != 1 || !errors.Is(err, ErrClosed) || status.Code(err) != codes.Canceled {
			t.Error("the client's end:", seen, err)
		}
	})
	settled(t, before)
}

func TestEndOfTheContextEndsTheLoopWithinAFrame(t *testing.T) {
	s := &script{watch: func(_ *watchRequest, stream watchStream) error {
		send(stream, batchOf(1, "t", false, 1), batchOf(2, "t", false, 2), batchOf(3, "t", false, 3))
		<-stream.Context().Done()
		return nil
	}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var seen []string
	for change, err := range serve(t, s).Session("s1").Watch(ctx) {
		if err == nil {
			seen = append(seen, seqsOf(change))
		} else if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		cancel()
	}
	if fmt.Sprint(seen) != "[[1]]" {
		t.Error(seen)
	}
}

func TestPauseEndsWithTheContextOrTheClient(t *testing.T) {
	wait := time.Hour
	s := &script{watch: func(*watchRequest, watchStream) error {
		return refusal(codes.Unavailable, ErrServerDraining, nil, retryInfo(wait))
	}}
	client := serve(t, s)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := collect(t, 0, client.Session("s1").Watch(ctx)); !errors.Is(err, ErrDeadlineExceeded) {
		t.Error(err)
	}
	time.AfterFunc(50*time.Millisecond, func() { _ = client.Close() })
	if _, err := collect(t, 0, client.Session("s1").Watch(t.Context())); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func TestLoopLimitsReadAhead(t *testing.T) {
	sent := make(chan int, 10_000)
	large := make([]byte, 64<<10)
	s := &script{watch: func(_ *watchRequest, stream watchStream) error {
		for n := range 2000 { // 128 MiB in total
			change := batchOf(int64(n+1), "t", false, int64(n+1))
			change.GetBatch().Events[0].Native = &pb.NativeContent{Content: large}
			send(stream, change)
			if stream.Context().Err() != nil {
				return nil
			}
			sent <- n
		}
		return nil
	}}
	for range serve(t, s).Session("s1").Watch(t.Context()) {
		time.Sleep(300 * time.Millisecond) // the server could send all of it in this time
		break
	}
	if n := len(sent); n > 400 {
		t.Errorf("%d messages were taken from the server while one was handled", n)
	}
}
