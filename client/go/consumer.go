package threadkeep

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

// Delivery is one change that a handler gets.
type Delivery struct {
	// Change is the whole change, never a checkpoint.
	Change *Change
	// Attempt is the number of the attempt, from 1.
	Attempt int
	// Partition of the change: changes of one partition come in order.
	Partition int
	// ParkedID is the id of the parked change, if this is a replay.
	ParkedID string
}

// parkError is the error that Park returns.
type parkError struct{ reason string }

func (e *parkError) Error() string { return e.reason }

// Park returns an error for handlers: the change is parked at once for this reason, and not delivered again until it is
// replayed.
func Park(reason string) error { return &parkError{reason} }

type consumeOption func(*settings)

func (o consumeOption) forConsume(s *settings) { o(s) }

// FromOldest starts a new consumer at the oldest change of the feed. Default: with changes committed from now on.
func FromOldest() ConsumeOption {
	return consumeOption(func(s *settings) { s.join.FromBeginning = true })
}

// WithConcurrency sets the maximum number of handlers that run at once, for different partitions. Default: 8.
func WithConcurrency(n int) ConsumeOption {
	return consumeOption(func(s *settings) {
		if s.concurrency = n; n < 1 {
			s.fail("WithConcurrency must be at least 1")
		}
	})
}

// WithMemberID sets the id of this member, shown to operators. Default: one from the server.
func WithMemberID(id string) ConsumeOption {
	return consumeOption(func(s *settings) { s.join.MemberId = id })
}

// WithMaxUnacknowledged sets the maximum number of unacknowledged deliveries. Default: 256; at most 10,000.
func WithMaxUnacknowledged(n int) ConsumeOption {
	return consumeOption(func(s *settings) { s.join.MaxOutstanding = int32(n) })
}

// WithMaxAttempts sets the number of attempts before a change is parked. Only the first member's counts. Default: 5.
func WithMaxAttempts(n int) ConsumeOption {
	return consumeOption(func(s *settings) { s.join.MaxAttempts = int32(n) })
}

// WithAckTimeout sets the time to acknowledge a delivery. Only the first member's counts. Default: 60 seconds.
func WithAckTimeout(timeout time.Duration) ConsumeOption {
	return consumeOption(func(s *settings) { s.join.AckTimeout = durationpb.New(timeout) })
}

// WithPartitions sets the number of partitions, the most members that work at once. Only the first member's counts. Default:
// 32; at most 256.
func WithPartitions(n int) ConsumeOption {
	return consumeOption(func(s *settings) { s.join.Partitions = int32(n) })
}

// ConsumerHandle is a named consumer, whose progress the server stores. Creating it makes no call.
type ConsumerHandle struct {
	client *Client
	name   string
}

// Consumer returns a handle on a named consumer.
func (c *Client) Consumer(name string) *ConsumerHandle {
	return &ConsumerHandle{c, name}
}

// Name returns the name of the consumer.
func (h *ConsumerHandle) Name() string { return h.name }

// Run works for the consumer: it calls handle with every change, at least once, and acknowledges it when handle returns nil. The
// first member creates the consumer; members of one name share the sessions. The changes of a session are delivered in order,
// one at a time. When handle returns an error, its change is delivered again after a pause, with those after it, and parked
// after WithMaxAttempts. An error that wraps one of Park parks it at once.
//
//	err := client.Consumer("indexer").Run(ctx, func(ctx context.Context, d *threadkeep.Delivery) error {
//		return index(ctx, d.Change)
//	}, threadkeep.WithConcurrency(8))
//
// It runs until ctx ends, and then returns nil: it starts no more handlers, waits for the running ones, whose context has ended
// too, and up to 10 seconds until the server confirms their acknowledgments. A change whose handler fails after that is
// delivered to another member. When the stream breaks, or the member was too slow, it joins again, after pauses as in Watch and
// without limit.
//
// Scope and filter are those of WatchAll, the same for all members. Errors: ErrConsumerMismatch, ErrConsumerNotFound if it was
// deleted, ErrResumePositionExpired, ErrQuotaExceeded, and an *Error that wraps ErrClosed.
func (h *ConsumerHandle) Run(ctx context.Context, handle func(context.Context, *Delivery) error, opts ...ConsumeOption) error {
	given := settingsOf(opts, ConsumeOption.forConsume)
	if given.err != nil {
		return given.err
	}
	join := &given.join
	join.Name, join.Scope, join.Filter = h.name, h.client.changeScope(given), given.filter
	w := newWorker(h.client, handle, cmp.Or(given.concurrency, 8))
	return w.run(ctx, join)
}

