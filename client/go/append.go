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

// AppendOption configures an append. It sets a field of the request.
type AppendOption func(*threadkeepv1.AppendEventsRequest)

// Create creates the session in the same commit if it does not exist.
func Create() AppendOption {
	return func(r *threadkeepv1.AppendEventsRequest) { r.CreateIfMissing = &threadkeepv1.CreateIfMissing{} }
}

// IgnoreExisting accepts event ids that are already stored, regardless of the content.
func IgnoreExisting() AppendOption {
	return func(r *threadkeepv1.AppendEventsRequest) { r.IfExists = threadkeepv1.IfExists_IF_EXISTS_IGNORE }
}

// ExpectLogVersion requires the log to be at this version. Otherwise the append fails with VersionMismatch.
func ExpectLogVersion(version int64) AppendOption {
	return func(r *threadkeepv1.AppendEventsRequest) {
		r.Precondition = &threadkeepv1.AppendEventsRequest_ExpectedLogVersion{ExpectedLogVersion: version}
	}
}

// ExpectLastEventID requires the last event to have this id, "" for an empty log. Otherwise the append fails with
// VersionMismatch.
func ExpectLastEventID(id string) AppendOption {
	return func(r *threadkeepv1.AppendEventsRequest) {
		r.Precondition = &threadkeepv1.AppendEventsRequest_ExpectedLastEventId{ExpectedLastEventId: id}
	}
}

// Append appends events, all or none. When it returns, they are on durable storage.
//
// Events without an id get one in a copy before they are sent, so that the client's retries store nothing twice. To retry after
// errors yourself, set ids from NewEventID and append the same events again. Errors: SessionNotFound, VersionMismatch,
// EventIDConflict, EventTooLarge, BatchTooLarge, and those of every call.
func (s *Session) Append(ctx context.Context, events []*Event, opts ...AppendOption) (*threadkeepv1.AppendEventsResponse, error) {
	request := &threadkeepv1.AppendEventsRequest{Session: s.ref, Events: withIDs(events)}
	for _, option := range opts {
		before := request.Precondition
		option(request)
		if before != nil && request.Precondition != before {
			return nil, errors.New("threadkeep: set at most one of ExpectLogVersion and ExpectLastEventID")
		}
	}
	return s.client.Events.AppendEvents(ctx, request)
}

// withIDs returns the events with ids; events without one are copied.
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
