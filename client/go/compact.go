package threadkeep

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

// Maximum number of plans of CompactWith when other compactions are committed first.
const compactionAttempts = 5

var errBlank = errors.New("threadkeep: the summary is blank; the session is unchanged")

type (
	planOption    func(*settings)
	branchOption  func(*settings)
	actorOption   func(*settings)
	compactOption func(*settings)
	dryRunOption  func(*settings)
	applyOption   func(*settings)
)

func (o planOption) forPlan(s *settings)       { o(s) }
func (o planOption) forCompact(s *settings)    { o(s) }
func (o branchOption) forPlan(s *settings)     { o(s) }
func (o branchOption) forCompact(s *settings)  { o(s) }
func (o branchOption) forApply(s *settings)    { o(s) }
func (o actorOption) forPlan(s *settings)      { o(s) }
func (o actorOption) forCompact(s *settings)   { o(s) }
func (o actorOption) forApply(s *settings)     { o(s) }
func (o compactOption) forCompact(s *settings) { o(s) }
func (o dryRunOption) forCompact(s *settings)  { o(s) }
func (o dryRunOption) forApply(s *settings)    { o(s) }
func (o applyOption) forApply(s *settings)     { o(s) }

// WithStrategy sets the strategy. Default: that of the session's policy.
func WithStrategy(strategy *pb.CompactionStrategy) interface {
	CompactOption
	PlanOption
} {
	return planOption(func(s *settings) { s.strategy = strategy })
}

// WithBranch compacts the events of this branch only. A removal takes events of exactly this branch, and
// Usage has theirs; "" is the root, which EraseEvents refuses.
func WithBranch(branch string) interface {
	CompactOption
	PlanOption
	ApplyOption
	PopOption
	SuffixOption
	EraseEventsOption
	UsageOption
} {
	return branchOption(func(s *settings) { s.branch, s.hasBranch = branch, true })
}

// WithActor names the caller, for the record.
func WithActor(actor string) interface {
	CompactOption
	PlanOption
	ApplyOption
} {
	return actorOption(func(s *settings) { s.actor = actor })
}

// WithTrigger compacts only if the trigger fires.
func WithTrigger(trigger *pb.CompactionTrigger) CompactOption {
	return compactOption(func(s *settings) { s.trigger = trigger })
}

// DryRun changes nothing: Compact returns the plan and calls no model, other calls check the request.
func DryRun() interface {
	CompactOption
	ApplyOption
} {
	return dryRunOption(func(s *settings) { s.dryRun = true })
}

// WithCompactionID sets the idempotency key of an applied compaction. Default: a new one.
func WithCompactionID(id string) ApplyOption {
	return applyOption(func(s *settings) { s.compactionID = id })
}

// WithStrategyName names the strategy of an applied compaction, for the record.
func WithStrategyName(name string) ApplyOption {
	return applyOption(func(s *settings) { s.strategyName = name })
}

// ReportMismatch returns Applied false after a mismatch, instead of ErrVersionMismatch.
func ReportMismatch() ApplyOption {
	return applyOption(func(s *settings) { s.reportMismatch = true })
}

// WithInserts inserts these events, in CompactContext in place of a summary.
func WithInserts(inserts ...*pb.CompactionInsert) ApplyOption {
	return applyOption(func(s *settings) { s.inserts = append(s.inserts, inserts...) })
}

// Compact compacts the session on the server, which archives events and inserts summaries or stubs. Nothing is deleted, and
// having nothing to compact is not an error. A summary takes as long as the server's model; set a matching deadline. Errors:
// ErrSessionNotFound, ErrSummarizerNotConfigured, ErrSummarizerFailed, ErrVersionMismatch.
func (s *SessionHandle) Compact(ctx context.Context, opts ...CompactOption) (*pb.CompactSessionResponse, error) {
	given := settingsOf(opts, CompactOption.forCompact)
	return s.client.raw.Compaction.CompactSession(ctx, &pb.CompactSessionRequest{
		Session: s.ref, Strategy: given.strategy, Trigger: given.trigger, Branch: given.branch, DryRun: given.dryRun, Actor: given.actor,
	})
}

// Compactions iterates over the session's compactions, newest first, page by page like Events. Errors: ErrSessionNotFound.
func (s *SessionHandle) Compactions(ctx context.Context, opts ...PageOption) iter.Seq2[*pb.Compaction, error] {
	return pages(ctx, s.compactionsRequest(opts), nil, s.client.raw.Compaction.ListCompactions,
		(*pb.ListCompactionsResponse).GetCompactions)
}

