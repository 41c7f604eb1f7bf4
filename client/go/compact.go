package threadkeep

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

// Plans that another compaction overtook before CompactWith gives up.
const compactionAttempts = 5

var errBlank = errors.New("threadkeep: the summary is blank; the session is as it was")

// Compact has the server compact the session: it archives events, and inserts summaries or stubs. Nothing is deleted, and nothing
// to do is no error. A nil strategy is that of the session's policy. A summary takes as long as the server's model does: give ctx
// a deadline to match. Errors: SessionNotFound, SummarizerNotConfigured, SummarizerFailed, VersionMismatch.
func (s *Session) Compact(
	ctx context.Context, strategy *threadkeepv1.CompactionStrategy,
) (*threadkeepv1.CompactSessionResponse, error) {
	request := &threadkeepv1.CompactSessionRequest{Session: s.ref, Strategy: strategy}
	return s.client.Compaction.CompactSession(ctx, request)
}

const (
	// What the server's own summaries say before they begin.
	shadowPrompt  = "Summarize the conversation we had so far."
	summarySource = "summary"
)

// CompactOption says how a context is compacted: it sets a field of the request, such as its Actor, its DryRun, or Inserts of your
// own in place of a summary.
type CompactOption func(*threadkeepv1.ApplyCompactionRequest)

// CompactContext puts a summary in the place of what a context held, which is what Context returned: it archives these events, and
// no event that the context left out or that was appended since. Nothing is deleted.
//
//	seen, err := trip.Context(ctx, nil)
//	...
//	_, err = trip.CompactContext(ctx, seen, summaryOf(seen.GetEvents()))
//
// Errors: NothingToCompact when nothing of this context may be archived, before anything is sent; VersionMismatch when another
// compaction was faster: then read the context again. The session is as it was when the summary is blank.
func (s *Session) CompactContext(
	ctx context.Context, seen *threadkeepv1.GetContextResponse, summary string, opts ...CompactOption,
) (*threadkeepv1.ApplyCompactionResponse, error) {
	if seen.GetCompactableThroughSeq() == 0 {
		return nil, &Error{Reason: NothingToCompact, Code: codes.FailedPrecondition, Message: "nothing of this context may be archived: " +
			"it is empty, or its spec left out the events that come first"}
	}
	request := &threadkeepv1.ApplyCompactionRequest{
		Session:               s.ref,
		CompactionId:          NewEventID(), // so that repetitions of the call compact once
		ExpectedWindowVersion: seen.GetWindowVersion(),
		FromSeq:               seen.GetFirstSeq(),
		Archive:               &threadkeepv1.ApplyCompactionRequest_ThroughSeq{ThroughSeq: seen.GetCompactableThroughSeq()},
	}
	if strings.TrimSpace(summary) != "" {
		request.Inserts = []*threadkeepv1.CompactionInsert{{Events: summarized(summary)}}
	}
	for _, option := range opts {
		option(request)
	}
	if len(request.Inserts) == 0 {
		return nil, errBlank
	}
	return s.client.Compaction.ApplyCompaction(ctx, request)
}

// summarized is a summary as a turn of its own, like those that the server makes.
func summarized(summary string) []*Event {
	turn := []*Event{User(shadowPrompt), Assistant(summary)}
	for _, event := range turn {
		event.Synthetic, event.CompactionSource = true, summarySource
	}
	return turn
}

// Summarize is a model of the caller's, asked for the summary that a plan needs.
type Summarize func(context.Context, *threadkeepv1.SummaryPrompt) (string, error)

// CompactWith compacts with a model of the caller's: it plans, has summarize answer the plan's prompt if there is one, and
// applies. It returns nil without an error when there was nothing to do.
//
// When another compaction was faster it plans anew, at most five times in all, and does not ask again for the same prompt. The
// session is as it was when summarize fails, whose error is returned, or answers with a blank text. Errors: SessionNotFound, and
// VersionMismatch when every race was lost.
func (s *Session) CompactWith(
	ctx context.Context, summarize Summarize, strategy *threadkeepv1.CompactionStrategy,
) (*threadkeepv1.ApplyCompactionResponse, error) {
	answers := map[string]string{}
	var lost error
	for range compactionAttempts {
		request := &threadkeepv1.PlanCompactionRequest{Session: s.ref, Strategy: strategy}
		planned, err := s.client.Compaction.PlanCompaction(ctx, request)
		if err != nil {
			return nil, err
		}
		plan := planned.GetPlan()
		if len(plan.GetArchiveEventIds()) == 0 && len(plan.GetInserts()) == 0 {
			return nil, nil
		}
		if prompt := plan.GetSummaryPrompt(); prompt != nil {
			summary, known := answers[prompt.GetDigest()]
			if !known {
				if summary, err = summarize(ctx, prompt); err != nil {
					return nil, err
				}
				answers[prompt.GetDigest()] = summary
			}
			if strings.TrimSpace(summary) == "" {
				return nil, errBlank
			}
			complete(plan, summary)
		}
		archive := &threadkeepv1.EventIds{Ids: plan.GetArchiveEventIds()}
		applied, err := s.client.Compaction.ApplyCompaction(ctx, &threadkeepv1.ApplyCompactionRequest{
			Session:               s.ref,
			CompactionId:          NewEventID(), // so that repetitions of the call compact once
			ExpectedWindowVersion: planned.GetWindowVersion(),
			Archive:               &threadkeepv1.ApplyCompactionRequest_EventIds{EventIds: archive},
			Inserts:               plan.GetInserts(),
			Branch:                plan.GetBranch(),
			Strategy:              plan.GetStrategy(),
		})
		if !errors.Is(err, VersionMismatch) {
			return applied, err
		}
		lost = err
	}
	return nil, lost
}

// complete puts the model's text in the event that the plan leaves empty for it.
func complete(plan *threadkeepv1.CompactionPlan, summary string) {
	for _, insert := range plan.GetInserts() {
		for _, event := range insert.GetEvents() {
			parts := event.GetMessage().GetParts()
			if event.GetMessage().GetRole() != threadkeepv1.Role_ROLE_ASSISTANT || len(parts) != 1 {
				continue
			}
			if text, ok := parts[0].GetContent().(*threadkeepv1.Part_Text); ok && text.Text == "" {
				text.Text = summary
			}
		}
	}
}
