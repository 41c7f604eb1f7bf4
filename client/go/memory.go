package threadkeep

import (
	"context"
	"iter"

	"google.golang.org/protobuf/proto"

	"github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

// Memory is a handle on what is remembered of one user in one app, across sessions. It is made without a call and needs no closing.
//
// The scope of requests is the handle's, whatever they say. Every method may fail with MemoryNotConfigured beside the errors of
// every call.
type Memory struct {
	client *Client
	scope  *threadkeepv1.MemoryScope
}

// Memory is the memory of the client's user in its app.
func (c *Client) Memory() *Memory {
	return c.MemoryOf(&threadkeepv1.MemoryScope{App: c.user.GetApp(), UserId: c.user.GetUserId()})
}

// MemoryOf is the memory of this scope, as it is.
func (c *Client) MemoryOf(scope *threadkeepv1.MemoryScope) *Memory {
	return &Memory{client: c, scope: proto.CloneOf(scope)}
}

// Remember is an entry to add: a text, as the user's. Set its other fields (Author, EventTime, MetadataJson ...) as you need them.
func Remember(text string) *MemoryEntry {
	return &MemoryEntry{Content: User(text).Message}
}

// Add remembers entries, all or none; answered in their order. Those without an id get one first, in a copy, so that the client's
// own repetitions remember nothing twice; the same id with the same content is a replay. Errors: MemoryIDConflict, EventTooLarge,
// BatchTooLarge.
func (m *Memory) Add(ctx context.Context, entries ...*MemoryEntry) (*threadkeepv1.AddMemoriesResponse, error) {
	request := &threadkeepv1.AddMemoriesRequest{Scope: m.scope}
	for _, entry := range entries {
		if entry.GetId() == "" {
			entry = copyOf(entry)
			entry.Id = NewEventID()
		}
		request.Memories = append(request.Memories, entry)
	}
	return m.client.Memories.AddMemories(ctx, request)
}

// AddSession remembers a session: one entry for each event with text, unless the request says otherwise; nil is an empty one. What
// is remembered already is left as it is and what was deleted stays so: call it as often as you like. Errors: SessionNotFound,
// AmbiguousSession, EventNotFound.
func (m *Memory) AddSession(
	ctx context.Context, sessionID string, request *threadkeepv1.AddSessionToMemoryRequest,
) (*threadkeepv1.AddSessionToMemoryResponse, error) {
	own := copyOf(request)
	own.Session = &SessionRef{App: m.scope.GetApp(), UserId: m.scope.GetUserId(), SessionId: sessionID}
	return m.client.Memories.AddSessionToMemory(ctx, own)
}

// Search is the entries that answer the request's query, best first; an empty query finds nothing. Errors: EmbedderNotConfigured,
// EmbedderFailed.
func (m *Memory) Search(
	ctx context.Context, request *threadkeepv1.SearchMemoryRequest,
) (*threadkeepv1.SearchMemoryResponse, error) {
	own := copyOf(request)
	own.Scope = m.scope
	return m.client.Memories.SearchMemory(ctx, own)
}

// List are the entries that match the request, all if it is nil, the last added first, page after page like Session.Events.
func (m *Memory) List(ctx context.Context, request *threadkeepv1.ListMemoriesRequest) iter.Seq2[*MemoryEntry, error] {
	own := copyOf(request)
	own.Scope = m.scope
	return pages(ctx, own, m.client.Memories.ListMemories, (*threadkeepv1.ListMemoriesResponse).GetEntries)
}

// Delete forgets the entries that the request names, for good; the response is the receipt.
func (m *Memory) Delete(
	ctx context.Context, request *threadkeepv1.DeleteMemoriesRequest,
) (*threadkeepv1.DeleteMemoriesResponse, error) {
	own := copyOf(request)
	own.Scope = m.scope
	return m.client.Memories.DeleteMemories(ctx, own)
}