// CompactionsPage returns one page of Compactions.
func (s *SessionHandle) CompactionsPage(ctx context.Context, opts ...PageOption) (*pb.ListCompactionsResponse, error) {
	return s.client.raw.Compaction.ListCompactions(ctx, s.compactionsRequest(opts))
}

func (s *SessionHandle) compactionsRequest(opts []PageOption) *pb.ListCompactionsRequest {
	given := settingsOf(opts, PageOption.forPage)
	return &pb.ListCompactionsRequest{Session: s.ref, PageSize: given.pageSize, PageToken: given.pageToken}
}

// PlanCompaction returns the changes that a strategy would make, for ApplyCompaction. Errors: ErrSessionNotFound.
func (s *SessionHandle) PlanCompaction(ctx context.Context, opts ...PlanOption) (*pb.PlanCompactionResponse, error) {
	given := settingsOf(opts, PlanOption.forPlan)
	return s.client.raw.Compaction.PlanCompaction(ctx, &pb.PlanCompactionRequest{
		Session: s.ref, Strategy: given.strategy, Branch: given.branch,
	})
}

// ApplyCompaction applies a plan, with the summary that it requires, unless another compaction was committed since; appends do
// not conflict, except with Expect(LogVersion). A blank summary is an error if the plan requires one. For a request of your own,
// use Raw. Errors: ErrSessionNotFound, ErrVersionMismatch, ErrNothingToCompact.
func (s *SessionHandle) ApplyCompaction(
	ctx context.Context, planned *pb.PlanCompactionResponse, summary string, opts ...ApplyOption,
) (*pb.ApplyCompactionResponse, error) {
	request, given, err := s.applyRequest(planned.GetWindowVersion(), opts)
	if err != nil {
		return nil, err
	}
	plan := planned.GetPlan()
	inserts := plan.GetInserts()
	if plan.GetSummaryPrompt() != nil {
		if strings.TrimSpace(summary) == "" {
			return nil, errBlank
		}
		inserts = completed(plan, summary)
	}
	if ids := plan.GetArchiveEventIds(); len(ids) > 0 {
		request.Archive = &pb.ApplyCompactionRequest_EventIds{EventIds: &pb.EventIds{Ids: ids}}
	}
	request.Inserts = slices.Concat(inserts, given.inserts)
	request.Branch = cmp.Or(request.Branch, plan.GetBranch())
	request.Strategy = cmp.Or(request.Strategy, plan.GetStrategy())
	return s.client.raw.Compaction.ApplyCompaction(ctx, request)
}

// applyRequest returns the request that the options describe, without what to archive and insert.
func (s *SessionHandle) applyRequest(windowVersion int64, opts []ApplyOption) (*pb.ApplyCompactionRequest, *settings, error) {
	given := settingsOf(opts, ApplyOption.forApply)
	request := &pb.ApplyCompactionRequest{
		Session:               s.ref,
		CompactionId:          cmp.Or(given.compactionID, NewEventID()), // so that retries compact once
		ExpectedWindowVersion: windowVersion,
		Branch:                given.branch,
		Strategy:              given.strategyName,
		Actor:                 given.actor,
		ReportMismatch:        given.reportMismatch,
		DryRun:                given.dryRun,
	}
	switch expected := given.expect.(type) {
	case nil:
	case LogVersion:
		version := int64(expected)
		request.ExpectedLogVersion = &version
	default:
		given.fail("a compaction expects a LogVersion")
	}
	return request, given, given.err
}

// ReplaceEvents replaces the active window by these events, unless the log changed since the version. Active events among them,
// unchanged and in their order, stay; other active events are archived; new ones are inserted. Replaced in the response is false
// after a mismatch. It takes WithStrategyName, WithActor and DryRun. Errors: ErrSessionNotFound, ErrBrokenToolPair,
// ErrEventIDConflict.
func (s *SessionHandle) ReplaceEvents(
	ctx context.Context, events []*Event, expected LogVersion, opts ...ApplyOption,
) (*pb.ReplaceEventsResponse, error) {
	given := settingsOf(opts, ApplyOption.forApply)
	if given.err != nil {
		return nil, given.err
	}
	return s.client.raw.Compaction.ReplaceEvents(ctx, &pb.ReplaceEventsRequest{
		Session: s.ref, Events: WithIDs(events), ExpectedLogVersion: int64(expected),
		Strategy: given.strategyName, Actor: given.actor, DryRun: given.dryRun,
	})
}

