package threadkeep

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"iter"
	"time"

	"google.golang.org/grpc/codes"

	pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

// Appended is the response of an append.
type Appended struct {
	*pb.AppendEventsResponse
	// Dropped is true if nothing was sent, because the handle's memory provider does not write; the response is then empty.
	Dropped bool
}

// Precondition is what an append, or another write, requires of the session; see Expect.
type Precondition interface{ set(*settings) }

// LogVersion requires the log to be at this version.
type LogVersion int64

// LastEventID requires the last event to have this id; "" is an empty log.
type LastEventID string

func (v LogVersion) set(s *settings)   { s.expect = v }
func (id LastEventID) set(s *settings) { s.expect = id }

type expectOption struct{ precondition Precondition }

func (o expectOption) forAppend(s *settings) { o.set(s) }
func (o expectOption) forApply(s *settings)  { o.set(s) }

func (o expectOption) set(s *settings) {
	if s.expect != nil {
		s.fail("give Expect at most once")
	}
	o.precondition.set(s)
}

// Expect sets the precondition of a write: Expect(LogVersion(3)). Otherwise it fails with ErrVersionMismatch. Without one,
// concurrent appends are serialized and always succeed. Appends take a LogVersion or a LastEventID, patches of a state a
// StateVersion, other writes a LogVersion.
func Expect(precondition Precondition) interface {
	AppendOption
	ApplyOption
	PopOption
	ClearOption
	RewindOption
	EraseEventsOption
	PatchOption
} {
	return expectOption{precondition}
}

// WithCreateIfMissing creates the session in the same commit if it does not exist, with the expiry, labels, metadata and state of
// the options. Other options have no effect here.
func WithCreateIfMissing(opts ...CreateOption) AppendOption {
	return appendOption(func(s *settings) { s.createIfMissing = settingsOf(opts, CreateOption.forCreate) })
}

// IgnoreExisting accepts event ids that are already stored, regardless of the content.
func IgnoreExisting() AppendOption {
	return appendOption(func(s *settings) { s.ifExists = pb.IfExists_IF_EXISTS_IGNORE })
}

// MaxOutstanding sets the maximum number of batches of an append stream that wait for their result. Default: 64.
func MaxOutstanding(n int) AppendOption {
	return appendOption(func(s *settings) { s.maxOutstanding = n })
}

// Append appends events, all or none. When it returns, they are on durable storage.
//
// Events without an id get one in a copy before they are sent, so that the client's retries store nothing twice. To retry after
// errors yourself, append the same WithIDs(events) again. Errors: ErrSessionNotFound, ErrVersionMismatch, ErrEventIDConflict,
// ErrOperationConflict, ErrEventTooLarge, ErrBatchTooLarge, ErrStateTooLarge, and those of every call.
func (s *SessionHandle) Append(ctx context.Context, events []*Event, opts ...AppendOption) (*Appended, error) {
	request, err := s.appendRequest(events, opts)
	if err != nil {
		return nil, err
	}
	if !s.memory.Writes() {
		s.sayDropped(ctx)
		return &Appended{&pb.AppendEventsResponse{}, true}, nil
	}
	response, err := s.client.raw.Events.AppendEvents(ctx, request)
	if err != nil {
		return nil, err
	}
	return &Appended{response, false}, nil
}

func (s *SessionHandle) sayDropped(ctx context.Context) {
	if log := s.client.log; log != nil {
		log.DebugContext(ctx, "threadkeep: an append is dropped, because its memory provider does not write", "session", s.ref.SessionId)
	}
}

func (s *SessionHandle) appendRequest(events []*Event, opts []AppendOption) (*pb.AppendEventsRequest, error) {
	given := settingsOf(opts, AppendOption.forAppend)
	request := &pb.AppendEventsRequest{
		Session: s.ref, Events: WithIDs(events), IfExists: given.ifExists, Replaced: given.mode, OperationId: given.operationID,
		StateDelta: given.delta,
	}
	switch expected := given.expect.(type) {
	case LogVersion:
		request.Precondition = &pb.AppendEventsRequest_ExpectedLogVersion{ExpectedLogVersion: int64(expected)}
	case LastEventID:
		request.Precondition = &pb.AppendEventsRequest_ExpectedLastEventId{ExpectedLastEventId: string(expected)}
	case StateVersion:
		given.fail("an append expects a LogVersion or a LastEventID")
	}
	if missing := given.createIfMissing; missing != nil {
		if missing.err != nil {
			return nil, missing.err
		}
		request.CreateIfMissing = &pb.CreateIfMissing{
			Expiry: missing.expiry, MetadataJson: value(missing.metadata), Labels: missing.labels, State: missing.values,
		}
	}
	return request, given.err
}

// WithIDs returns the events with ids; events without one are copied. An append of the result can be repeated.
func WithIDs(events []*Event) []*Event {
	identified := make([]*Event, len(events))
	for i, event := range events {
		if event.GetEventId() == "" {
			event = copyOf(event)
			event.EventId = NewEventID()
		}
		identified[i] = event
	}
	return identified
}

