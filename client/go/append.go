package recollect

import (
	"context"
	"errors"
	"fmt"

	"github.com/recollect-dev/recollect-go/recollect/v1"
)

var errTwoPreconditions = errors.New("recollect: give at most one of ExpectLogVersion and ExpectLastEventID")

// AppendOption says how events are appended.
type AppendOption func(*recollectv1.AppendEventsRequest) error

// Create makes the session, in the same commit, if it does not exist.
func Create() AppendOption {
	return CreateWith(&recollectv1.CreateIfMissing{})
}

// CreateWith makes the session if it does not exist, with this expiry, metadata and labels.
func CreateWith(how *recollectv1.CreateIfMissing) AppendOption {
	return func(request *recollectv1.AppendEventsRequest) error {
		request.CreateIfMissing = how
		return nil
	}
}

// IgnoreExisting takes events whose id is stored already for appended, whatever their content.
func IgnoreExisting() AppendOption {
	return func(request *recollectv1.AppendEventsRequest) error {
		request.IfExists = recollectv1.IfExists_IF_EXISTS_IGNORE
		return nil
	}
}

// ExpectLogVersion appends only if the log is at this version, the one that you last saw; else VersionMismatch.
func ExpectLogVersion(version int64) AppendOption {
	return func(request *recollectv1.AppendEventsRequest) error {
		if request.Precondition != nil {
			return errTwoPreconditions
		}
		request.Precondition = &recollectv1.AppendEventsRequest_ExpectedLogVersion{ExpectedLogVersion: version}
		return nil
	}
}

// ExpectLastEventID appends only if this is the id of the log's last event, "" of an empty log's; else VersionMismatch.
func ExpectLastEventID(id string) AppendOption {
	return func(request *recollectv1.AppendEventsRequest) error {
		if request.Precondition != nil {
			return errTwoPreconditions
		}
		request.Precondition = &recollectv1.AppendEventsRequest_ExpectedLastEventId{ExpectedLastEventId: id}
		return nil
	}
}

// Append appends events, all or none; when it returns they are on durable storage.
//
// Events without an id get one first, in a copy, so that the client's own repetitions store nothing twice; to retry across
// errors yourself, append the same WithIDs again. Errors: SessionNotFound, VersionMismatch, EventIDConflict, EventTooLarge,
// BatchTooLarge, and those of every call.
func (s *Session) Append(ctx context.Context, events []*Event, opts ...AppendOption) (*recollectv1.AppendEventsResponse, error) {
	request, err := s.appendRequest(events, opts)
	if err != nil {
		return nil, err
	}
	return s.client.Events.AppendEvents(ctx, request)
}

func (s *Session) appendRequest(events []*Event, opts []AppendOption) (*recollectv1.AppendEventsRequest, error) {
	for i, event := range events {
		if event == nil {
			return nil, fmt.Errorf("recollect: events[%d] is nil", i)
		}
	}
	request := &recollectv1.AppendEventsRequest{Session: s.ref, Events: WithIDs(events)}
	for _, option := range opts {
		if err := option(request); err != nil {
			return nil, err
		}
	}
	return request, nil
}
