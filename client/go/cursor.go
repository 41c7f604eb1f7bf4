package recollect

import (
	"container/list"

	"google.golang.org/protobuf/proto"

	"github.com/recollect-dev/recollect-go/recollect/v1"
)

// Sessions whose last version is remembered.
const rememberedSessions = 4096

// cursor is where a subscription stands: its last resume token, the parts of a change that is arriving, and what was handed out.
type cursor struct {
	token    string
	parts    []*Change
	versions map[sessionKey]*list.Element
	recent   *list.List // of seen, the one that changed last in front
}

type sessionKey struct{ app, userID, sessionID string }

type seen struct {
	key     sessionKey
	version int64
}

func newCursor() *cursor {
	return &cursor{versions: map[sessionKey]*list.Element{}, recent: list.New()}
}

// take is the change if it is whole and new. nil: parts are missing, or it is a repetition or of an unknown kind.
func (c *cursor) take(change *Change) *Change {
	continues, divisible := change.GetBatch().GetContinues(), change.GetBatch() != nil
	if compaction := change.GetCompaction(); compaction != nil {
		continues, divisible = compaction.GetContinues(), true
	}
	if continues {
		c.parts = append(c.parts, change)
		return nil
	}
	if len(c.parts) > 0 && divisible {
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

// drop forgets the parts of a change that did not arrive as a whole: it will come again.
func (c *cursor) drop() {
	c.parts = nil
}

// isNew says whether the session was at an older version. The resume token makes repetitions impossible; a session's versions,
// which only grow, make sure of it.
func (c *cursor) isNew(change *Change) bool {
	ref := change.GetSession()
	key := sessionKey{ref.GetApp(), ref.GetUserId(), ref.GetSessionId()}
	known := c.versions[key]
	if s := change.GetSessionChange(); s != nil && s.GetKind() != recollectv1.SessionChangeKind_SESSION_CHANGE_KIND_UPDATED {
		c.forget(known) // a session of this name begins or ends, and with it its versions
		known = nil
	}
	version := change.GetVersions().GetLogVersion()
	switch {
	case version == 0:
		return true
	case known == nil:
		c.versions[key] = c.recent.PushFront(&seen{key, version})
		if c.recent.Len() > rememberedSessions {
			c.forget(c.recent.Back())
		}
		return true
	case version <= known.Value.(*seen).version:
		return false
	}
	known.Value.(*seen).version = version
	c.recent.MoveToFront(known)
	return true
}

func (c *cursor) forget(known *list.Element) {
	if known != nil {
		delete(c.versions, known.Value.(*seen).key)
		c.recent.Remove(known)
	}
}

// joined is one change of its parts: the last one's token, time and versions, the events of all.
func joined(parts []*Change) *Change {
	last := parts[len(parts)-1]
	var events []*Event
	if compaction := last.GetCompaction(); compaction != nil {
		for _, part := range parts {
			events = append(events, part.GetCompaction().GetInserted()...)
		}
		whole := proto.CloneOf(compaction)
		whole.Compaction, whole.Inserted = parts[0].GetCompaction().GetCompaction(), events
		last.Kind = &recollectv1.Change_Compaction{Compaction: whole}
		return last
	}
	for _, part := range parts {
		events = append(events, part.GetBatch().GetEvents()...)
	}
	last.GetBatch().Events = events
	return last
}
