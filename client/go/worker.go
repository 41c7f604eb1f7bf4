package threadkeep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc/codes"

	pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

// Time that a leaving member waits until the server confirms its acknowledgments by ending the stream.
const farewell = 10 * time.Second

// work is a delivery and its member.
type work struct {
	member   *member
	delivery *pb.Delivery
}

// worker handles deliveries as one member after another.
type worker struct {
	client *Client
	handle func(context.Context, *Delivery) error
	slots  chan struct{}
	mutex  sync.Mutex
	idle   *sync.Cond       // when the last lane ends
	lanes  map[int32][]work // by partition, in order; the first item is running, so each lane has one goroutine
}

func newWorker(c *Client, handle func(context.Context, *Delivery) error, concurrency int) *worker {
	w := &worker{client: c, handle: handle, slots: make(chan struct{}, concurrency), lanes: map[int32][]work{}}
	w.idle = sync.NewCond(&w.mutex)
	return w
}

// run joins, works, and joins again when a stream breaks, until ctx ends. It returns errors that no retry resolves, after
// running handlers ended.
func (w *worker) run(ctx context.Context, join *pb.JoinConsumer) error {
	defer w.wait()
	handling, cancel := context.WithCancel(ctx)
	defer cancel() // handlers end when no member can send their outcome any more
	pauses := backoff{maxRetries: -1}
	for ctx.Err() == nil {
		err := w.serve(ctx, handling, join, &pauses)
		if ctx.Err() != nil {
			return nil
		}
		wait, mendable := pauses.pauseAfter(err)
		if !mendable {
			return err
		}
		if log := w.client.log; log != nil {
			log.WarnContext(ctx, "threadkeep: a consumer joins again", "consumer", join.GetName(), "pause", wait, "error", err)
		}
		w.client.pause(ctx, wait)
	}
	return nil
}

// serve serves one stream to its end. Its error is not nil unless ctx ended.
func (w *worker) serve(ctx, handling context.Context, join *pb.JoinConsumer, pauses *backoff) error {
	streamCtx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // it outlives ctx, to send the last acknowledgments
	defer cancel()
	stream, err := w.client.raw.Consumers.Consume(streamCtx)
	if err != nil {
		return err
	}
	m := newMember()
	done := make(chan struct{})
	defer close(done)
	defer w.abandon(m)
	go sendRequests(stream, join, m, done)
	go w.leaveAfter(ctx, m, done, cancel)
	clock := time.AfterFunc(w.client.silence, cancel)
	for {
		response, err := stream.Recv()
		if !clock.Stop() && ctx.Err() == nil {
			message := fmt.Sprintf("no heartbeat from %s for %s", w.client.address, w.client.silence)
			return &Error{Code: codes.Unavailable, Message: message}
		}
		if err == io.EOF {
			return &Error{Code: codes.Unavailable, Message: "the server ended the stream"}
		}
		if err != nil {
			return err
		}
		pauses.failures = 0
		if joined := response.GetJoined(); joined != nil {
			m.joined(joined)
		}
		for _, delivery := range response.GetDeliveries() {
			w.begin(handling, work{m, delivery})
		}
		clock.Reset(w.client.silence)
	}
}

// sendRequests sends the join, then what the member has to send, until it leaves or the stream is over.
func sendRequests(stream pb.ConsumerService_ConsumeClient, join *pb.JoinConsumer, m *member, done <-chan struct{}) {
	defer stream.CloseSend() //nolint:errcheck // it reports what Recv reports
	if stream.Send(&pb.ConsumeRequest{Request: &pb.ConsumeRequest_Join{Join: join}}) != nil {
		return
	}
	for {
		select {
		case <-m.wake:
		case <-done:
			return
		}
		requests, last := m.take()
		for _, request := range requests {
			if stream.Send(request) != nil {
				return
			}
		}
		if last {
			return
		}
	}
}

// leaveAfter lets the member leave when ctx ends: it waits for running handlers, and gives the server time to confirm.
func (w *worker) leaveAfter(ctx context.Context, m *member, done <-chan struct{}, cancel context.CancelFunc) {
	select {
	case <-done:
		return
	case <-ctx.Done():
	}
	m.stop()
	w.wait()
	m.leave()
	select {
	case <-done:
	case <-time.After(farewell):
		cancel()
	}
}

// abandon removes the work that has not started, of a member whose stream is over.
func (w *worker) abandon(m *member) {
	m.leave()
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for partition, lane := range w.lanes {
		w.lanes[partition] = lane[:1]
	}
}

// wait waits until no handler runs.
func (w *worker) wait() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for len(w.lanes) > 0 {
		w.idle.Wait()
	}
}

// begin appends work to its lane, and starts the lane if it was empty.
func (w *worker) begin(ctx context.Context, next work) {
	partition := next.delivery.GetPartition()
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.lanes[partition] = append(w.lanes[partition], next)
	if len(w.lanes[partition]) == 1 {
		go w.drain(ctx, partition, next)
	}
}

// drain handles the deliveries of a lane until it is empty.
func (w *worker) drain(ctx context.Context, partition int32, next work) {
	for more := true; more; next, more = w.after(partition) {
		w.slots <- struct{}{}
		if ctx.Err() == nil && next.member.counts(next.delivery) {
			w.settle(ctx, next)
		}
		<-w.slots
	}
}

