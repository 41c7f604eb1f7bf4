package threadkeep

import (
	"context"
	"errors"
	"iter"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

// GetContext returns the context of an agent: the SYSTEM event, the summaries, then whole turns of the active window. The
// provider, at most one, narrows it; by default it is that of WithMemory, else the window within the size of the session or the
// server. An unknown session returns an empty context. Errors: ErrInvalidField, ErrAmbiguousSession.
func (s *SessionHandle) GetContext(ctx context.Context, memory ...MemoryProvider) (*pb.GetContextResponse, error) {
	provider := s.memory
	switch len(memory) {
	case 0:
	case 1:
		provider = memory[0]
	default:
		return nil, errors.New("threadkeep: give GetContext at most one MemoryProvider")
	}
	return s.client.raw.Events.GetContext(ctx, &pb.GetContextRequest{Session: s.ref, Spec: provider.spec})
}

// Moment is a moment of a session: directly after the change to a LogVersion, or after the event with a Seq was stored.
type Moment interface{ moment() }

// Seq is the seq of an event.
type Seq int64

func (Seq) moment()        {}
func (LogVersion) moment() {}

// AsOf reads as of a moment: the answer is the one that was given then. Errors: ErrHistoryUnknown.
func AsOf(moment Moment) EventsOption {
	return orderOption(func(s *settings) { s.asOf = moment })
}

// GetContextAsOf returns the context that GetContext with this provider returned at a moment. It never changes. Errors:
// ErrHistoryUnknown.
func (s *SessionHandle) GetContextAsOf(ctx context.Context, moment Moment, memory MemoryProvider) (*pb.GetContextResponse, error) {
	request := &pb.GetContextRequest{Session: s.ref, Spec: memory.spec}
	switch at := moment.(type) {
	case Seq:
		request.AsOf = &pb.GetContextRequest_AsOfSeq{AsOfSeq: int64(at)}
	case LogVersion:
		request.AsOf = &pb.GetContextRequest_AsOfLogVersion{AsOfLogVersion: int64(at)}
	}
	return s.client.raw.Events.GetContext(ctx, request)
}

// GetEvent returns one event by its id. Errors: ErrSessionNotFound, ErrEventNotFound.
func (s *SessionHandle) GetEvent(ctx context.Context, id string) (*Event, error) {
	response, err := s.client.raw.Events.GetEvent(ctx, &pb.GetEventRequest{Session: s.ref, EventId: id})
	return response.GetEvent(), err
}

type (
	orderOption  func(*settings)
	newestOption func(*settings)
)

func (o orderOption) forEvents(s *settings)  { o(s) }
func (o newestOption) forEvents(s *settings) { o(s) }

// NewestFirst lists events from the newest to the oldest.
func NewestFirst() interface {
	EventsOption
	LoadOption
} {
	return newestOption(func(s *settings) { s.order = pb.SortOrder_SORT_ORDER_DESCENDING })
}

func (s *SessionHandle) eventsRequest(opts []EventsOption) (*pb.ListEventsRequest, error) {
	given := settingsOf(opts, EventsOption.forEvents)
	request := &pb.ListEventsRequest{
		Session: s.ref, Filter: given.filter, Order: given.order, PageSize: given.pageSize, PageToken: given.pageToken,
	}
	switch at := given.asOf.(type) {
	case Seq:
		request.AsOf = &pb.ListEventsRequest_AsOfSeq{AsOfSeq: int64(at)}
	case LogVersion:
		request.AsOf = &pb.ListEventsRequest_AsOfLogVersion{AsOfLogVersion: int64(at)}
	}
	return request, given.err
}

// Events iterates over the matching events of the session, page by page. Each page is fetched when needed, with its own
// deadline.
//
//	for event, err := range trip.Events(ctx, threadkeep.WithFilter(threadkeep.Filter{LastN: 20})) { ... }
//
// An error ends the iteration and comes with a nil event. An unknown session has no events. Errors: ErrInvalidField,
// ErrAmbiguousSession.
func (s *SessionHandle) Events(ctx context.Context, opts ...EventsOption) iter.Seq2[*Event, error] {
	request, err := s.eventsRequest(opts)
	return pages(ctx, request, err, s.client.raw.Events.ListEvents, (*pb.ListEventsResponse).GetEvents)
}

// EventsPage returns one page of Events with its NextPageToken, and the log version at the time of the read.
func (s *SessionHandle) EventsPage(ctx context.Context, opts ...EventsOption) (*pb.ListEventsResponse, error) {
	request, err := s.eventsRequest(opts)
	if err != nil {
		return nil, err
	}
	return s.client.raw.Events.ListEvents(ctx, request)
}

// CallTool runs a recall tool for the session and its user; see Client.Tools. The arguments are JSON text, as the model wrote
// them, or a value for json.Marshal; nil is an empty object. Errors of the model are a result with IsError. Errors:
// ErrMemoryNotConfigured, ErrSessionNotFound.
func (s *SessionHandle) CallTool(ctx context.Context, name string, arguments any) (*pb.CallToolResponse, error) {
	text := ""
	if arguments != nil {
		var err error
		if text, err = jsonText(arguments); err != nil {
			return nil, err
		}
	}
	return s.client.raw.Tools.CallTool(ctx, &pb.CallToolRequest{Session: s.ref, Name: name, ArgumentsJson: text})
}

// Tools returns the recall tools of the server. Give those that are Declared to your model, and its calls to
// SessionHandle.CallTool.
func (c *Client) Tools(ctx context.Context) ([]*pb.ToolDefinition, error) {
	response, err := c.raw.Tools.ListTools(ctx, &pb.ListToolsRequest{})
	return response.GetTools(), err
}

// Info returns version, engine, durability, limits and capabilities of the server. For its totals, which cost a scan, use Raw.
func (c *Client) Info(ctx context.Context) (*pb.GetServerInfoResponse, error) {
	return c.raw.Server.GetServerInfo(ctx, &pb.GetServerInfoRequest{})
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

// pages iterates over a list, starting with the page of the request. Each range starts over. An error of the options is its
// only item.
func pages[Q proto.Message, P interface{ GetNextPageToken() string }, T any](
	ctx context.Context, request Q, invalid error, list func(context.Context, Q, ...grpc.CallOption) (P, error), items func(P) []*T,
) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		if invalid != nil {
			yield(nil, invalid)
			return
		}
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

type (
	searchOption func(*settings)
	rankOption   func(*settings)
	topOption    func(*settings)
)

func (o searchOption) forSearch(s *settings)     { o(s) }
func (o rankOption) forSearch(s *settings)       { o(s) }
func (o rankOption) forMemorySearch(s *settings) { o(s) }
func (o topOption) forMemorySearch(s *settings)  { o(s) }

// Ranking is an option of searches of events and of memories.
type Ranking interface {
	SearchOption
	MemorySearchOption
}

func mode(mode pb.SearchMode) Ranking {
	return rankOption(func(s *settings) { s.search.Mode = mode })
}

// Substring searches for the query literally, after case folding. Without a mode, the server chooses.
func Substring() Ranking { return mode(pb.SearchMode_SEARCH_MODE_SUBSTRING) }

// Ranked searches by words, best first.
func Ranked() Ranking { return mode(pb.SearchMode_SEARCH_MODE_RANKED) }

// Semantic searches by meaning; it needs an embedder.
func Semantic() Ranking { return mode(pb.SearchMode_SEARCH_MODE_SEMANTIC) }

// Hybrid combines Ranked and Semantic.
func Hybrid() Ranking { return mode(pb.SearchMode_SEARCH_MODE_HYBRID) }

// WithRecency boosts newer hits: at half the age halfLife, the boost is half of weight, at most 100; 0 is 1.
func WithRecency(halfLife time.Duration, weight float64) Ranking {
	return rankOption(func(s *settings) { s.search.Recency = &pb.Recency{HalfLife: durationpb.New(halfLife), Weight: weight} })
}

// WithMinScore sets the minimum score of a hit, from 0 to 1.
func WithMinScore(score float64) Ranking {
	return rankOption(func(s *settings) { s.search.MinScore = &score })
}

// WithReferenceTime sets the time to which "yesterday" in the query refers, and from which recency is measured. Default: now.
func WithReferenceTime(at time.Time) Ranking {
	return rankOption(func(s *settings) { s.search.ReferenceTime = timestamppb.New(at) })
}

// WithFields searches these fields only. Default: all; for Substring the text.
func WithFields(fields ...pb.SearchField) SearchOption {
	return searchOption(func(s *settings) { s.search.Fields = fields })
}

// WithNeighbors returns n events before and after each hit. At most 10.
func WithNeighbors(n int) SearchOption {
	return searchOption(func(s *settings) { s.search.Neighbors = int32(n) })
}

// ByTurn returns one hit per turn: its best event.
func ByTurn() SearchOption {
	return searchOption(func(s *settings) { s.search.Grouping = pb.HitGrouping_HIT_GROUPING_TURN })
}

// BySession returns one hit per session: its best event.
func BySession() SearchOption {
	return searchOption(func(s *settings) { s.search.Grouping = pb.HitGrouping_HIT_GROUPING_SESSION })
}

// IncludeSynthetic also searches synthetic events, such as summaries, in the modes that leave them out.
func IncludeSynthetic() SearchOption {
	return searchOption(func(s *settings) { s.search.IncludeSynthetic = true })
}

// Search iterates over the events of the client's user and app that match the query, archived ones included, page by page like
// SessionHandle.Events. Ranked hits come best first; take as many as you need. AnyUser requires one app. Errors:
// ErrInvalidField, ErrEmbedderNotConfigured, ErrEmbedderFailed.
func (c *Client) Search(ctx context.Context, query string, opts ...SearchOption) iter.Seq2[*pb.SearchHit, error] {
	request, err := c.searchRequest(nil, query, opts)
	return pages(ctx, request, err, c.raw.Searches.SearchEvents, (*pb.SearchEventsResponse).GetHits)
}

// SearchPage returns one page of Search, with the mode that was used.
func (c *Client) SearchPage(ctx context.Context, query string, opts ...SearchOption) (*pb.SearchEventsResponse, error) {
	request, err := c.searchRequest(nil, query, opts)
	if err != nil {
		return nil, err
	}
	return c.raw.Searches.SearchEvents(ctx, request)
}

// Search searches the events of the session like Client.Search; options of scope have no effect. Errors: ErrSessionNotFound,
// ErrAmbiguousSession.
func (s *SessionHandle) Search(ctx context.Context, query string, opts ...SearchOption) iter.Seq2[*pb.SearchHit, error] {
	request, err := s.client.searchRequest(s.ref, query, opts)
	return pages(ctx, request, err, s.client.raw.Searches.SearchEvents, (*pb.SearchEventsResponse).GetHits)
}

// SearchPage returns one page of Search, with the mode that was used.
func (s *SessionHandle) SearchPage(ctx context.Context, query string, opts ...SearchOption) (*pb.SearchEventsResponse, error) {
	request, err := s.client.searchRequest(s.ref, query, opts)
	if err != nil {
		return nil, err
	}
	return s.client.raw.Searches.SearchEvents(ctx, request)
}

func (c *Client) searchRequest(session *SessionRef, query string, opts []SearchOption) (*pb.SearchEventsRequest, error) {
	given := settingsOf(opts, SearchOption.forSearch)
	request := &given.search
	request.Query, request.Filter = query, given.filter
	request.PageSize, request.PageToken = given.pageSize, given.pageToken
	if session != nil {
		request.Scope = &pb.SearchEventsRequest_Session{Session: session}
	} else {
		c.searchScope(given)
	}
	return request, given.err
}

// searchScope sets the scope of a search. Any user is the scope of an app.
func (c *Client) searchScope(s *settings) {
	user, app := c.userOf(s), c.appOf(s)
	switch {
	case user != "" || !s.anyUser:
		s.search.Scope = &pb.SearchEventsRequest_User{User: &pb.UserScope{UserId: user, App: app}}
	case app == nil:
		s.fail("a search of any user requires one app: give WithApp")
	default:
		s.search.Scope = &pb.SearchEventsRequest_App{App: &pb.AppScope{App: *app}}
	}
}

// UserEventsOption configures Client.UserEvents and its pages.
type UserEventsOption interface{ forUserEvents(*settings) }

func (o scopeOption) forUserEvents(s *settings)  { o(s) }
func (o pageOption) forUserEvents(s *settings)   { o(s) }
func (o filterOption) forUserEvents(s *settings) { o(s) }

func (c *Client) userEventsRequest(opts []UserEventsOption) (*pb.ListUserEventsRequest, error) {
	given := settingsOf(opts, UserEventsOption.forUserEvents)
	return &pb.ListUserEventsRequest{
		App: c.appOf(given), UserId: c.userOf(given), Filter: given.filter, PageSize: given.pageSize, PageToken: given.pageToken,
	}, given.err
}

// UserEvents iterates over the events of the client's user, or of WithUser, in all sessions of its app: session by session in the
// order of their creation, and in each in window order. A filter has no window. Page by page like SessionHandle.Events.
func (c *Client) UserEvents(ctx context.Context, opts ...UserEventsOption) iter.Seq2[*pb.UserEvent, error] {
	request, err := c.userEventsRequest(opts)
	return pages(ctx, request, err, c.raw.Events.ListUserEvents, (*pb.ListUserEventsResponse).GetEvents)
}

// UserEventsPage returns one page of UserEvents, which may be empty and not be the last.
func (c *Client) UserEventsPage(ctx context.Context, opts ...UserEventsOption) (*pb.ListUserEventsResponse, error) {
	request, err := c.userEventsRequest(opts)
	if err != nil {
		return nil, err
	}
	return c.raw.Events.ListUserEvents(ctx, request)
}

// AuditOption configures Client.AuditRecords and its pages.
type AuditOption interface{ forAudit(*settings) }

type auditOption func(*settings)

func (o auditOption) forAudit(s *settings) { o(s) }
func (o pageOption) forAudit(s *settings)  { o(s) }

// OfMethod selects calls of a method: "threadkeep.v1.SessionService/DeleteSession", or "DeleteSession".
func OfMethod(name string) AuditOption {
	return auditOption(func(s *settings) { s.audit.Method = name })
}

// ByCaller selects calls whose credential is bound to this user; "" is credentials without one.
func ByCaller(userID string) AuditOption {
	return auditOption(func(s *settings) { s.audit.CallerUserId = &userID })
}

// OfSession selects calls whose request named the session with this id.
func OfSession(sessionID string) AuditOption {
	return auditOption(func(s *settings) { s.audit.SessionId = sessionID })
}

// WithOutcome selects calls with this outcome: "OK", or the reason of an error.
func WithOutcome(outcome string) AuditOption {
	return auditOption(func(s *settings) { s.audit.Outcome = outcome })
}

// BegunBetween selects calls that began at or after the first time and before the second; a zero time is no bound.
func BegunBetween(from, to time.Time) AuditOption {
	return auditOption(func(s *settings) { s.audit.FromTime, s.audit.ToTime = timestamp(from), timestamp(to) })
}

func auditRequest(opts []AuditOption) *pb.ListAuditRecordsRequest {
	given := settingsOf(opts, AuditOption.forAudit)
	request := &given.audit
	request.PageSize, request.PageToken = given.pageSize, given.pageToken
	return request
}

// AuditRecords iterates over the records of the audit log of the server that answers, newest first, page by page like
// SessionHandle.Events. It needs the role admin. Errors: ErrAuditLogUnavailable, ErrInvalidPageToken, ErrRateLimited.
func (c *Client) AuditRecords(ctx context.Context, opts ...AuditOption) iter.Seq2[*pb.AuditRecord, error] {
	return pages(ctx, auditRequest(opts), nil, c.raw.Server.ListAuditRecords, (*pb.ListAuditRecordsResponse).GetRecords)
}

// AuditRecordsPage returns one page of AuditRecords, which may be empty and not be the last.
func (c *Client) AuditRecordsPage(ctx context.Context, opts ...AuditOption) (*pb.ListAuditRecordsResponse, error) {
	return c.raw.Server.ListAuditRecords(ctx, auditRequest(opts))
}
