package recollect

import (
	"context"
	"iter"

	"google.golang.org/protobuf/proto"

	"github.com/recollect-dev/recollect-go/recollect/v1"
)

// Events are the session's events that match the request, all if it is nil: page after page, each fetched when it is needed and
// within a deadline of its own. The request's session is this one.
//
// An error ends the iteration; it comes with a nil event. Errors: InvalidField, AmbiguousSession. An unknown session has none.
func (s *Session) Events(ctx context.Context, request *recollectv1.ListEventsRequest) iter.Seq2[*Event, error] {
	own := copyOrNew(request)
	own.Session = s.ref
	return pages(func(token string) ([]*Event, string, error) {
		own.PageToken = token
		page, err := s.client.Events.ListEvents(ctx, own)
		return page.GetEvents(), page.GetNextPageToken(), err
	})
}

// Compactions are the session's compactions, newest first, page after page like Events. Errors: SessionNotFound.
func (s *Session) Compactions(
	ctx context.Context, request *recollectv1.ListCompactionsRequest,
) iter.Seq2[*recollectv1.Compaction, error] {
	own := copyOrNew(request)
	own.Session = s.ref
	return pages(func(token string) ([]*recollectv1.Compaction, string, error) {
		own.PageToken = token
		page, err := s.client.Compaction.ListCompactions(ctx, own)
		return page.GetCompactions(), page.GetNextPageToken(), err
	})
}

// Search are the events of this session whose text holds the request's query, oldest first, page after page like Events.
func (s *Session) Search(ctx context.Context, request *recollectv1.SearchEventsRequest) iter.Seq2[*recollectv1.SearchHit, error] {
	own := copyOrNew(request)
	own.Scope = &recollectv1.SearchEventsRequest_Session{Session: s.ref}
	return s.client.Search(ctx, own)
}

// Search are the events whose text holds the request's query, oldest first, archived ones included, page after page like Events.
// It looks where the request's scope says, by default in all sessions of the client's user and app. Errors: SessionNotFound and
// AmbiguousSession of a session that is named, InvalidField.
func (c *Client) Search(ctx context.Context, request *recollectv1.SearchEventsRequest) iter.Seq2[*recollectv1.SearchHit, error] {
	own := copyOrNew(request)
	if own.Scope == nil {
		user := &recollectv1.UserScope{App: c.anyOr(c.app), UserId: c.userID}
		own.Scope = &recollectv1.SearchEventsRequest_User{User: user}
	}
	return pages(func(token string) ([]*recollectv1.SearchHit, string, error) {
		own.PageToken = token
		page, err := c.Recall.SearchEvents(ctx, own)
		return page.GetHits(), page.GetNextPageToken(), err
	})
}

// ListSessions are the sessions that the request names, newest first, page after page like Session.Events; of a nil request those
// of the client's user and app.
func (c *Client) ListSessions(
	ctx context.Context, request *recollectv1.ListSessionsRequest,
) iter.Seq2[*recollectv1.Session, error] {
	own := copyOrNew(request)
	if request == nil {
		own.App, own.UserId = c.anyOr(c.app), c.userID
	}
	return pages(func(token string) ([]*recollectv1.Session, string, error) {
		own.PageToken = token
		page, err := c.Sessions.ListSessions(ctx, own)
		return page.GetSessions(), page.GetNextPageToken(), err
	})
}

// anyOr is the app; nil, which means any, for none.
func (c *Client) anyOr(app string) *string {
	if app == "" {
		return nil
	}
	return &app
}

type message[T any] interface {
	*T
	proto.Message
}

func copyOrNew[T any, M message[T]](request M) M {
	if request == nil {
		return M(new(T))
	}
	return proto.CloneOf(request)
}

// pages yields what fetch finds, beginning with the page of an empty token. Ranging anew begins anew.
func pages[T any](fetch func(token string) ([]*T, string, error)) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for token, more := "", true; more; more = token != "" {
			items, next, err := fetch(token)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			token = next
		}
	}
}