// NewEventID returns a UUIDv7. Ids sort by creation time, to a quarter of a microsecond.
func NewEventID() string {
	return eventID(time.Now())
}

func eventID(now time.Time) string {
	nanos := uint64(now.UnixNano())
	millis, rest := nanos/1_000_000, nanos%1_000_000
	var id [16]byte
	_, _ = rand.Read(id[8:]) // never fails: without entropy the program ends
	binary.BigEndian.PutUint64(id[:8], millis<<16|7<<12|rest*4096/1_000_000)
	id[8] = id[8]&0x3f | 0x80
	text := hex.EncodeToString(id[:])
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}

// Batch is one atomic append of an append stream.
type Batch struct {
	// Session to append to, a handle of the same client.
	Session *SessionHandle
	// Events to append, all or none.
	Events []*Event
	// Options of the append.
	Options []AppendOption
}

// BatchResult is the result of one batch: either Appended or Err is set.
type BatchResult struct {
	// Index of the batch, from 0.
	Index int64
	// Appended is the response of the committed append.
	Appended *Appended
	// Err says why nothing of the batch was stored: an *Error. The stream continues.
	Err error
}

// AppendStream appends batch after batch without waiting for each result; results come in the order of the batches.
//
//	for result, err := range client.AppendStream(ctx, slices.Values(batches)) {
//		if err != nil {
//			return err // of the stream
//		}
//		...
//	}
//
// A failed batch has Err in its result and does not end the stream. At most MaxOutstanding batches wait for a result; the next
// one is taken when there is room. batches is iterated in another goroutine, which leaving the loop ends.
//
// Nothing is retried: to resume a broken stream, give batches of WithIDs(events) and send those without a result again. It has
// no deadline except that of ctx.
func (c *Client) AppendStream(ctx context.Context, batches iter.Seq[Batch], opts ...AppendOption) iter.Seq2[BatchResult, error] {
	return func(yield func(BatchResult, error) bool) {
		limit := cmp.Or(settingsOf(opts, AppendOption.forAppend).maxOutstanding, 64)
		if limit < 1 {
			yield(BatchResult{}, errors.New("threadkeep: MaxOutstanding must be at least 1"))
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stream, err := c.raw.Events.AppendStream(ctx)
		if err != nil {
			yield(BatchResult{}, err)
			return
		}
		room, failed := make(chan struct{}, limit), make(chan error, 1)
		go func() { failed <- sendBatches(ctx, stream, batches, opts, room) }()
		for {
			response, err := stream.Recv()
			if err == io.EOF {
				if err := <-failed; err != nil {
					yield(BatchResult{}, err)
				}
				return
			}
			if err != nil {
				yield(BatchResult{}, err)
				return
			}
			for _, result := range response.GetResults() {
				<-room
				if !yield(batchResult(result), nil) {
					return
				}
			}
		}
	}
}

// sendBatches sends batches until the stream ends. An error of a batch ends it after the batches before.
func sendBatches(
	ctx context.Context, stream pb.EventService_AppendStreamClient, batches iter.Seq[Batch], opts []AppendOption, room chan<- struct{},
) error {
	defer stream.CloseSend() //nolint:errcheck // it reports what Recv reports
	for batch := range batches {
		select {
		case room <- struct{}{}:
		case <-ctx.Done():
			return nil // Recv reports it
		}
		request, err := batch.Session.appendRequest(batch.Events, append(opts[:len(opts):len(opts)], batch.Options...))
		if err != nil {
			return err
		}
		if stream.Send(&pb.AppendStreamRequest{Append: request}) != nil {
			return nil // Recv reports it
		}
	}
	return nil
}

func batchResult(result *pb.AppendStreamResult) BatchResult {
	if e := result.GetError(); e != nil {
		return BatchResult{Index: result.GetIndex(), Err: &Error{
			Reason: Reason(e.GetReason()), Code: codes.Code(e.GetCode()), Message: e.GetMessage(), Metadata: e.GetMetadata(),
		}}
	}
	return BatchResult{Index: result.GetIndex(), Appended: &Appended{result.GetAppended(), false}}
}

// AppendStream appends batches of events to the session, with the options; see Client.AppendStream.
func (s *SessionHandle) AppendStream(
	ctx context.Context, batches iter.Seq[[]*Event], opts ...AppendOption,
) iter.Seq2[BatchResult, error] {
	if !s.memory.Writes() {
		return func(yield func(BatchResult, error) bool) {
			s.sayDropped(ctx)
			index := int64(0)
			for range batches {
				if !yield(BatchResult{Index: index, Appended: &Appended{&pb.AppendEventsResponse{}, true}}, nil) {
					return
				}
				index++
			}
		}
	}
	return s.client.AppendStream(ctx, func(yield func(Batch) bool) {
		for events := range batches {
			if !yield(Batch{Session: s, Events: events}) {
				return
			}
		}
	}, opts...)
}