const (
	// The user message before a summary, the same as in the server's summaries.
	shadowPrompt  = "Summarize the conversation we had so far."
	summarySource = "summary"
)

// CompactContext replaces the events of a context, which GetContext returned, with a summary or WithInserts. Only these events
// are archived; events that the context left out and events appended since stay. Nothing is deleted.
//
//	seen, err := trip.GetContext(ctx)
//	...
//	_, err = trip.CompactContext(ctx, seen, summaryOf(seen.GetEvents()))
//
// Errors: ErrNothingToCompact, before a call, if no event of this context may be archived; ErrVersionMismatch if another
// compaction was committed first: read the context again. A blank summary is an error and leaves the session unchanged.
func (s *SessionHandle) CompactContext(
	ctx context.Context, seen *pb.GetContextResponse, summary string, opts ...ApplyOption,
) (*pb.ApplyCompactionResponse, error) {
	if seen.GetCompactableThroughSeq() == 0 {
		return nil, &Error{Reason: ErrNothingToCompact, Code: codes.FailedPrecondition, Message: "no event of this context may be " +
			"archived: it is empty, or its spec left out the events that come first"}
	}
	request, given, err := s.applyRequest(seen.GetWindowVersion(), opts)
	if err != nil {
		return nil, err
	}
	request.FromSeq = seen.GetFirstSeq()
	request.Archive = &pb.ApplyCompactionRequest_ThroughSeq{ThroughSeq: seen.GetCompactableThroughSeq()}
	if request.Inserts = given.inserts; len(request.Inserts) == 0 {
		if strings.TrimSpace(summary) == "" {
			return nil, errBlank
		}
		request.Inserts = []*pb.CompactionInsert{{Events: summarized(summary)}}
	}
	return s.client.raw.Compaction.ApplyCompaction(ctx, request)
}

// summarized returns a summary as a turn of its own, like the server's summaries.
func summarized(summary string) []*Event {
	turn := []*Event{User(shadowPrompt), Assistant(summary)}
	for _, event := range turn {
		event.Synthetic, event.CompactionSource = true, summarySource
	}
	return turn
}

// Summarize calls the caller's model to write the summary of a plan.
type Summarize func(context.Context, *pb.SummaryPrompt) (string, error)

// CompactWith compacts with the caller's model: it plans, calls summarize with the prompt if there is one, and applies the
// plan. If there is nothing to compact, the response is empty and Applied is false.
//
// If another compaction is committed first, it plans again, at most five times in total, without calling summarize twice for
// the same prompt. An error of summarize is returned, and a blank summary is an error; the session is then unchanged. Errors:
// ErrSessionNotFound, and ErrVersionMismatch after five lost races.
func (s *SessionHandle) CompactWith(
	ctx context.Context, summarize Summarize, opts ...PlanOption,
) (*pb.ApplyCompactionResponse, error) {
	answers := map[string]string{}
	actor := settingsOf(opts, PlanOption.forPlan).actor
	for attempt := 1; ; attempt++ {
		planned, err := s.PlanCompaction(ctx, opts...)
		if err != nil {
			return nil, err
		}
		plan := planned.GetPlan()
		if len(plan.GetArchiveEventIds()) == 0 && len(plan.GetInserts()) == 0 {
			return &pb.ApplyCompactionResponse{}, nil
		}
		summary := ""
		if prompt := plan.GetSummaryPrompt(); prompt != nil {
			known := false
			if summary, known = answers[prompt.GetDigest()]; !known {
				if summary, err = summarize(ctx, prompt); err != nil {
					return nil, err
				}
				answers[prompt.GetDigest()] = summary
			}
		}
		applied, err := s.ApplyCompaction(ctx, planned, summary, WithActor(actor))
		if !errors.Is(err, ErrVersionMismatch) || attempt == compactionAttempts {
			return applied, err
		}
	}
}

// completed returns the inserts with the model's text in the event that the plan leaves empty.
func completed(plan *pb.CompactionPlan, summary string) []*pb.CompactionInsert {
	inserts := proto.CloneOf(plan).GetInserts()
	for _, insert := range inserts {
		for _, event := range insert.GetEvents() {
			parts := event.GetMessage().GetParts()
			if event.GetMessage().GetRole() != RoleAssistant || len(parts) != 1 {
				continue
			}
			if text, ok := parts[0].GetContent().(*pb.Part_Text); ok && text.Text == "" {
				text.Text = summary
			}
		}
	}
	return inserts
}
