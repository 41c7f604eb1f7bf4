package threadkeep

import (
	"context"
	"iter"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

// Context returns the context of an agent: the SYSTEM event, the summaries, then whole turns of the active window. spec narrows
// it; nil means the window within the size of the session or the server. An unknown session returns an empty context. Errors:
// InvalidField, AmbiguousSession.
func (s *Session) Context(ctx context.Context, spec *threadkeepv1.ContextSpec) (*threadkeepv1.GetContextResponse, error) {
	return s.client.Events.GetContext(ctx, &threadkeepv1.GetContextRequest{Session: s.ref, Spec: spec})
}

// Events iterates over the matching events of the session, page by page. A nil request matches all. Each page is fetched when
// needed, with its own deadline. The handle's session replaces that of the request.
//
// An error ends the iteration and comes with a nil event. An unknown session has no events. Errors: InvalidField,
// AmbiguousSession.
func (s *Session) Events(ctx context.Context, request *threadkeepv1.ListEventsRequest) iter.Seq2[*Event, error] {
	own := copyOf(request)
	own.Session = s.ref
	return pages(ctx, own, s.client.Events.ListEvents, (*threadkeepv1.ListEventsResponse).GetEvents)
}

// Compactions iterates over the session's compactions, newest first, page by page like Events. Errors: SessionNotFound.
func (s *Session) Compactions(
	ctx context.Context, request *threadkeepv1.ListCompactionsRequest,
) iter.Seq2[*threadkeepv1.Compaction, error] {
	own := copyOf(request)
	own.Session = s.ref
	return pages(ctx, own, s.client.Compaction.ListCompactions, (*threadkeepv1.ListCompactionsResponse).GetCompactions)
}

// Search iterates over the events that match the query, archived ones included, page by page like Events. The mode of the
// request selects how to search; without one, the server chooses. Ranked hits come best first; take as many as you need.
//
// The scope of the request specifies where to search. App and user that it leaves empty are the client's, unless AllUsers or
// AllApps is given; not both, because a search covers one user or one app. Errors: SessionNotFound and AmbiguousSession for a
// specified session, InvalidField, EmbedderNotConfigured, EmbedderFailed.
func (c *Client) Search(
	ctx context.Context, request *threadkeepv1.SearchEventsRequest, opts ...ScopeOption,
) iter.Seq2[*threadkeepv1.SearchHit, error] {
	own := copyOf(request)
	reachOf(c, opts).search(own)
	return pages(ctx, own, c.Searches.SearchEvents, (*threadkeepv1.SearchEventsResponse).GetHits)
}

// ListSessions iterates over the matching sessions, newest first, page by page like Session.Events. An app or user that the
// request leaves empty is the client's, unless AllApps or AllUsers is given.
func (c *Client) ListSessions(
	ctx context.Context, request *threadkeepv1.ListSessionsRequest, opts ...ScopeOption,
) iter.Seq2[*threadkeepv1.Session, error] {
	own, whose := copyOf(request), reachOf(c, opts)
	own.App, own.UserId = whose.app(own.App), whose.user(own.UserId)
	return pages(ctx, own, c.Sessions.ListSessions, (*threadkeepv1.ListSessionsResponse).GetSessions)
}

// DeleteExpiredSessions deletes sessions that expired before the time of the request, by default now, at most 1,000; the
// response reports whether more remain. An app or user that the request leaves empty is the client's, unless AllApps or
// AllUsers is given.
func (c *Client) DeleteExpiredSessions(
	ctx context.Context, request *threadkeepv1.DeleteExpiredSessionsRequest, opts ...ScopeOption,
) (*threadkeepv1.DeleteExpiredSessionsResponse, error) {
	own, whose := copyOf(request), reachOf(c, opts)
	own.App, own.UserId = whose.app(own.App), whose.user(own.UserId)
	return c.Sessions.DeleteExpiredSessions(ctx, own)
}

// copyOf returns a copy of the message; an empty one for nil.
func copyOf[M proto.Message](message M) M {
	own := message.ProtoReflect().New().Interface().(M)
	proto.Merge(own, message)
	return own
}

func setToken(request proto.Message, field protoreflect.Name, token string) {
	message := request.ProtoReflect()
	message.Set(message.Descriptor().Fields().ByName(field), protoreflect.ValueOfString(token))
}

// pages iterates over a list, starting with the page of the request. Each range starts over.
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
