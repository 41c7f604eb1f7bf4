package threadkeep

import (
	"context"
	"errors"
	"strings"

	"github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

// Plans that another compaction overtook before CompactWith gives up.
const compactionAttempts = 5

// Compact has the server compact the session: it archives events, and inserts summaries or stubs. Nothing is deleted, and nothing
// to do is no error. A nil strategy is that of the session's policy. A summary takes as long as the server's model does: give ctx
// a deadline to match. Errors: SessionNotFound, SummarizerNotConfigured, SummarizerFailed, VersionMismatch.
func (s *Session) Compact(
	ctx context.Context, strategy *threadkeepv1.CompactionStrategy,
) (*threadkeepv1.CompactSessionResponse, error) {
	request := &threadkeepv1.CompactSessionRequest{Session: s.ref, Strategy: strategy}
	return s.client.Compaction.CompactSession(ctx, request)
}

// Summarise is a model of the caller's, asked for the summary that a plan needs.
type Summarise func(context.Context, *threadkeepv1.SummaryPrompt) (string, error)

// CompactWith compacts with a model of the caller's: it plans, has summarise answer the plan's prompt if there is one, and
// applies. It returns nil without an error when there was nothing to do.
//
// When another compaction was faster it plans anew, at most five times in all, and does not ask again for the same prompt. The
// session is as it was when summarise fails, whose error is returned, or answers with a blank text. Errors: SessionNotFound, and
// VersionMismatch when every race was lost.
func (s *Session) CompactWith(
	ctx context.Context, summarise Summarise, strategy *threadkeepv1.CompactionStrategy,
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
				if summary, err = summarise(ctx, prompt); err != nil {
					return nil, err
				}
				answers[prompt.GetDigest()] = summary
			}
			if strings.TrimSpace(summary) == "" {
				return nil, errors.New("threadkeep: the summary is blank; the session is as it was")
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
			if text := parts[0].GetText(); text != nil && text.GetText() == "" {
				text.Text = summary
			}
		}
	}
}
