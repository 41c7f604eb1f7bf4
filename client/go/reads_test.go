package threadkeep

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

// threePages returns seqs 1 to 6, two per page, and counts the fetched pages.
func threePages(fetched *[]string) func(*pb.ListEventsRequest) (*pb.ListEventsResponse, error) {
	return func(r *pb.ListEventsRequest) (*pb.ListEventsResponse, error) {
		*fetched = append(*fetched, fmt.Sprint(r.GetSession().GetSessionId(), r.GetPageSize(), r.GetPageToken()))
		n := int64(len(r.GetPageToken()))
		token := r.GetPageToken() + "+"
		if n == 2 {
			token = ""
		}
		return &pb.ListEventsResponse{Events: []*Event{{Seq: 2*n + 1}, {Seq: 2*n + 2}}, NextPageToken: token}, nil
	}
}

func TestPagesAreFetchedWhenReached(t *testing.T) {
	var fetched []string
	session := serve(t, &script{list: threePages(&fetched)}).Session("s1")
	all := session.Events(t.Context(), WithPageSize(2))
	if len(fetched) != 0 {
		t.Fatal("fetched before it was needed")
	}
	for range 2 { // an iterator can be ranged over again
		var seqs []int64
		for event, err := range all {
			if err != nil {
				t.Fatal(err)
			}
			seqs = append(seqs, event.Seq)
		}
		if fmt.Sprint(seqs) != "[1 2 3 4 5 6]" {
			t.Fatal(seqs)
		}
	}
	if fmt.Sprint(fetched) != "[s12 s12+ s12++ s12 s12+ s12++]" {
		t.Error(fetched)
	}
	fetched = nil
	for event := range all {
		if event.Seq == 2 {
			break
		}
	}
	if len(fetched) != 1 {
		t.Error(fetched)
	}
}

func TestErrorEndsTheIteration(t *testing.T) {
	s := &script{list: func(r *pb.ListEventsRequest) (*pb.ListEventsResponse, error) {
		if r.PageToken != "" {
			return nil, refusal(codes.InvalidArgument, ErrInvalidPageToken, nil)
		}
		return &pb.ListEventsResponse{Events: []*Event{{Seq: 1}}, NextPageToken: "next"}, nil
	}}
	items := 0
	var last error
	for event, err := range serve(t, s).Session("s1").Events(t.Context()) {
		if items++; (event == nil) != (err != nil) {
			t.Error(event, err)
		}
		last = err
	}
	if items != 2 || !errors.Is(last, ErrInvalidPageToken) {
		t.Error(items, last)
	}
}

// planned returns a plan that archives e1 and needs a summary with this digest.
func planned(digest string) *pb.PlanCompactionResponse {
	inserts := []*pb.CompactionInsert{{BeforeEventId: "e9", Events: []*Event{User("What happened?"), Assistant("")}}}
	plan := &pb.CompactionPlan{
		ArchiveEventIds: []string{"e1"}, Inserts: inserts, Strategy: "recursive_summary", SummaryPrompt: &pb.SummaryPrompt{Digest: digest},
	}
	return &pb.PlanCompactionResponse{Plan: plan, WindowVersion: 7}
}

func TestCompactWithSummarizesAndApplies(t *testing.T) {
	digests := []string{"d1", "d1", "d2"} // the third attempt finds another window
	var applied []*pb.ApplyCompactionRequest
	s := &script{
		plan: func() (*pb.PlanCompactionResponse, error) { return planned(digests[len(applied)]), nil },
		apply: func(r *pb.ApplyCompactionRequest) (*pb.ApplyCompactionResponse, error) {
			if applied = append(applied, r); len(applied) < 3 {
				return nil, refusal(codes.Aborted, ErrVersionMismatch, nil)
			}
			return &pb.ApplyCompactionResponse{Applied: true}, nil
		},
	}
	var requested []string
	summarize := func(_ context.Context, prompt *pb.SummaryPrompt) (string, error) {
		requested = append(requested, prompt.Digest)
		return "about " + prompt.Digest, nil
	}
	answer, err := serve(t, s).Session("s1").CompactWith(t.Context(), summarize)
	if err != nil || !answer.GetApplied() {
		t.Fatal(answer, err)
	}
	if fmt.Sprint(requested) != "[d1 d2]" {
		t.Error("summarized", requested)
	}
	last := applied[2]
	if last.ExpectedWindowVersion != 7 || last.Strategy != "recursive_summary" || fmt.Sprint(last.GetEventIds().GetIds()) != "[e1]" {
		t.Error(last)
	}
	events := last.Inserts[0].Events
	if TextOf(events[0]) != "What happened?" || TextOf(events[1]) != "about d2" || last.Inserts[0].BeforeEventId != "e9" {
		t.Error(events)
	}
	if last.CompactionId == "" || last.CompactionId == applied[1].CompactionId {
		t.Error("another plan is another compaction")
	}
}

