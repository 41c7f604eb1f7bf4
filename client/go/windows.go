package recollect

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/recollect-dev/recollect-go/recollect/v1"
)

// Plans that another compaction overtook before CompactWith gives up.
const compactionAttempts = 5

// Context is what an agent should see now: the SYSTEM event, the summaries, then whole turns of the active window. spec narrows
// it; nil is the window within the session's or the server's size. An unknown session gives an empty context. Errors:
// InvalidField, AmbiguousSession.
func (s *Session) Context(ctx context.Context, spec *ContextSpec) (*recollectv1.GetContextResponse, error) {
	return s.client.Events.GetContext(ctx, &recollectv1.GetContextRequest{Session: s.ref, Spec: spec})
}

// Compact has the server compact the session: it archives events, and inserts summaries or stubs. Nothing is deleted, and nothing
// to do is no error. A nil strategy is that of the session's policy. A summary takes as long as the server's model does: give ctx
// a deadline to match. Errors: SessionNotFound, SummarizerNotConfigured, SummarizerFailed, VersionMismatch.
func (s *Session) Compact(ctx context.Context, strategy *CompactionStrategy) (*recollectv1.CompactSessionResponse, error) {
	request := &recollectv1.CompactSessionRequest{Session: s.ref, Strategy: strategy}
	return s.client.Compaction.CompactSession(ctx, request)
}

// CompactWith compacts with a model of the caller's: it plans, has summarise answer the plan's prompt if there is one, and
// applies. It returns nil without an error when there was nothing to do.
//
// When another compaction was faster it plans anew, at most five times in all, and does not ask again for the same prompt. The
// session is as it was when summarise fails, whose error is returned, or answers with a blank text. Errors: SessionNotFound, and
// VersionMismatch when every race was lost.
func (s *Session) CompactWith(
	ctx context.Context, summarise func(context.Context, *SummaryPrompt) (string, error), strategy *CompactionStrategy,
) (*recollectv1.ApplyCompactionResponse, error) {
	answers := map[string]string{}
	var lost error
	for range compactionAttempts {
		planned, err := s.client.Compaction.PlanCompaction(
			ctx, &recollectv1.PlanCompactionRequest{Session: s.ref, Strategy: strategy},
		)
		if err != nil {
			return nil, err
		}
		plan, prompt := planned.GetPlan(), planned.GetPlan().GetSummaryPrompt()
		if len(plan.GetArchiveEventIds()) == 0 && len(plan.GetInserts()) == 0 {
			return nil, nil
		}
		if prompt != nil {
			if err := answer(ctx, prompt, summarise, answers); err != nil {
				return nil, err
			}
		}
		applied, err := s.client.Compaction.ApplyCompaction(ctx, s.applyRequest(planned, answers[prompt.GetDigest()]))
		if !errors.Is(err, VersionMismatch) {
			return applied, err
		}
		lost = err
	}
	return nil, lost
}

// answer adds the model's answer to this prompt to answers, unless it is there.
func answer(
	ctx context.Context, prompt *SummaryPrompt, summarise func(context.Context, *SummaryPrompt) (string, error),
	answers map[string]string,
) error {
	if _, known := answers[prompt.GetDigest()]; known {
		return nil
	}
	summary, err := summarise(ctx, prompt)
	if err != nil {
		return err
	}
	if strings.TrimSpace(summary) == "" {
		return errors.New("recollect: the summary is blank; the session is as it was")
	}
	answers[prompt.GetDigest()] = summary
	return nil
}

// applyRequest asks for what was planned, with an id, so that its repetitions compact once.
func (s *Session) applyRequest(planned *recollectv1.PlanCompactionResponse, summary string) *recollectv1.ApplyCompactionRequest {
	plan := planned.GetPlan()
	request := &recollectv1.ApplyCompactionRequest{
		Session:               s.ref,
		CompactionId:          NewEventID(),
		ExpectedWindowVersion: planned.GetWindowVersion(),
		Inserts:               completed(plan, summary),
		Branch:                plan.GetBranch(),
		Strategy:              plan.GetStrategy(),
	}
	if ids := plan.GetArchiveEventIds(); len(ids) > 0 {
		request.Archive = &recollectv1.ApplyCompactionRequest_EventIds{EventIds: &recollectv1.EventIds{Ids: ids}}
	}
	return request
}

// completed is the plan's inserts, with the model's text in the event that the plan leaves empty for it.
func completed(plan *recollectv1.CompactionPlan, summary string) []*recollectv1.CompactionInsert {
	if plan.GetSummaryPrompt() == nil {
		return plan.GetInserts()
	}
	filled := make([]*recollectv1.CompactionInsert, len(plan.GetInserts()))
	for i, insert := range plan.GetInserts() {
		filled[i] = proto.CloneOf(insert)
		for _, event := range filled[i].GetEvents() {
			if isPending(event) {
				event.Message.Parts[0] = Text(summary)
			}
		}
	}
	return filled
}

func isPending(event *Event) bool {
	parts := event.GetMessage().GetParts()
	if event.GetMessage().GetRole() != recollectv1.Role_ROLE_ASSISTANT || len(parts) != 1 {
		return false
	}
	text, ok := parts[0].GetContent().(*recollectv1.Part_Text)
	return ok && text.Text.GetText() == ""
}
