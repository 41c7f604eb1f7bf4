package threadkeep

import "github.com/threadkeep/threadkeep-go/threadkeep/v1"

// Sessions whose last version is remembered; sometimes twice as many.
const rememberedSessions = 4096

// cursor is where a subscription stands: its last resume token, the parts of a change that is arriving, and what was handed out.
type cursor struct {
	token string
	parts []*Change
	// The last version of each session: recent of those that changed last; when that is full, it becomes older.
	recent, older map[[3]string]int64
}

// take is the change if it is whole and new. nil: parts are missing, or it is a repetition or of an unknown kind.
func (c *cursor) take(change *Change) *Change {
	batch, compaction := change.GetBatch(), change.GetCompaction()
	if batch.GetContinues() || compaction.GetContinues() {
		c.parts = append(c.parts, change)
		return nil
	}
	if len(c.parts) > 0 && (batch != nil || compaction != nil) {
		change = joined(append(c.parts, change))
		c.parts = nil
	}
	if change.GetResumeToken() != "" {
		c.token = change.GetResumeToken()
	}
	if change.GetKind() == nil || !c.isNew(change) {
		return nil
	}
	return change
}

// isNew says whether the session was at an older version. The resume token makes repetitions impossible; a session's versions,
// which only grow, make sure of it.
func (c *cursor) isNew(change *Change) bool {
	ref := change.GetSession()
	key := [3]string{ref.GetApp(), ref.GetUserId(), ref.GetSessionId()}
	if s := change.GetSessionChange(); s != nil && s.GetKind() != threadkeepv1.SessionChangeKind_SESSION_CHANGE_KIND_UPDATED {
		delete(c.recent, key) // a session of this name begins or ends, and with it its versions
		delete(c.older, key)
	}
	version := change.GetVersions().GetLogVersion()
	if version == 0 {
		return true
	}
	if version <= max(c.recent[key], c.older[key]) {
		return false
	}
	if c.recent == nil || len(c.recent) == rememberedSessions {
		c.recent, c.older = map[[3]string]int64{}, c.recent
	}
	c.recent[key] = version
	return true
}

// joined is one change of its parts: the last one's token, time and versions, the events of all.
func joined(parts []*Change) *Change {
	var events []*Event
	for _, part := range parts {
		events = append(events, part.GetBatch().GetEvents()...)
		events = append(events, part.GetCompaction().GetInserted()...)
	}
	whole := parts[len(parts)-1]
	if compaction := whole.GetCompaction(); compaction != nil {
		compaction.Compaction, compaction.Inserted = parts[0].GetCompaction().GetCompaction(), events
	} else {
		whole.GetBatch().Events = events
	}
	return whole
}