func TestCompactWithReturnsErrors(t *testing.T) {
	races := 0
	s := &script{apply: func(*pb.ApplyCompactionRequest) (*pb.ApplyCompactionResponse, error) {
		races++
		return nil, refusal(codes.Aborted, ErrVersionMismatch, nil)
	}}
	session := serve(t, s).Session("s1")
	says := func(text string, err error) func(context.Context, *pb.SummaryPrompt) (string, error) {
		return func(context.Context, *pb.SummaryPrompt) (string, error) { return text, err }
	}

	s.plan = func() (*pb.PlanCompactionResponse, error) {
		return &pb.PlanCompactionResponse{}, nil
	}
	if answer, err := session.CompactWith(t.Context(), says("", nil)); answer.GetApplied() || err != nil {
		t.Error("nothing to do:", answer, err)
	}
	s.plan = func() (*pb.PlanCompactionResponse, error) { return planned("d"), nil }
	if _, err := session.CompactWith(t.Context(), says(" \n", nil)); err == nil || errors.As(err, new(*Error)) {
		t.Error("blank:", err)
	}
	broken := errors.New("no model")
	if _, err := session.CompactWith(t.Context(), says("", broken)); err != broken || races != 0 {
		t.Error("failed:", err, races)
	}
	if _, err := session.CompactWith(t.Context(), says("text", nil)); !errors.Is(err, ErrVersionMismatch) || races != 5 {
		t.Error("every race lost:", err, races)
	}
}

func TestCompactContextReplacesTheEventsOfTheContext(t *testing.T) {
	var applied []*pb.ApplyCompactionRequest
	session := serve(t, &script{
		apply: func(r *pb.ApplyCompactionRequest) (*pb.ApplyCompactionResponse, error) {
			applied = append(applied, r)
			return &pb.ApplyCompactionResponse{Applied: true}, nil
		},
	}).Session("s1")
	seen := &pb.GetContextResponse{FirstSeq: 3, SessionLastSeq: 9, CompactableThroughSeq: 6, WindowVersion: 7, Truncated: true}
	named := WithActor("nightly")
	if answer, err := session.CompactContext(t.Context(), seen, "They counted.", named); err != nil || !answer.GetApplied() {
		t.Fatal(answer, err)
	}
	sent := applied[0]
	if sent.GetFromSeq() != 3 || sent.GetThroughSeq() != 6 || sent.GetExpectedWindowVersion() != 7 || sent.GetCompactionId() == "" {
		t.Error(sent)
	}
	if sent.GetActor() != "nightly" || sent.GetSession().GetSessionId() != "s1" || sent.GetSession().GetUserId() != "alice" {
		t.Error(sent)
	}
	turn := sent.GetInserts()[0].GetEvents()
	if len(turn) != 2 || turn[0].GetMessage().GetRole() != pb.Role_ROLE_USER || TextOf(turn[1]) != "They counted." {
		t.Error(turn)
	}
	for _, event := range turn {
		if !event.GetSynthetic() || event.GetCompactionSource() != "summary" {
			t.Error(event)
		}
	}
	own := WithInserts(&pb.CompactionInsert{Events: turn[1:]})
	if _, err := session.CompactContext(t.Context(), seen, "", own); err != nil || len(applied[1].GetInserts()[0].GetEvents()) != 1 {
		t.Error(err)
	}
}

func TestCompactContextRejectsAContextWithoutReplaceableEvents(t *testing.T) {
	session := connected(t, "127.0.0.1:1").Session("s1")
	for _, seen := range []*pb.GetContextResponse{nil, {FirstSeq: 3, SessionLastSeq: 9}} {
		_, err := session.CompactContext(t.Context(), seen, "They counted.")
		if !errors.Is(err, ErrNothingToCompact) || !strings.Contains(err.Error(), "no event of this context may be archived") {
			t.Error(err)
		}
	}
	seen := &pb.GetContextResponse{FirstSeq: 3, CompactableThroughSeq: 6}
	if _, err := session.CompactContext(t.Context(), seen, " \n"); err == nil || errors.As(err, new(*Error)) {
		t.Error(err)
	}
}

func TestCompletedFillsOnlyTheEmptyAssistantText(t *testing.T) {
	call := &Event{Message: &pb.ChatMessage{Role: pb.Role_ROLE_ASSISTANT, Parts: []*Part{ToolCall("c", "n", "{}")}}}
	events := []*Event{User(""), call, Assistant("said"), Assistant(""), Assistant("", Text(""), Text(""))}
	filled := completed(&pb.CompactionPlan{Inserts: []*pb.CompactionInsert{{Events: events}}}, "summary")[0].GetEvents()
	if TextOf(events[3]) != "" {
		t.Error("the caller's plan was changed")
	}
	for i, want := range []string{"", "", "said", "summary", "\n"} {
		if text := TextOf(filled[i]); text != want {
			t.Errorf("%d: %q", i, text)
		}
	}
}