// Get returns the consumer, its members, the progress of each partition and the number of parked changes. Errors:
// ErrConsumerNotFound.
func (h *ConsumerHandle) Get(ctx context.Context) (*pb.GetConsumerResponse, error) {
	return h.client.raw.Consumers.GetConsumer(ctx, &pb.GetConsumerRequest{Name: h.name})
}

// Delete deletes the consumer, its progress and its parked changes, and ends its members.
func (h *ConsumerHandle) Delete(ctx context.Context) (*pb.DeleteConsumerResponse, error) {
	return h.client.raw.Consumers.DeleteConsumer(ctx, &pb.DeleteConsumerRequest{Name: h.name})
}

func (h *ConsumerHandle) parkedRequest(opts []PageOption) *pb.ListParkedChangesRequest {
	given := settingsOf(opts, PageOption.forPage)
	return &pb.ListParkedChangesRequest{Name: h.name, PageSize: given.pageSize, PageToken: given.pageToken}
}

// Parked iterates over the parked changes, oldest first. Errors: ErrConsumerNotFound.
func (h *ConsumerHandle) Parked(ctx context.Context, opts ...PageOption) iter.Seq2[*pb.ParkedChange, error] {
	return pages(ctx, h.parkedRequest(opts), nil, h.client.raw.Consumers.ListParkedChanges,
		(*pb.ListParkedChangesResponse).GetParkedChanges)
}

// ParkedPage returns one page of Parked.
func (h *ConsumerHandle) ParkedPage(ctx context.Context, opts ...PageOption) (*pb.ListParkedChangesResponse, error) {
	return h.client.raw.Consumers.ListParkedChanges(ctx, h.parkedRequest(opts))
}

// ReplayParked delivers the parked changes with these ids again, at most 1,000, and returns how many. Without ids it is an
// error: see ReplayAllParked. Errors: ErrConsumerNotFound.
func (h *ConsumerHandle) ReplayParked(ctx context.Context, ids ...string) (int64, error) {
	if len(ids) == 0 {
		return 0, errNoIDs // an empty list in the request means all
	}
	return h.replay(ctx, ids)
}

// ReplayAllParked delivers all parked changes again, and returns how many.
func (h *ConsumerHandle) ReplayAllParked(ctx context.Context) (int64, error) {
	return h.replay(ctx, nil)
}

func (h *ConsumerHandle) replay(ctx context.Context, ids []string) (int64, error) {
	request := &pb.ReplayParkedChangesRequest{Name: h.name, ParkedIds: ids}
	response, err := h.client.raw.Consumers.ReplayParkedChanges(ctx, request)
	return response.GetReplayed(), err
}

// DeleteParked deletes the parked changes with these ids, at most 1,000, and returns how many. Without ids it is an error: see
// DeleteAllParked. Errors: ErrConsumerNotFound.
func (h *ConsumerHandle) DeleteParked(ctx context.Context, ids ...string) (int64, error) {
	if len(ids) == 0 {
		return 0, errNoIDs
	}
	return h.deleteParked(ctx, ids)
}

// DeleteAllParked deletes all parked changes, and returns how many.
func (h *ConsumerHandle) DeleteAllParked(ctx context.Context) (int64, error) {
	return h.deleteParked(ctx, nil)
}

func (h *ConsumerHandle) deleteParked(ctx context.Context, ids []string) (int64, error) {
	request := &pb.DeleteParkedChangesRequest{Name: h.name, ParkedIds: ids}
	response, err := h.client.raw.Consumers.DeleteParkedChanges(ctx, request)
	return response.GetDeleted(), err
}

var errNoIDs = errors.New("threadkeep: give at least one id of a parked change")

func consumersRequest(opts []PageOption) *pb.ListConsumersRequest {
	given := settingsOf(opts, PageOption.forPage)
	return &pb.ListConsumersRequest{PageSize: given.pageSize, PageToken: given.pageToken}
}

// Consumers iterates over the consumers by name.
func (c *Client) Consumers(ctx context.Context, opts ...PageOption) iter.Seq2[*pb.Consumer, error] {
	return pages(ctx, consumersRequest(opts), nil, c.raw.Consumers.ListConsumers, (*pb.ListConsumersResponse).GetConsumers)
}

// ConsumersPage returns one page of Consumers.
func (c *Client) ConsumersPage(ctx context.Context, opts ...PageOption) (*pb.ListConsumersResponse, error) {
	return c.raw.Consumers.ListConsumers(ctx, consumersRequest(opts))
}
