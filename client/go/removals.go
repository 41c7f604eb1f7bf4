package threadkeep

import (
	"cmp"
	"context"
	"iter"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

type (
	// PopOption configures SessionHandle.Pop.
	PopOption interface{ forPop(*settings) }
	// ClearOption configures SessionHandle.Clear.
	ClearOption interface{ forClear(*settings) }
	// RewindOption configures SessionHandle.Rewind.
	RewindOption interface{ forRewind(*settings) }
	// EraseEventsOption configures SessionHandle.EraseEvents.
	EraseEventsOption interface{ forEraseEvents(*settings) }
	// SuffixOption configures SessionHandle.ReplaceSuffix.
	SuffixOption interface{ forSuffix(*settings) }
)

type (
	operationOption  func(*settings)
	removedOption    func(*settings)
	invocationOption func(*settings)
)

func (o operationOption) forAppend(s *settings)       { o(s) }
func (o operationOption) forPop(s *settings)          { o(s) }
func (o operationOption) forClear(s *settings)        { o(s) }
func (o operationOption) forEraseEvents(s *settings)  { o(s) }
func (o operationOption) forSuffix(s *settings)       { o(s) }
func (o operationOption) forRewind(s *settings)       { o(s) }
func (o operationOption) forFork(s *settings)         { o(s) }
func (o operationOption) forMove(s *settings)         { o(s) }
func (o operationOption) forUpdate(s *settings)       { o(s) }
func (o removedOption) forAppend(s *settings)         { o(s) }
func (o removedOption) forPop(s *settings)            { o(s) }
func (o removedOption) forClear(s *settings)          { o(s) }
func (o removedOption) forSuffix(s *settings)         { o(s) }
func (o removedOption) forRewind(s *settings)         { o(s) }
func (o branchOption) forPop(s *settings)             { o(s) }
func (o branchOption) forSuffix(s *settings)          { o(s) }
func (o branchOption) forEraseEvents(s *settings)     { o(s) }
func (o invocationOption) forEraseEvents(s *settings) { o(s) }
func (o expectOption) forPop(s *settings)             { o.set(s) }
func (o expectOption) forRewind(s *settings)          { o.set(s) }
func (o expectOption) forClear(s *settings)           { o.set(s) }
func (o expectOption) forEraseEvents(s *settings)     { o.set(s) }

// WithOperationID names a removal, a fork, a move, an append or an update. The server remembers the id with the outcome; a repeated
// call with the same id and content returns that, also after a crash of the caller, and changes nothing; a repeated update or move
// returns the session as it is now. Default: a new one for a removal, a fork and a move, so that the client's own retries are safe,
// and none for an append, whose events are recognized by their ids, and for an update.
func WithOperationID(id string) interface {
	AppendOption
	UpdateOption
	ForkOption
	MoveOption
	PopOption
	ClearOption
	RewindOption
	EraseEventsOption
	SuffixOption
} {
	return operationOption(func(s *settings) { s.operationID = id })
}

// EraseRemoved erases the content of what is removed, or replaced by ReplaceExisting, instead of archiving it; the response of a
// removal has a receipt. It requires the role admin.
func EraseRemoved() interface {
	AppendOption
	PopOption
	ClearOption
	RewindOption
	SuffixOption
} {
	return removedOption(func(s *settings) { s.mode = pb.RemovalMode_REMOVAL_MODE_ERASE })
}

// ReplaceExisting lets an event with a stored id and other content take the place of the stored one, which is archived.
func ReplaceExisting() AppendOption {
	return appendOption(func(s *settings) { s.ifExists = pb.IfExists_IF_EXISTS_REPLACE })
}

// Pop takes the newest events out of the window and returns them, the newest last: of concurrent calls, each event is returned to
// one. What leaves the window is archived: it stays in the history and is found by searches. n is at most 1,000; fewer are returned
// if the window has fewer. It takes WithBranch, EraseRemoved, Expect(LogVersion) and WithOperationID. Errors: ErrSessionNotFound,
// ErrVersionMismatch, ErrOperationConflict.
func (s *SessionHandle) Pop(ctx context.Context, n int, opts ...PopOption) (*pb.PopEventsResponse, error) {
	given := settingsOf(opts, PopOption.forPop)
	request := &pb.PopEventsRequest{
		Session: s.ref, Count: int32(min(max(n, -1), 1<<30)), Branch: given.exactBranch(), Mode: given.mode,
		ExpectedLogVersion: given.expectedLogVersion(), OperationId: given.operation(),
	}
	if given.err != nil {
		return nil, given.err
	}
	return s.client.raw.Events.PopEvents(ctx, request)
}

// Clear empties the active window; see Pop. The session stays, with labels, policy and watchers; the log continues with the next
// seq, and a writer that expects an earlier log version is refused. EraseRemoved erases the whole log. Errors: ErrSessionNotFound,
// ErrVersionMismatch, ErrOperationConflict.
func (s *SessionHandle) Clear(ctx context.Context, opts ...ClearOption) (*pb.ClearEventsResponse, error) {
	given := settingsOf(opts, ClearOption.forClear)
	request := &pb.ClearEventsRequest{
		Session: s.ref, Mode: given.mode, ExpectedLogVersion: given.expectedLogVersion(), OperationId: given.operation(),
	}
	if given.err != nil {
		return nil, given.err
	}
	return s.client.raw.Events.ClearEvents(ctx, request)
}

// Point is a point in the history of a session: an event, by its Seq or its EventID; the end of an InvocationID, which is its
// last event; or the moment directly after the change to a LogVersion. If a compaction or a removal stored the event, all of that
// change belongs to the point.
type Point interface {
	// point returns the field of a request and its value.
	point() (protoreflect.Name, protoreflect.Value)
}

type (
	// EventID is the id of an event.
	EventID string
	// InvocationID is the invocation id of events.
	InvocationID string
)

func (at Seq) point() (protoreflect.Name, protoreflect.Value) {
	return "at_seq", protoreflect.ValueOfInt64(int64(at))
}

func (at EventID) point() (protoreflect.Name, protoreflect.Value) {
	return "at_event_id", protoreflect.ValueOfString(string(at))
}

func (at InvocationID) point() (protoreflect.Name, protoreflect.Value) {
	return "at_invocation_id", protoreflect.ValueOfString(string(at))
}

func (at LogVersion) point() (protoreflect.Name, protoreflect.Value) {
	return "at_log_version", protoreflect.ValueOfInt64(int64(at))
}

// setPoint sets the point of a request; nil is none.
func setPoint(request proto.Message, at Point) {
	if at == nil {
		return
	}
	message := request.ProtoReflect()
	name, value := at.point()
	message.Set(message.Descriptor().Fields().ByName(name), value)
}

// Rewind goes back to a point: what came after it leaves the window, what left the window since is active again unless it was
// erased, and the session's state has the values of then. At most 10,000 events leave or come back.
//
//	rewound, err := trip.Rewind(ctx, threadkeep.EventID("m12"))
//
// It takes EraseRemoved, which erases everything that came after, archived or not, Always, Expect(LogVersion) and WithOperationID.
// Errors: ErrSessionNotFound, ErrEventNotFound, ErrVersionMismatch, ErrHistoryUnknown, ErrOperationConflict.
func (s *SessionHandle) Rewind(ctx context.Context, to Point, opts ...RewindOption) (*pb.RewindSessionResponse, error) {
	given := settingsOf(opts, RewindOption.forRewind)
	request := &pb.RewindSessionRequest{
		Session: s.ref, Mode: given.mode, ExpectedLogVersion: given.expectedLogVersion(), OperationId: given.operation(),
		Always: given.always,
	}
	setPoint(request, to)
	if given.err != nil {
		return nil, given.err
	}
	return s.client.raw.Events.RewindSession(ctx, request)
}

type rewindOption func(*settings)

func (o rewindOption) forRewind(s *settings) { o(s) }

// Always makes a rewind a change also if the session is at the point already: its versions grow.
func Always() RewindOption {
	return rewindOption(func(s *settings) { s.always = true })
}

// OfInvocations erases the events of these invocations, at most 64, in place of events by id.
func OfInvocations(ids ...string) EraseEventsOption {
	return invocationOption(func(s *settings) { s.invocationIDs = append(s.invocationIDs, ids...) })
}

// EraseEvents erases the content of at most 1,000 events, active or archived, in all their versions; tombstones stay, and the
// response has a receipt. Give the ids, or nil and either OfInvocations or WithBranch: then the first 1,000 of these events are
// erased; while the response has More, call again. It also takes Expect(LogVersion) and WithOperationID, and requires the role
// admin. Errors: ErrSessionNotFound, ErrEventNotFound, ErrVersionMismatch, ErrOperationConflict.
func (s *SessionHandle) EraseEvents(ctx context.Context, ids []string, opts ...EraseEventsOption) (*pb.EraseEventsResponse, error) {
	given := settingsOf(opts, EraseEventsOption.forEraseEvents)
	request := &pb.EraseEventsRequest{
		Session: s.ref, EventIds: ids, InvocationIds: given.invocationIDs, Branch: given.branch,
		ExpectedLogVersion: given.expectedLogVersion(), OperationId: given.operation(),
	}
	if given.err != nil {
		return nil, given.err
	}
	return s.client.raw.Events.EraseEvents(ctx, request)
}

// ReplaceSuffix replaces the newest events of the window, if their ids are exactly the expected ones, oldest first; otherwise
// nothing changes. Without expected ids the events are appended. An event may have the id of a removed one. It takes WithBranch,
// EraseRemoved and WithOperationID. Errors: ErrSessionNotFound, ErrVersionMismatch for another suffix, ErrEventIDConflict,
// ErrOperationConflict, ErrEventTooLarge, ErrBatchTooLarge.
func (s *SessionHandle) ReplaceSuffix(
	ctx context.Context, expected []string, events []*Event, opts ...SuffixOption,
) (*pb.ReplaceSuffixResponse, error) {
	given := settingsOf(opts, SuffixOption.forSuffix)
	return s.client.raw.Events.ReplaceSuffix(ctx, &pb.ReplaceSuffixRequest{
		Session: s.ref, ExpectedEventIds: expected, Events: WithIDs(events), Branch: given.exactBranch(), Mode: given.mode,
		OperationId: given.operation(),
	})
}

// exactBranch returns the branch of a removal; nil for all branches.
func (s *settings) exactBranch() *string {
	if !s.hasBranch {
		return nil
	}
	return &s.branch
}

// operation returns the operation id of a removal or a fork.
func (s *settings) operation() string { return cmp.Or(s.operationID, NewEventID()) }

// expectedLogVersion returns the precondition of a removal.
func (s *settings) expectedLogVersion() *int64 {
	switch expected := s.expect.(type) {
	case nil:
	case LogVersion:
		version := int64(expected)
		return &version
	default:
		s.fail("a removal expects a LogVersion")
	}
	return nil
}

// RunRetention archives and deletes sessions that retention policies select; a dry run changes nothing. Repeat it
// with the NextRunToken of the response, while there is one. It needs the role admin, and is not repeated by itself. Errors:
// ErrRetentionNotConfigured, ErrArchiveFailed, ErrInvalidField.
func (c *Client) RunRetention(ctx context.Context, request *pb.RunRetentionRequest) (*pb.RunRetentionResponse, error) {
	return c.raw.Server.RunRetention(ctx, request)
}

// RetentionReceipts iterates over the receipts of sessions that retention deleted, newest first, page by page like
// SessionHandle.Events. It needs the role admin. Errors: ErrRetentionNotConfigured, ErrArchiveFailed.
func (c *Client) RetentionReceipts(
	ctx context.Context, request *pb.ListRetentionReceiptsRequest,
) iter.Seq2[*pb.RetentionReceipt, error] {
	own := proto.CloneOf(request)
	return pages(ctx, own, nil, c.raw.Server.ListRetentionReceipts, (*pb.ListRetentionReceiptsResponse).GetReceipts)
}

// RetentionReceiptsPage returns one page of RetentionReceipts.
func (c *Client) RetentionReceiptsPage(
	ctx context.Context, request *pb.ListRetentionReceiptsRequest,
) (*pb.ListRetentionReceiptsResponse, error) {
	return c.raw.Server.ListRetentionReceipts(ctx, request)
}

// Restore stores the session again from its newest archive, or that of the receipt with this id, if it is not empty. Repeated, it
// changes nothing. It needs the role admin. Errors: ErrSessionNotFound (there is no archive of it), ErrRetentionNotConfigured,
// ErrArchiveFailed.
func (s *SessionHandle) Restore(ctx context.Context, receiptID string) (*pb.RestoreSessionResponse, error) {
	return s.client.raw.Server.RestoreSession(ctx, &pb.RestoreSessionRequest{Session: s.ref, ReceiptId: receiptID})
}
