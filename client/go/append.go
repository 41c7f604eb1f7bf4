package threadkeep

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"time"

	"github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

// AppendOption says how events are appended: it sets what of the request the functions below do, or another field.
type AppendOption func(*threadkeepv1.AppendEventsRequest)

// Create makes the session, in the same commit, if it does not exist.
func Create() AppendOption {
	return func(r *threadkeepv1.AppendEventsRequest) { r.CreateIfMissing = &threadkeepv1.CreateIfMissing{} }
}

// IgnoreExisting takes events whose id is stored already for appended, whatever their content.
func IgnoreExisting() AppendOption {
	return func(r *threadkeepv1.AppendEventsRequest) { r.IfExists = threadkeepv1.IfExists_IF_EXISTS_IGNORE }
}

// ExpectLogVersion appends only if the log is at this version, the one that you last saw; else VersionMismatch.
func ExpectLogVersion(version int64) AppendOption {
	return func(r *threadkeepv1.AppendEventsRequest) {
		r.Precondition = &threadkeepv1.AppendEventsRequest_ExpectedLogVersion{ExpectedLogVersion: version}
	}
}

// ExpectLastEventID appends only if this is the id of the log's last event, "" of an empty log's; else VersionMismatch.
func ExpectLastEventID(id string) AppendOption {
	return func(r *threadkeepv1.AppendEventsRequest) {
		r.Precondition = &threadkeepv1.AppendEventsRequest_ExpectedLastEventId{ExpectedLastEventId: id}
	}
}

// Append appends events, all or none; when it returns they are on durable storage.
//
// Events without an id get one first, in a copy, so that the client's own repetitions store nothing twice; to retry across errors
// yourself, give each a NewEventID and append the same again. Errors: SessionNotFound, VersionMismatch, EventIDConflict,
// EventTooLarge, BatchTooLarge, and those of every call.
func (s *Session) Append(ctx context.Context, events []*Event, opts ...AppendOption) (*threadkeepv1.AppendEventsResponse, error) {
	request := &threadkeepv1.AppendEventsRequest{Session: s.ref, Events: withIDs(events)}
	for _, option := range opts {
		before := request.Precondition
		option(request)
		if before != nil && request.Precondition != before {
			return nil, errors.New("threadkeep: give at most one of ExpectLogVersion and ExpectLastEventID")
		}
	}
	return s.client.Events.AppendEvents(ctx, request)
}

// withIDs is the events, each with an id: copies of those that had none.
func withIDs(events []*Event) []*Event {
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

// NewEventID makes a UUIDv7: ids sort by the time they were made, to a quarter of a microsecond.
func NewEventID() string {
	return eventID(time.Now())
}

func eventID(now time.Time) string {
	nanos := uint64(now.UnixNano())
	millis, rest := nanos/1_000_000, nanos%1_000_000
	var id [16]byte
	_, _ = rand.Read(id[8:]) // it never fails: without entropy the program ends
	binary.BigEndian.PutUint64(id[:8], millis<<16|7<<12|rest*4096/1_000_000)
	id[8] = id[8]&0x3f | 0x80
	text := hex.EncodeToString(id[:])
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}
