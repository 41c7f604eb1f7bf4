package threadkeep

import (
	"context"
	"iter"

	"google.golang.org/protobuf/proto"

	"github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

// Memory is a handle on the long-term memory of one user in one app. Creating it makes no call, and it needs no closing.
//
// The handle's scope replaces the scope of requests. In addition to the errors of every call, every method may fail with
// MemoryNotConfigured.
type Memory struct {
	client *Client
	scope  *threadkeepv1.MemoryScope
}

// Memory returns a handle on the memory of the client's user in its app.
func (c *Client) Memory() *Memory {
	return c.MemoryOf(&threadkeepv1.MemoryScope{App: c.user.GetApp(), UserId: c.user.GetUserId()})
}

// MemoryOf returns a handle on the memory of this scope, which is used unchanged.
func (c *Client) MemoryOf(scope *threadkeepv1.MemoryScope) *Memory {
	return &Memory{client: c, scope: proto.CloneOf(scope)}
}

// Remember returns an entry to add, with a text as a user message. Set its other fields (Author, EventTime, MetadataJson ...)
// as needed.
func Remember(text string) *MemoryEntry {
	return &MemoryEntry{Content: User(text).Message}
}

// Add adds entries, all or none; results are in their order. Entries without an id get one in a copy before they are sent, so
// that the client's retries add nothing twice. An existing id with the same content is a replay. Errors: MemoryIDConflict,
// EventTooLarge, BatchTooLarge.
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

// AddSession ingests a session: it adds one entry per event with text, unless the request says otherwise; nil is an empty
// request. Existing entries are unchanged and deleted entries stay deleted, so the call can be repeated. Errors:
// SessionNotFound, AmbiguousSession, EventNotFound.
func (m *Memory) AddSession(
	ctx context.Context, sessionID string, request *threadkeepv1.AddSessionToMemoryRequest,
) (*threadkeepv1.AddSessionToMemoryResponse, error) {
	own := copyOf(request)
	own.Session = &SessionRef{App: m.scope.GetApp(), UserId: m.scope.GetUserId(), SessionId: sessionID}
	return m.client.Memories.AddSessionToMemory(ctx, own)
}

// Search returns the entries that match the query, best first. An empty query returns nothing. Errors: EmbedderNotConfigured,
// EmbedderFailed.
func (m *Memory) Search(
	ctx context.Context, request *threadkeepv1.SearchMemoryRequest,
) (*threadkeepv1.SearchMemoryResponse, error) {
	own := copyOf(request)
	own.Scope = m.scope
	return m.client.Memories.SearchMemory(ctx, own)
}

// List iterates over the matching entries, most recently added first, page by page like Session.Events. A nil request matches
// all.
func (m *Memory) List(ctx context.Context, request *threadkeepv1.ListMemoriesRequest) iter.Seq2[*MemoryEntry, error] {
	own := copyOf(request)
	own.Scope = m.scope
	return pages(ctx, own, m.client.Memories.ListMemories, (*threadkeepv1.ListMemoriesResponse).GetEntries)
}

// Delete deletes the specified entries permanently; the response is a receipt.
func (m *Memory) Delete(
	ctx context.Context, request *threadkeepv1.DeleteMemoriesRequest,
) (*threadkeepv1.DeleteMemoriesResponse, error) {
	own := copyOf(request)
	own.Scope = m.scope
	return m.client.Memories.DeleteMemories(ctx, own)
}
