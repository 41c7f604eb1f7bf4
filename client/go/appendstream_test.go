package threadkeep

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

type batchStream = grpc.BidiStreamingServer[pb.AppendStreamRequest, pb.AppendStreamResponse]

// answering answers each batch; one with a precondition fails.
func answering(received *[]*pb.AppendEventsRequest, before func()) func(batchStream) error {
	return func(stream batchStream) error {
		for index := int64(0); ; index++ {
			request, err := stream.Recv()
			if err != nil {
				return nil
			}
			*received = append(*received, request.GetAppend())
			before()
			result := &pb.AppendStreamResult{Index: index, Outcome: &pb.AppendStreamResult_Appended{Appended: &pb.AppendEventsResponse{LogVersion: index + 1}}}
			if request.GetAppend().GetPrecondition() != nil {
				result.Outcome = &pb.AppendStreamResult_Error{Error: &pb.AppendError{Code: 10, Message: "stale", Reason: "VERSION_MISMATCH"}}
			}
			if err := stream.Send(&pb.AppendStreamResponse{Results: []*pb.AppendStreamResult{result}}); err != nil {
				return err
			}
		}
	}
}

func TestEachBatchHasItsResult(t *testing.T) {
	var received []*pb.AppendEventsRequest
	client := (&consuming{batches: answering(&received, func() {})}).serve(t)
	s1, s2 := client.Session("s1"), client.Session("s2")
	batches := []Batch{
		{Session: s1, Events: Events(User("a"))},
		{Session: s1, Events: Events(User("b")), Options: []AppendOption{Expect(LogVersion(1))}},
		{Session: s2, Events: Events(User("c"))},
	}
	var results []string
	for result, err := range client.AppendStream(t.Context(), slices.Values(batches), WithCreateIfMissing()) {
		if err != nil {
			t.Fatal(err)
		}
		var e *Error
		errors.As(result.Err, &e)
		results = append(results, fmt.Sprint(result.Index, versionOf(result), errors.Is(result.Err, ErrVersionMismatch), e != nil && e.Code == codes.Aborted))
	}
	if fmt.Sprint(results) != "[0 1 false false 1 0 true true 2 3 false false]" {
		t.Error(results)
	}
	for i, want := range []string{"s1", "s1", "s2"} {
		if r := received[i]; r.GetSession().GetSessionId() != want || r.GetCreateIfMissing() == nil || r.GetEvents()[0].GetEventId() == "" {
			t.Error(r)
		}
	}
}

func TestNoMoreBatchesAreTakenThanMayWait(t *testing.T) {
	var received []*pb.AppendEventsRequest
	release := make(chan struct{})
	client := (&consuming{batches: answering(&received, func() { <-release })}).serve(t)
	var taken atomic.Int32
	batches := func(yield func([]*Event) bool) {
		for range 100 {
			if taken.Add(1); !yield(Events(User("a"))) {
				return
			}
		}
	}
	time.AfterFunc(200*time.Millisecond, func() {
		if n := taken.Load(); n > 5 { // four wait, and one waits for room
			t.Error(n, "batches were taken")
		}
		close(release)
	})
	next := int64(0)
	for result, err := range client.Session("s1").AppendStream(t.Context(), batches, MaxOutstanding(4)) {
		if err != nil || result.Index != next {
			t.Fatal(result, err)
		}
		next++
	}
	if next != 100 {
		t.Error(next)
	}
}

func TestInvalidBatchEndsTheStreamAfterThoseBefore(t *testing.T) {
	var received []*pb.AppendEventsRequest
	client := (&consuming{batches: answering(&received, func() {})}).serve(t)
	session := client.Session("s1")
	twice := []AppendOption{Expect(LogVersion(1)), Expect(LastEventID(""))}
	batches := []Batch{{Session: session, Events: Events(User("a"))}, {Session: session, Options: twice}}
	var seen []string
	for result, err := range client.AppendStream(t.Context(), slices.Values(batches)) {
		seen = append(seen, fmt.Sprint(result.Appended != nil, err != nil))
	}
	if fmt.Sprint(seen) != "[true false false true]" {
		t.Error(seen)
	}
}

func TestLeavingTheLoopEndsTheBatches(t *testing.T) {
	var received []*pb.AppendEventsRequest
	client := (&consuming{batches: answering(&received, func() {})}).serve(t)
	ended := make(chan struct{})
	batches := func(yield func([]*Event) bool) {
		defer close(ended)
		for yield(Events(User("a"))) {
		}
	}
	for range client.Session("s1").AppendStream(t.Context(), batches, MaxOutstanding(2)) {
		break
	}
	within(t, 10*time.Second, func() { <-ended })
}

func versionOf(result BatchResult) int64 {
	if result.Appended == nil {
		return 0
	}
	return result.Appended.GetLogVersion()
}
