package threadkeep

import (
	"fmt"
	"testing"

	pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

// batchOf returns a change of s1 with events of these seqs at this log version.
func batchOf(version int64, token string, continues bool, seqs ...int64) *Change {
	batch := &pb.EventBatch{Continues: continues}
	for _, seq := range seqs {
		batch.Events = append(batch.Events, &Event{Seq: seq})
	}
	return &Change{
		Session:     &SessionRef{App: "shop", UserId: "alice", SessionId: "s1"},
		Kind:        &pb.Change_Batch{Batch: batch},
		ResumeToken: token,
		Versions:    &pb.SessionVersions{LogVersion: version},
	}
}

func sessionChange(kind pb.SessionChangeKind) *Change {
	change := batchOf(0, "", false)
	change.Kind = &pb.Change_SessionChange{SessionChange: &pb.SessionChange{Kind: kind}}
	return change
}

func seqsOf(change *Change) string {
	var seqs []int64
	for _, event := range change.GetBatch().GetEvents() {
		seqs = append(seqs, event.GetSeq())
	}
	for _, event := range change.GetCompaction().GetInserted() {
		seqs = append(seqs, event.GetSeq())
	}
	return fmt.Sprint(seqs)
}

func TestPartsAreJoined(t *testing.T) {
	c := &cursor{}
	if c.take(batchOf(1, "t0", true, 1, 2)) != nil || c.take(batchOf(1, "t0", true, 3)) != nil {
		t.Fatal("a part was returned")
	}
	if c.token != "" {
		t.Fatal("the token of a part is remembered")
	}
	whole := c.take(batchOf(1, "t1", false, 4))
	if seqsOf(whole) != "[1 2 3 4]" || whole.ResumeToken != "t1" || whole.GetBatch().Continues || c.token != "t1" {
		t.Fatal(whole)
	}
	if seqsOf(c.take(batchOf(2, "t2", false, 5))) != "[5]" {
		t.Fatal("parts were kept")
	}
}

func TestCheckpointBetweenPartsIsDelivered(t *testing.T) {
	c := &cursor{}
	c.take(batchOf(1, "", true, 1))
	checkpoint := &Change{Kind: &pb.Change_Checkpoint{Checkpoint: &pb.Checkpoint{}}, ResumeToken: "c"}
	if c.take(checkpoint) != checkpoint || c.token != "c" {
		t.Fatal("no checkpoint")
	}
	if seqsOf(c.take(batchOf(1, "t1", false, 2))) != "[1 2]" {
		t.Fatal("the parts were lost")
	}
}

func TestPartsOfACompactionAreJoined(t *testing.T) {
	part := func(continues bool, record *pb.Compaction, seq int64) *Change {
		change := batchOf(3, "t", false)
		notice := &pb.CompactionNotice{Compaction: record, Inserted: []*Event{{Seq: seq}}, Continues: continues}
		change.Kind = &pb.Change_Compaction{Compaction: notice}
		return change
	}
	c := &cursor{}
	if c.take(part(true, &pb.Compaction{CompactionId: "c1"}, 8)) != nil {
		t.Fatal("a part was returned")
	}
	whole := c.take(part(false, nil, 9))
	if seqsOf(whole) != "[8 9]" || whole.GetCompaction().GetCompaction().GetCompactionId() != "c1" || whole.GetCompaction().Continues {
		t.Fatal(whole)
	}
}

func TestIncompletePartsAreDropped(t *testing.T) {
	c := &cursor{}
	c.take(batchOf(1, "", true, 1))
	c.parts = nil
	c.take(batchOf(1, "", true, 1, 2))
	if whole := c.take(batchOf(1, "t1", false, 3)); seqsOf(whole) != "[1 2 3]" {
		t.Fatal(whole)
	}
}

func TestRepetitionsAreDropped(t *testing.T) {
	c := &cursor{}
	if c.take(batchOf(2, "t2", false, 2)) == nil {
		t.Fatal("a new one")
	}
	if c.take(batchOf(2, "t3", false, 2)) != nil || c.take(batchOf(1, "t4", false, 1)) != nil {
		t.Fatal("a repetition was returned")
	}
	if c.token != "t4" {
		t.Fatal("the token of a repetition counts all the same:", c.token)
	}
	if c.take(sessionChange(pb.SessionChangeKind_SESSION_CHANGE_KIND_UPDATED)) == nil || c.take(batchOf(2, "", false)) != nil {
		t.Fatal("an update begins no new session")
	}
	if c.take(sessionChange(pb.SessionChangeKind_SESSION_CHANGE_KIND_DELETED)) == nil || c.take(batchOf(1, "", false)) == nil {
		t.Fatal("a session of the same name is another one")
	}
}

func TestUnknownKindsAreSkippedAndTheirTokensUsed(t *testing.T) {
	c := &cursor{}
	if c.take(&Change{ResumeToken: "t"}) != nil || c.token != "t" {
		t.Fatal(c.token)
	}
}

func TestVersionsOfTheLeastRecentSessionsAreDropped(t *testing.T) {
	c := &cursor{}
	of := func(n int) *Change {
		change := batchOf(1, "", false)
		change.Session.SessionId = fmt.Sprint(n)
		return change
	}
	for n := range 2 * rememberedSessions {
		c.take(of(n))
	}
	if len(c.recent) > rememberedSessions || len(c.older) > rememberedSessions {
		t.Fatal(len(c.recent), len(c.older))
	}
	for n := rememberedSessions; n < 2*rememberedSessions; n++ {
		if c.take(of(n)) != nil {
			t.Fatal(n, "was forgotten")
		}
	}
	if c.take(of(2*rememberedSessions)) == nil || c.take(of(0)) == nil {
		t.Error("the oldest ones are still remembered")
	}
}
