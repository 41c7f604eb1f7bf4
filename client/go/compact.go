package threadkeep

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

// Maximum number of plans of CompactWith when other compactions are committed first.
const compactionAttempts = 5

var errBlank = errors.New("threadkeep: the summary is blank; the session is unchanged")

// Compact compacts the session on the server, which archives events and inserts summaries or stubs. Nothing is deleted, and
// having nothing to compact is not an error. A nil strategy means that of the session's policy. A summary takes as long as the
// server's model; set a matching deadline. Errors: SessionNotFound, SummarizerNotConfigured, SummarizerFailed, VersionMismatch.
func (s *Session) Compact(
	ctx context.Context, strategy *threadkeepv1.CompactionStrategy,
) (*threadkeepv1.CompactSessionResponse, error) {
	request := &threadkeepv1.CompactSessionRequest{Session: s.ref, Strategy: strategy}
	return s.client.Compaction.CompactSession(ctx, request)
}

const (
	// The user message before a summary, the same as in the server's summaries.
	shadowPrompt  = "Summarize the conversation we had so far."
	summarySource = "summary"
)

// CompactOption configures the compaction of a context. It sets a field of the request, such as Actor, DryRun, or Inserts in
// place of a summary.
type CompactOption func(*threadkeepv1.ApplyCompactionRequest)

// CompactContext replaces the events of a context, which Context returned, with a summary. Only these events are archived;
// events that the context left out and events appended since stay. Nothing is deleted.
//
//	seen, err := trip.Context(ctx, nil)
//	...
//	_, err = trip.CompactContext(ctx, seen, summaryOf(seen.GetEvents()))
//
// Errors: NothingToCompact, before a call, if no event of this context may be archived; VersionMismatch if another compaction
// was committed first: read the context again. A blank summary is an error and leaves the session unchanged.
func (s *Session) CompactContext(
	ctx context.Context, seen *threadkeepv1.GetContextResponse, summary string, opts ...CompactOption,
) (*threadkeepv1.ApplyCompactionResponse, error) {
	if seen.GetCompactableThroughSeq() == 0 {
		return nil, &Error{Reason: NothingToCompact, Code: codes.FailedPrecondition, Message: "no event of this context may be archived: " +
			"it is empty, or its spec left out the events that come first"}
	}
	request := &threadkeepv1.ApplyCompactionRequest{
		Session:               s.ref,
		CompactionId:          NewEventID(), // so that retries compact once
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

// summarized returns a summary as a turn of its own, like the server's summaries.
func summarized(summary string) []*Event {
	turn := []*Event{User(shadowPrompt), Assistant(summary)}
	for _, event := range turn {
		event.Synthetic, event.CompactionSource = true, summarySource
	}
	return turn
}

// Summarize calls the caller's model to write the summary of a plan.
type Summarize func(context.Context, *threadkeepv1.SummaryPrompt) (string, error)

// CompactWith compacts with the caller's model: it plans, calls summarize with the prompt if there is one, and applies the
// plan. It returns nil and no error if there is nothing to compact.
//
// If another compaction is committed first, it plans again, at most five times in total, without calling summarize twice for
// the same prompt. An error of summarize is returned, and a blank summary is an error; the session is then unchanged. Errors:
// SessionNotFound, and VersionMismatch after five lost races.
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
			CompactionId:          NewEventID(), // so that retries compact once
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

// complete sets the model's text in the event that the plan leaves empty.
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
