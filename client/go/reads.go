package threadkeep

import (
	"context"
	"iter"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

// Context is what an agent should see now: the SYSTEM event, the summaries, then whole turns of the active window. spec narrows
// it; nil is the window within the session's or the server's size. An unknown session gives an empty context. Errors:
// InvalidField, AmbiguousSession.
func (s *Session) Context(ctx context.Context, spec *threadkeepv1.ContextSpec) (*threadkeepv1.GetContextResponse, error) {
	return s.client.Events.GetContext(ctx, &threadkeepv1.GetContextRequest{Session: s.ref, Spec: spec})
}

// Events are the session's events that match the request, all if it is nil: page after page, each fetched when it is needed and
// within a deadline of its own. The request's session is this one.
//
// An error ends the iteration; it comes with a nil event. Errors: InvalidField, AmbiguousSession. An unknown session has none.
func (s *Session) Events(ctx context.Context, request *threadkeepv1.ListEventsRequest) iter.Seq2[*Event, error] {
	own := copyOf(request)
	own.Session = s.ref
	return pages(ctx, own, s.client.Events.ListEvents, (*threadkeepv1.ListEventsResponse).GetEvents)
}

// Compactions are the session's compactions, newest first, page after page like Events. Errors: SessionNotFound.
func (s *Session) Compactions(
	ctx context.Context, request *threadkeepv1.ListCompactionsRequest,
) iter.Seq2[*threadkeepv1.Compaction, error] {
	own := copyOf(request)
	own.Session = s.ref
	return pages(ctx, own, s.client.Compaction.ListCompactions, (*threadkeepv1.ListCompactionsResponse).GetCompactions)
}

// Search are the events that answer the request's query, archived ones included, page after page like Events. The request's mode
// says how it is answered; one that is not set is the server's choice. Of what is ranked take as many as are of use.
//
// It looks where the request's scope says. Without one, and where that leaves app or user empty, these are the client's, unless
// AllUsers or AllApps is given; not both, for a search is of one user or of one app. Errors: SessionNotFound and AmbiguousSession
// of a session that is named, InvalidField, EmbedderNotConfigured, EmbedderFailed.
func (c *Client) Search(
	ctx context.Context, request *threadkeepv1.SearchEventsRequest, opts ...ScopeOption,
) iter.Seq2[*threadkeepv1.SearchHit, error] {
	own := copyOf(request)
	reachOf(c, opts).search(own)
	return pages(ctx, own, c.Searches.SearchEvents, (*threadkeepv1.SearchEventsResponse).GetHits)
}

// ListSessions are the sessions that match the request, newest first, page after page like Session.Events. An app or user that it
// leaves empty is the client's, unless AllApps or AllUsers is given.
func (c *Client) ListSessions(
	ctx context.Context, request *threadkeepv1.ListSessionsRequest, opts ...ScopeOption,
) iter.Seq2[*threadkeepv1.Session, error] {
	own, whose := copyOf(request), reachOf(c, opts)
	own.App, own.UserId = whose.app(own.App), whose.user(own.UserId)
	return pages(ctx, own, c.Sessions.ListSessions, (*threadkeepv1.ListSessionsResponse).GetSessions)
}

// DeleteExpiredSessions deletes sessions that have expired, by the request's time or by now, at most 1,000; the response says
// whether more remain. An app or user that the request leaves empty is the client's, unless AllApps or AllUsers is given.
func (c *Client) DeleteExpiredSessions(
	ctx context.Context, request *threadkeepv1.DeleteExpiredSessionsRequest, opts ...ScopeOption,
) (*threadkeepv1.DeleteExpiredSessionsResponse, error) {
	own, whose := copyOf(request), reachOf(c, opts)
	own.App, own.UserId = whose.app(own.App), whose.user(own.UserId)
	return c.Sessions.DeleteExpiredSessions(ctx, own)
}

// copyOf is a copy of the message, empty if that is nil.
func copyOf[M proto.Message](message M) M {
	own := message.ProtoReflect().New().Interface().(M)
	proto.Merge(own, message)
	return own
}

func setToken(request proto.Message, field protoreflect.Name, token string) {
	message := request.ProtoReflect()
	message.Set(message.Descriptor().Fields().ByName(field), protoreflect.ValueOfString(token))
}

// pages yields what list finds, beginning with the page that the request names. Ranging anew begins anew.
func pages[Q proto.Message, P interface{ GetNextPageToken() string }, T any](
	ctx context.Context, request Q, list func(context.Context, Q, ...grpc.CallOption) (P, error), items func(P) []*T,
) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for own := proto.CloneOf(request); ; {
			page, err := list(ctx, own)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, item := range items(page) {
				if !yield(item, nil) {
					return
				}
			}
			if page.GetNextPageToken() == "" {
				return
			}
			setToken(own, "page_token", page.GetNextPageToken())
		}
	}
}