// after removes the finished work, the first of its lane, and returns the next.
func (w *worker) after(partition int32) (work, bool) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	lane := w.lanes[partition][1:]
	if len(lane) == 0 {
		if delete(w.lanes, partition); len(w.lanes) == 0 {
			w.idle.Broadcast()
		}
		return work{}, false
	}
	w.lanes[partition] = lane
	return lane[0], true
}

// settle handles a delivery and acknowledges or rejects it.
func (w *worker) settle(ctx context.Context, item work) {
	delivery := item.delivery
	err := w.handle(ctx, &Delivery{
		Change: delivery.GetChange(), Attempt: int(delivery.GetAttempt()), Partition: int(delivery.GetPartition()),
		ParkedID: delivery.GetParkedId(),
	})
	switch {
	case err == nil:
		item.member.acknowledge(delivery)
	case ctx.Err() != nil: // it is delivered again, to another member
	default:
		parked := item.member.reject(delivery, err)
		if log := w.client.log; log != nil {
			log.WarnContext(ctx, "threadkeep: a handler failed", "session", delivery.GetChange().GetSession().GetSessionId(),
				"attempt", delivery.GetAttempt(), "parked", parked, "error", err)
		}
	}
}

// Maximum length in bytes of a reason that is sent; the server stores at most 1,024 characters.
const longestReason = 1024

// member is one Consume stream: its valid deliveries, and its outgoing requests in order. Acknowledgments that gather are sent
// together.
type member struct {
	mutex       sync.Mutex
	outgoing    []*pb.ConsumeRequest
	rejected    map[int32]int32 // by partition: the attempt that was rejected
	maxAttempts int32
	over        bool
	leaving     bool
	wake        chan struct{} // has an item if there is something to send
}

func newMember() *member {
	return &member{rejected: map[int32]int32{}, wake: make(chan struct{}, 1)}
}

// joined stores the limits of the server's answer to the join.
func (m *member) joined(joined *pb.Joined) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.maxAttempts = joined.GetConsumer().GetMaxAttempts()
}

// counts reports whether to handle the delivery: not if its stream ended, nor if an earlier one of the partition was rejected. A
// rejected delivery is delivered again with all that follow it. Deliveries sent before the rejection are recognized by their
// attempt: no change is delivered more often than the change before it.
func (m *member) counts(delivery *pb.Delivery) bool {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.over {
		return false
	}
	failed, rejected := m.rejected[delivery.GetPartition()]
	if !rejected || delivery.GetParkedId() != "" {
		return true
	}
	if delivery.GetAttempt() <= failed {
		return false
	}
	delete(m.rejected, delivery.GetPartition())
	return true
}

// acknowledge acknowledges a delivery that was handled.
func (m *member) acknowledge(delivery *pb.Delivery) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	var last *pb.Acknowledge
	if len(m.outgoing) > 0 {
		last = m.outgoing[len(m.outgoing)-1].GetAcknowledge()
	}
	if last == nil {
		last = &pb.Acknowledge{}
		m.outgoing = append(m.outgoing, &pb.ConsumeRequest{Request: &pb.ConsumeRequest_Acknowledge{Acknowledge: last}})
	}
	last.DeliveryIds = append(last.DeliveryIds, delivery.GetDeliveryId())
	m.signal()
}

// reject rejects a delivery that could not be handled because of this error. It reports whether the change is parked.
func (m *member) reject(delivery *pb.Delivery, err error) bool {
	var park *parkError
	parked, reason := errors.As(err, &park), err.Error()
	if parked {
		reason = park.reason
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	comesAgain := !parked && delivery.GetParkedId() == "" && delivery.GetAttempt() < m.maxAttempts
	if comesAgain {
		m.rejected[delivery.GetPartition()] = delivery.GetAttempt()
	}
	reject := &pb.Reject{DeliveryId: delivery.GetDeliveryId(), Reason: valid(reason), Park: parked}
	m.outgoing = append(m.outgoing, &pb.ConsumeRequest{Request: &pb.ConsumeRequest_Reject{Reject: reject}})
	m.signal()
	return !comesAgain
}

// valid returns a text that protobuf can encode, of limited length.
func valid(text string) string {
	runes := make([]rune, 0, longestReason)
	for _, r := range text {
		if r == utf8.RuneError {
			r = '?'
		}
		if runes = append(runes, r); len(runes) == longestReason {
			break
		}
	}
	return string(runes)
}

// stop starts no more deliveries; the outcome of running ones is still sent.
func (m *member) stop() {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.over = true
}

// leave ends the stream after the requests that wait.
func (m *member) leave() {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.over, m.leaving = true, true
	m.signal()
}

// take returns the requests to send, and whether they are the last.
func (m *member) take() ([]*pb.ConsumeRequest, bool) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	requests := m.outgoing
	m.outgoing = nil
	return requests, m.leaving
}

func (m *member) signal() {
	select {
	case m.wake <- struct{}{}:
	default: // the sender has not seen the last signal yet
	}
}
