package main

import (
	"context"
	"iter"
	"time"

	"github.com/threadkeep/threadkeep-go"
	pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"
	"google.golang.org/protobuf/proto"
)

// The options of the SDK that say what a request says.

type scoped interface {
	GetApp() string
	GetUserId() string
}

// scopeOf returns the options of app and user; app is set only if the request has one.
func scopeOf(m scoped, hasApp bool, p object) (opts []threadkeep.Scoped) {
	if hasApp {
		opts = append(opts, threadkeep.WithApp(m.GetApp()))
	}
	if m.GetUserId() != "" {
		opts = append(opts, threadkeep.WithUser(m.GetUserId()))
	}
	if get[bool](p, "all_users") {
		opts = append(opts, threadkeep.AnyUser())
	}
	return opts
}

type paged interface {
	threadkeep.PageOption
	threadkeep.SessionsOption
	threadkeep.UsersOption
	threadkeep.AuditOption
	threadkeep.UsageOption
	threadkeep.EventsOption
	threadkeep.UserEventsOption
	threadkeep.SearchOption
	threadkeep.MemoryOption
	threadkeep.NamespacesOption
}

func pageOf(m proto.Message) paged {
	return threadkeep.WithPageSize(int(m.(interface{ GetPageSize() int32 }).GetPageSize()))
}

func usersOptions(in proto.Message) []threadkeep.UsersOption {
	r := in.(*pb.ListUsersRequest)
	opts := []threadkeep.UsersOption{pageOf(r)}
	if r.App != nil {
		opts = append(opts, threadkeep.WithApp(r.GetApp()))
	}
	return opts
}

func auditOptions(in proto.Message) []threadkeep.AuditOption {
	r := in.(*pb.ListAuditRecordsRequest)
	opts := []threadkeep.AuditOption{
		pageOf(r), threadkeep.OfMethod(r.GetMethod()), threadkeep.OfSession(r.GetSessionId()), threadkeep.WithOutcome(r.GetOutcome()),
	}
	if r.CallerUserId != nil {
		opts = append(opts, threadkeep.ByCaller(r.GetCallerUserId()))
	}
	return opts
}

func sessionsOptions(in proto.Message, p object) (opts []threadkeep.SessionsOption) {
	r := in.(*pb.ListSessionsRequest)
	for _, option := range scopeOf(r, r.App != nil, p) {
		opts = append(opts, option)
	}
	if r.GetWithTotal() {
		opts = append(opts, threadkeep.WithTotal())
	}
	if r.GetWithNewestEvent() {
		opts = append(opts, threadkeep.WithNewestEvent())
	}
	if r.GetWithState() {
		opts = append(opts, threadkeep.WithStates())
	}
	opts = append(opts, threadkeep.ForkedFrom(r.GetForkedFrom()))
	var after, before time.Time
	if r.UpdatedAfter != nil {
		after = r.UpdatedAfter.AsTime()
	}
	if r.UpdatedBefore != nil {
		before = r.UpdatedBefore.AsTime()
	}
	opts = append(opts, threadkeep.InOrder(r.GetOrderBy()), threadkeep.UpdatedBetween(after, before),
		threadkeep.WithIDPrefix(r.GetSessionIdPrefix()), threadkeep.WithOffset(int(r.GetOffset())))
	return append(opts, threadkeep.WithLabels(r.GetLabels()), pageOf(r), threadkeep.WithPageToken(r.GetPageToken()))
}

func eventsOptions(in proto.Message) []threadkeep.EventsOption {
	r := in.(*pb.ListEventsRequest)
	opts := []threadkeep.EventsOption{threadkeep.WithRawFilter(r.GetFilter()), pageOf(r), threadkeep.WithPageToken(r.GetPageToken())}
	if r.GetOrder() == pb.SortOrder_SORT_ORDER_DESCENDING {
		opts = append(opts, threadkeep.NewestFirst())
	}
	switch at := r.GetAsOf().(type) {
	case *pb.ListEventsRequest_AsOfSeq:
		opts = append(opts, threadkeep.AsOf(threadkeep.Seq(at.AsOfSeq)))
	case *pb.ListEventsRequest_AsOfLogVersion:
		opts = append(opts, threadkeep.AsOf(threadkeep.LogVersion(at.AsOfLogVersion)))
	}
	return opts
}

func memoriesOptions(in proto.Message) []threadkeep.MemoryOption {
	r := in.(*pb.ListMemoriesRequest)
	opts := []threadkeep.MemoryOption{pageOf(r), threadkeep.WithPageToken(r.GetPageToken())}
	if f := r.GetFilter(); f != nil {
		filter := threadkeep.MemoryFilter{SessionIDs: f.GetSessionIds(), Authors: f.GetAuthors(), Metadata: f.GetMetadata()}
		if f.FromTime != nil {
			filter.FromTime = f.FromTime.AsTime()
		}
		if f.ToTime != nil {
			filter.ToTime = f.ToTime.AsTime()
		}
		opts = append(opts, threadkeep.WithMemoryFilter(filter))
	}
	return opts
}

