package threadkeep

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

type consumeStream = grpc.BidiStreamingServer[pb.ConsumeRequest, pb.ConsumeResponse]

// consuming is a server whose streams do what a test scripts, one after another.
type consuming struct {
	pb.UnimplementedConsumerServiceServer
	pb.UnimplementedEventServiceServer
	scripts []func(consumeStream) error
	joins   []*pb.JoinConsumer
	batches func(grpc.BidiStreamingServer[pb.AppendStreamRequest, pb.AppendStreamResponse]) error
}

func (c *consuming) Consume(stream consumeStream) error {
	request, err := stream.Recv()
	if err != nil {
		return err
	}
	c.joins = append(c.joins, request.GetJoin())
	joined := &pb.ConsumeResponse{Joined: &pb.Joined{Consumer: &pb.Consumer{MaxAttempts: 3}}}
	if err := stream.Send(joined); err != nil {
		return err
	}
	return c.scripts[len(c.joins)-1](stream)
}

func (c *consuming) AppendStream(stream grpc.BidiStreamingServer[pb.AppendStreamRequest, pb.AppendStreamResponse]) error {
	return c.batches(stream)
}

func (c *consuming) serve(t *testing.T) *Client {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	pb.RegisterConsumerServiceServer(server, c)
	pb.RegisterEventServiceServer(server, c)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return connected(t, listener.Addr().String())
}

func deliver(stream consumeStream, deliveries ...*pb.Delivery) {
	_ = stream.Send(&pb.ConsumeResponse{Deliveries: deliveries})
}

func delivery(id int64, partition, attempt int32) *pb.Delivery {
	return &pb.Delivery{DeliveryId: id, Partition: partition, Attempt: attempt, Change: &Change{ResumeToken: fmt.Sprint(id)}}
}

// outcomes reads until this many deliveries have an outcome, and returns the outcomes sorted.
func outcomes(stream consumeStream, count int) (found []string) {
	for len(found) < count {
		request, err := stream.Recv()
		if err != nil {
			return append(found, err.Error())
		}
		for _, id := range request.GetAcknowledge().GetDeliveryIds() {
			found = append(found, fmt.Sprint("ack ", id))
		}
		if reject := request.GetReject(); reject != nil {
			found = append(found, fmt.Sprint("reject ", reject.GetDeliveryId(), " ", reject.GetReason(), " ", reject.GetPark()))
		}
	}
	slices.Sort(found)
	return found
}

// untilHalfClosed reads what remains of a stream and returns the number of requests.
func untilHalfClosed(stream consumeStream) (count int) {
	for {
		if _, err := stream.Recv(); err != nil {
			return count
		}
		count++
	}
}

// worked runs a consumer against one script, which ends the run when it returns.
func worked(t *testing.T, script func(consumeStream) []string, handle func(context.Context, *Delivery) error, opts ...ConsumeOption) ([]string, *consuming) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var found []string
	server := &consuming{scripts: []func(consumeStream) error{func(stream consumeStream) error {
		found = script(stream)
		cancel()
		untilHalfClosed(stream)
		return nil
	}}}
	client := server.serve(t)
	within(t, 30*time.Second, func() {
		if err := client.Consumer("indexer").Run(ctx, handle, opts...); err != nil {
			t.Error(err)
		}
	})
	return found, server
}

func TestConsumerAcknowledgesHandledChanges(t *testing.T) {
	var mutex sync.Mutex
	var seen []string
	found, server := worked(t, func(stream consumeStream) []string {
		deliver(stream, delivery(1, 0, 1), delivery(2, 0, 1), delivery(3, 1, 1))
		return outcomes(stream, 3)
	}, func(_ context.Context, d *Delivery) error {
		mutex.Lock()
		defer mutex.Unlock()
		seen = append(seen, d.Change.GetResumeToken())
		return nil
	}, AnyUser(), WithLabels(map[string]string{"a": "b"}), WithFilter(Filter{Keyword: "k"}), FromOldest(), WithMemberID("m"),
		WithMaxUnacknowledged(9), WithMaxAttempts(2), WithAckTimeout(time.Minute), WithPartitions(4))
	slices.Sort(seen)
	if fmt.Sprint(found) != "[ack 1 ack 2 ack 3]" || fmt.Sprint(seen) != "[1 2 3]" {
		t.Error(found, seen)
	}
	same(t, "join", `name: "indexer" scope: {app: "shop" labels: {key: "a" value: "b"}} filter: {keyword: "k"} from_beginning: true
		member_id: "m" max_outstanding: 9 max_attempts: 2 ack_timeout: {seconds: 60} partitions: 4`, server.joins[0])
}

func TestRejectedChangeComesAgainBeforeTheLaterOnes(t *testing.T) {
	var seen []string
	found, _ := worked(t, func(stream consumeStream) []string {
		deliver(stream, delivery(1, 0, 1), delivery(2, 0, 1))
		first := outcomes(stream, 1)
		deliver(stream, delivery(3, 0, 2), delivery(4, 0, 1))
		return append(first, outcomes(stream, 2)...)
	}, func(_ context.Context, d *Delivery) error {
		if seen = append(seen, fmt.Sprint(d.Change.GetResumeToken(), ".", d.Attempt)); len(seen) == 1 {
			return errors.New("broken")
		}
		return nil
	})
	if fmt.Sprint(seen) != "[1.1 3.2 4.1]" || fmt.Sprint(found) != "[reject 1 broken false ack 3 ack 4]" {
		t.Error(seen, found)
	}
}

