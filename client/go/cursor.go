package threadkeep

import pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"

// Number of sessions whose last version is remembered; sometimes twice as many.
const rememberedSessions = 4096

// cursor is the state of a subscription: the last resume token, the parts of an incomplete change, and the delivered versions.
type cursor struct {
	token string
	parts []*Change
	// The last version of each session. recent contains those that changed last; when full, it becomes older.
	recent, older map[[3]string]int64
}

// take returns the change if it is complete and new, or nil if parts are missing, it is a repetition, or its kind is unknown.
func (c *cursor) take(change *Change) *Change {
	batch, compaction, removal := change.GetBatch(), change.GetCompaction(), change.GetRemoval()
	if batch.GetContinues() || compaction.GetContinues() || removal.GetContinues() {
		c.parts = append(c.parts, change)
		return nil
	}
	if len(c.parts) > 0 && (batch != nil || compaction != nil || removal != nil) {
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

// isNew reports whether the session was at an older version. The resume token prevents repetitions; the session's versions,
// which only increase, verify it.
func (c *cursor) isNew(change *Change) bool {
	ref := change.GetSession()
	key := [3]string{ref.GetApp(), ref.GetUserId(), ref.GetSessionId()}
	if s := change.GetSessionChange(); s != nil && s.GetKind() != pb.SessionChangeKind_SESSION_CHANGE_KIND_UPDATED {
		delete(c.recent, key) // a session of this name begins or ends, so its versions are no longer valid
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

// joined returns one change from its parts: the events of all, and the token, time and versions of the last.
func joined(parts []*Change) *Change {
	var events []*Event
	for _, part := range parts {
		events = append(events, part.GetBatch().GetEvents()...)
		events = append(events, part.GetCompaction().GetInserted()...)
		events = append(events, part.GetRemoval().GetInserted()...)
	}
	whole := parts[len(parts)-1]
	if compaction := whole.GetCompaction(); compaction != nil {
		compaction.Compaction, compaction.Inserted = parts[0].GetCompaction().GetCompaction(), events
	} else if removal := whole.GetRemoval(); removal != nil {
		removal.Inserted = events
	} else {
		whole.GetBatch().Events = events
	}
	return whole
}