func search(ctx context.Context, client *threadkeep.Client, in proto.Message, p object) iter.Seq2[*pb.SearchHit, error] {
	r := in.(*pb.SearchEventsRequest)
	opts := searchOptions(r)
	switch scope := r.GetScope().(type) {
	case *pb.SearchEventsRequest_Session:
		session := client.SessionOf(scope.Session)
		if scope.Session.GetApp()+scope.Session.GetUserId() == "" {
			session = client.Session(scope.Session.GetSessionId())
		}
		return session.Search(ctx, r.GetQuery(), opts...)
	case *pb.SearchEventsRequest_App:
		opts = append(opts, threadkeep.WithApp(scope.App.GetApp()), threadkeep.AnyUser())
	default:
		for _, option := range scopeOf(r.GetUser(), r.GetUser() != nil && r.GetUser().App != nil, p) {
			opts = append(opts, option)
		}
	}
	return client.Search(ctx, r.GetQuery(), opts...)
}

func searchOptions(r *pb.SearchEventsRequest) []threadkeep.SearchOption {
	opts := []threadkeep.SearchOption{threadkeep.WithRawFilter(r.GetFilter()), threadkeep.WithFields(r.GetFields()...),
		threadkeep.WithNeighbors(int(r.GetNeighbors())), pageOf(r), threadkeep.WithPageToken(r.GetPageToken())}
	if mode := map[pb.SearchMode]func() threadkeep.Ranking{
		pb.SearchMode_SEARCH_MODE_SUBSTRING: threadkeep.Substring, pb.SearchMode_SEARCH_MODE_RANKED: threadkeep.Ranked,
		pb.SearchMode_SEARCH_MODE_SEMANTIC: threadkeep.Semantic, pb.SearchMode_SEARCH_MODE_HYBRID: threadkeep.Hybrid,
	}[r.GetMode()]; mode != nil {
		opts = append(opts, mode())
	}
	switch r.GetGrouping() {
	case pb.HitGrouping_HIT_GROUPING_TURN:
		opts = append(opts, threadkeep.ByTurn())
	case pb.HitGrouping_HIT_GROUPING_SESSION:
		opts = append(opts, threadkeep.BySession())
	}
	if recency := r.GetRecency(); recency != nil {
		opts = append(opts, threadkeep.WithRecency(recency.GetHalfLife().AsDuration(), recency.GetWeight()))
	}
	if r.MinScore != nil {
		opts = append(opts, threadkeep.WithMinScore(r.GetMinScore()))
	}
	if r.ReferenceTime != nil {
		opts = append(opts, threadkeep.WithReferenceTime(r.ReferenceTime.AsTime()))
	}
	if r.GetIncludeSynthetic() {
		opts = append(opts, threadkeep.IncludeSynthetic())
	}
	return opts
}

type watching interface {
	threadkeep.WatchOption
	threadkeep.WatchAllOption
}

func watchingOptions(filter *pb.EventFilter, p object) []watching {
	opts := []watching{threadkeep.WithRawFilter(filter)}
	if get[bool](p, "checkpoints") {
		opts = append(opts, threadkeep.Checkpoints())
	}
	if n, given := p["max_retries"].(float64); given {
		opts = append(opts, threadkeep.MaxRetries(int(n)))
	}
	return opts
}

func watchOptions(in proto.Message, p object) (opts []threadkeep.WatchOption) {
	r := in.(*pb.WatchSessionRequest)
	switch start := r.GetStart().(type) {
	case *pb.WatchSessionRequest_ResumeToken:
		opts = append(opts, threadkeep.From(threadkeep.Token(start.ResumeToken)))
	case *pb.WatchSessionRequest_AfterSeq:
		opts = append(opts, threadkeep.From(threadkeep.AfterSeq(start.AfterSeq)))
	}
	for _, option := range watchingOptions(r.GetFilter(), p) {
		opts = append(opts, option)
	}
	return opts
}

func watchAllOptions(in proto.Message, p object) (opts []threadkeep.WatchAllOption) {
	r := in.(*pb.WatchAllRequest)
	switch start := r.GetStart().(type) {
	case *pb.WatchAllRequest_ResumeToken:
		opts = append(opts, threadkeep.From(threadkeep.Token(start.ResumeToken)))
	case *pb.WatchAllRequest_FromBeginning:
		opts = append(opts, threadkeep.From(threadkeep.Beginning))
	}
	for _, option := range watchingOptions(r.GetFilter(), p) {
		opts = append(opts, option)
	}
	for _, option := range scopeOf(r.GetScope(), r.GetScope() != nil && r.GetScope().App != nil, p) {
		opts = append(opts, option)
	}
	return append(opts, threadkeep.WithLabels(r.GetScope().GetLabels()))
}

func build(builder string, p any) *threadkeep.Event {
	said, id, name, raw := text(p, "text"), text(p, "call_id"), text(p, "name"), text(p, "json")
	var calls []*threadkeep.Part
	for _, call := range get[[]any](p, "calls") {
		calls = append(calls, threadkeep.ToolCall(text(call, "id"), text(call, "name"), text(call, "arguments_json")))
	}
	output := threadkeep.ToolOutput{Name: name, Text: said, JSON: pick[any](raw == "", nil, raw)}
	event := map[string]*threadkeep.Event{
		"user": threadkeep.User(said), "assistant": threadkeep.Assistant(said),
		"system": threadkeep.System(said), "assistant_calls": threadkeep.Assistant(said, calls...),
		"tool_result": pick(get[bool](p, "is_error"), threadkeep.ToolError, threadkeep.ToolResult)(id, output)}[builder]
	event.Author = text(p, "author")
	return event
}