func TestParkParksAChangeAtOnce(t *testing.T) {
	found, _ := worked(t, func(stream consumeStream) []string {
		deliver(stream, delivery(1, 0, 1), delivery(2, 0, 1))
		return outcomes(stream, 2)
	}, func(_ context.Context, d *Delivery) error {
		if d.Change.GetResumeToken() == "1" {
			return fmt.Errorf("wrapped: %w", Park("poison\xff"))
		}
		return nil
	})
	if fmt.Sprint(found) != "[ack 2 reject 1 poison? true]" {
		t.Error(found)
	}
}

func TestHandlersRunAtOnceUpToTheConcurrency(t *testing.T) {
	var running, most atomic.Int32
	worked(t, func(stream consumeStream) []string {
		deliver(stream, delivery(1, 1, 1), delivery(2, 1, 1), delivery(3, 2, 1), delivery(4, 3, 1), delivery(5, 4, 1))
		return outcomes(stream, 5)
	}, func(context.Context, *Delivery) error {
		now := running.Add(1)
		for before := most.Load(); now > before && !most.CompareAndSwap(before, now); before = most.Load() {
		}
		time.Sleep(20 * time.Millisecond)
		running.Add(-1)
		return nil
	}, WithConcurrency(2))
	if most.Load() != 2 {
		t.Error(most.Load())
	}
	if err := connected(t, "127.0.0.1:1").Consumer("c").Run(t.Context(), nil, WithConcurrency(0)); err == nil {
		t.Error("no concurrency")
	}
}

func TestConsumerJoinsAgainAndReturnsOtherErrors(t *testing.T) {
	server := &consuming{scripts: []func(consumeStream) error{
		func(consumeStream) error { return refusal(codes.Unavailable, ErrServerDraining, nil) },
		func(consumeStream) error { return nil },
		func(consumeStream) error { return refusal(codes.FailedPrecondition, ErrConsumerMismatch, nil) },
	}}
	client := server.serve(t)
	within(t, 30*time.Second, func() {
		err := client.Consumer("c").Run(t.Context(), func(context.Context, *Delivery) error { return nil })
		if !errors.Is(err, ErrConsumerMismatch) || len(server.joins) != 3 {
			t.Error(err, server.joins)
		}
	})
}

func TestEndedConsumerWaitsForItsHandlersAndStartsNoMore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var started atomic.Int32
	var found []string
	server := &consuming{scripts: []func(consumeStream) error{func(stream consumeStream) error {
		deliver(stream, delivery(1, 0, 1), delivery(2, 0, 1), delivery(3, 1, 1))
		found = outcomes(stream, 1)
		if untilHalfClosed(stream) != 0 {
			found = append(found, "more")
		}
		return nil
	}}}
	client := server.serve(t)
	within(t, 30*time.Second, func() {
		err := client.Consumer("c").Run(ctx, func(ctx context.Context, d *Delivery) error {
			if started.Add(1) == 2 {
				time.AfterFunc(20*time.Millisecond, cancel)
			}
			<-ctx.Done()
			if d.Partition == 1 {
				return ctx.Err()
			}
			return nil
		})
		if err != nil || started.Load() != 2 || fmt.Sprint(found) != "[ack 1]" {
			t.Error(err, started.Load(), found)
		}
	})
}

func TestAfterTheLastAttemptNoDeliveryIsVoid(t *testing.T) {
	m := newMember()
	m.joined(&pb.Joined{Consumer: &pb.Consumer{MaxAttempts: 2}})
	if m.reject(delivery(1, 0, 1), errors.New("x")) || m.counts(delivery(2, 0, 1)) || !m.counts(delivery(3, 0, 2)) {
		t.Error("the first attempt")
	}
	if !m.reject(delivery(3, 0, 2), errors.New("x")) || !m.counts(delivery(2, 0, 1)) {
		t.Error("the last attempt")
	}
	if m.stop(); m.counts(delivery(4, 0, 1)) {
		t.Error("it is over")
	}
}

func TestParkedChangesWithoutIDsAreNotAll(t *testing.T) {
	server, client := record(t)
	consumer := client.Consumer("c")
	if _, err := consumer.ReplayParked(t.Context()); err == nil {
		t.Error("replayed")
	}
	if _, err := consumer.DeleteParked(t.Context()); err == nil || len(server.requests) != 0 {
		t.Error("deleted")
	}
	server.answers = append(server.answers, &pb.ReplayParkedChangesResponse{Replayed: 2})
	if count, err := consumer.ReplayParked(t.Context(), "1", "2"); count != 2 || err != nil {
		t.Error(count, err)
	}
	same(t, "ids", `name: "c" parked_ids: "1" parked_ids: "2"`, server.last())
	if _, err := consumer.DeleteAllParked(t.Context()); err != nil {
		t.Error(err)
	}
	same(t, "all", `name: "c"`, server.last())
}
