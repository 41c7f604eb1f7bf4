package threadkeep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

// UserMemory is a handle on the long-term memory of one user in one app. Creating it makes no call, and it needs no closing. In
// addition to the errors of every call, every method may fail with ErrMemoryNotConfigured.
type UserMemory struct {
	client *Client
	scope  *pb.MemoryScope
}

// Memory returns a handle on the memory of a user: by default the client's, in its app. WithUser and WithApp name others.
func (c *Client) Memory(opts ...ScopeOption) *UserMemory {
	given := settingsOf(opts, ScopeOption.forScope)
	return &UserMemory{client: c, scope: &pb.MemoryScope{App: value(c.appOf(given)), UserId: c.userOf(given)}}
}

// Scope returns a copy of the user and app of the memory.
func (m *UserMemory) Scope() *pb.MemoryScope { return proto.CloneOf(m.scope) }

// Remember returns an entry to add, with a text as a user message. Set its other fields (Author, EventTime, MetadataJson ...)
// as needed.
func Remember(text string, opts ...EntryOption) *MemoryEntry {
	entry := &MemoryEntry{Content: User(text).Message}
	for _, option := range opts {
		option.forEntry(entry)
	}
	return entry
}

// WithMemoryID sets the id of an entry, unique in its namespace. Default: a new one when the entry is sent.
func WithMemoryID(id string) EntryOption {
	return entryOption(func(e *MemoryEntry) { e.Id = id })
}

// KeepFor sets how long an entry is kept after it is written, or read with RefreshTTL. Default: without limit.
func KeepFor(ttl time.Duration) EntryOption {
	return entryOption(func(e *MemoryEntry) { e.Ttl = durationpb.New(ttl) })
}

// The operators of a MemoryCondition. Values are compared by their JSON type, numbers as numbers.
const (
	Equal          = pb.MetadataOperator_METADATA_OPERATOR_EQUAL
	NotEqual       = pb.MetadataOperator_METADATA_OPERATOR_NOT_EQUAL // the only one that a missing key matches
	Greater        = pb.MetadataOperator_METADATA_OPERATOR_GREATER
	GreaterOrEqual = pb.MetadataOperator_METADATA_OPERATOR_GREATER_OR_EQUAL
	Less           = pb.MetadataOperator_METADATA_OPERATOR_LESS
	LessOrEqual    = pb.MetadataOperator_METADATA_OPERATOR_LESS_OR_EQUAL
	OneOf          = pb.MetadataOperator_METADATA_OPERATOR_IN // the value is a slice, of at most 100
)

// MemoryCondition is a comparison of a top-level value of the metadata: {"age", GreaterOrEqual, 30}.
type MemoryCondition struct {
	// Key of the value.
	Key string
	// Operator. Default: Equal.
	Operator pb.MetadataOperator
	// Value is for json.Marshal.
	Value any
}

// MemoryFilter selects memories. Fields combine with AND, values inside one with OR.
type MemoryFilter struct {
	// SessionIDs are the ids of the sessions that the entries come from.
	SessionIDs []string
	// Authors of the entries, compared exactly.
	Authors []string
	// FromTime and ToTime are the earliest and the latest time, inclusive.
	FromTime, ToTime time.Time
	// Metadata are top-level values of the metadata, numbers and booleans as JSON text. All must match.
	Metadata map[string]string
	// Conditions are comparisons of metadata. All must match; at most 16.
	Conditions []MemoryCondition
	// Namespace of the entries, and those below it. Default: all.
	Namespace []string
}

type (
	memoryFilterOption func(*settings)
	ingestOption       func(*settings)
)

func (o memoryFilterOption) forMemory(s *settings)       { o(s) }
func (o memoryFilterOption) forMemorySearch(s *settings) { o(s) }
func (o ingestOption) forMemory(s *settings)             { o(s) }

// WithMemoryFilter selects memories, for Search and List.
func WithMemoryFilter(filter MemoryFilter) interface {
	MemoryOption
	MemorySearchOption
} {
	return memoryFilterOption(func(s *settings) {
		s.memoryFilter = &pb.MemoryFilter{
			SessionIds: filter.SessionIDs, Authors: filter.Authors, Metadata: filter.Metadata,
			FromTime: timestamp(filter.FromTime), ToTime: timestamp(filter.ToTime), NamespacePrefix: filter.Namespace,
		}
		for _, each := range filter.Conditions {
			text, err := json.Marshal(each.Value)
			if err != nil {
				s.err = errors.Join(s.err, fmt.Errorf("threadkeep: the value of the condition on %q: %w", each.Key, err))
			}
			condition := &pb.MetadataCondition{Key: each.Key, Operator: each.Operator, ValueJson: string(text)}
			s.memoryFilter.Conditions = append(s.memoryFilter.Conditions, condition)
		}
	})
}

// WithTopK sets the maximum number of found entries. Default: 10; 5 for Semantic.
func WithTopK(n int) MemorySearchOption {
	return topOption(func(s *settings) { s.topK = int32(n) })
}

// WithEventIDs ingests only these events, at most 1,000, for AddSession.
func WithEventIDs(ids ...string) MemoryOption {
	return ingestOption(func(s *settings) { s.ingest.EventIds = ids })
}

// IngestTools also ingests tool calls and tool results, for AddSession.
func IngestTools() MemoryOption {
	return ingestOption(func(s *settings) { s.ingest.IncludeTools = true })
}

// IngestReasoning also ingests reasoning, for AddSession.
func IngestReasoning() MemoryOption {
	return ingestOption(func(s *settings) { s.ingest.IncludeReasoning = true })
}

// IngestSynthetic also ingests synthetic events, such as summaries, for AddSession.
func IngestSynthetic() MemoryOption {
	return ingestOption(func(s *settings) { s.ingest.IncludeSynthetic = true })
}

// Add adds entries, all or none; results are in their order. Entries without an id get one in a copy before they are sent, so
// that the client's retries add nothing twice. An existing id with the same content is a replay. Errors: ErrMemoryIDConflict,
// ErrEventTooLarge, ErrBatchTooLarge.
func (m *UserMemory) Add(ctx context.Context, entries ...*MemoryEntry) (*pb.AddMemoriesResponse, error) {
	request := &pb.AddMemoriesRequest{Scope: m.scope}
	for _, entry := range entries {
		request.Memories = append(request.Memories, identified(entry))
	}
	return m.client.raw.Memories.AddMemories(ctx, request)
}

// identified returns the entry with an id, in a copy if it has none.
func identified(entry *MemoryEntry) *MemoryEntry {
	if entry.GetId() == "" {
		entry = copyOf(entry)
		entry.Id = NewEventID()
	}
	return entry
}

// AddSession ingests a session: it adds one entry per event with text, or what WithEventIDs, IngestTools, IngestReasoning,
// IngestSynthetic and WithMetadata say. Existing entries are unchanged and deleted entries stay deleted, so the call can be
// repeated. Errors: ErrSessionNotFound, ErrAmbiguousSession, ErrEventNotFound.
func (m *UserMemory) AddSession(ctx context.Context, sessionID string, opts ...MemoryOption) (*pb.AddSessionToMemoryResponse, error) {
	given := settingsOf(opts, MemoryOption.forMemory)
	if given.err != nil {
		return nil, given.err
	}
	request := &given.ingest
	request.MetadataJson = value(given.metadata)
	request.Session = &SessionRef{App: m.scope.GetApp(), UserId: m.scope.GetUserId(), SessionId: sessionID}
	return m.client.raw.Memories.AddSessionToMemory(ctx, request)
}

// Search returns the entries that match the query, best first. An empty query returns nothing. Errors:
// ErrEmbedderNotConfigured, ErrEmbedderFailed.
func (m *UserMemory) Search(ctx context.Context, query string, opts ...MemorySearchOption) (*pb.SearchMemoryResponse, error) {
	given := settingsOf(opts, MemorySearchOption.forMemorySearch)
	if given.err != nil {
		return nil, given.err
	}
	return m.client.raw.Memories.SearchMemory(ctx, &pb.SearchMemoryRequest{
		Scope: m.scope, Query: query, Mode: given.search.GetMode(), TopK: given.topK, MinScore: given.search.MinScore,
		Filter: given.memoryFilter, Recency: given.search.GetRecency(), ReferenceTime: given.search.GetReferenceTime(),
		RefreshTtl: given.refreshTTL,
	})
}

func (m *UserMemory) listRequest(opts []MemoryOption) (*pb.ListMemoriesRequest, error) {
	given := settingsOf(opts, MemoryOption.forMemory)
	return &pb.ListMemoriesRequest{
		Scope: m.scope, Filter: given.memoryFilter, PageSize: given.pageSize, PageToken: given.pageToken, RefreshTtl: given.refreshTTL,
	}, given.err
}

// List iterates over the matching entries, most recently written first, page by page like SessionHandle.Events.
func (m *UserMemory) List(ctx context.Context, opts ...MemoryOption) iter.Seq2[*MemoryEntry, error] {
	request, err := m.listRequest(opts)
	return pages(ctx, request, err, m.client.raw.Memories.ListMemories, (*pb.ListMemoriesResponse).GetEntries)
}

// ListPage returns one page of List.
func (m *UserMemory) ListPage(ctx context.Context, opts ...MemoryOption) (*pb.ListMemoriesResponse, error) {
	request, err := m.listRequest(opts)
	if err != nil {
		return nil, err
	}
	return m.client.raw.Memories.ListMemories(ctx, request)
}

// Delete deletes the entries with these ids in the root namespace permanently; the response is a receipt. Unknown ids are counted.
func (m *UserMemory) Delete(ctx context.Context, ids ...string) (*pb.DeleteMemoriesResponse, error) {
	return m.client.raw.Memories.DeleteMemories(ctx, &pb.DeleteMemoriesRequest{
		Scope: m.scope, Selection: &pb.DeleteMemoriesRequest_Ids{Ids: &pb.MemoryIds{Ids: ids}},
	})
}

// DeleteOfSession deletes the entries that come from a session, which need not exist.
func (m *UserMemory) DeleteOfSession(ctx context.Context, sessionID string) (*pb.DeleteMemoriesResponse, error) {
	return m.client.raw.Memories.DeleteMemories(ctx, &pb.DeleteMemoriesRequest{
		Scope: m.scope, Selection: &pb.DeleteMemoriesRequest_SessionId{SessionId: sessionID},
	})
}

// DeleteAll deletes all entries.
func (m *UserMemory) DeleteAll(ctx context.Context) (*pb.DeleteMemoriesResponse, error) {
	return m.client.raw.Memories.DeleteMemories(ctx, &pb.DeleteMemoriesRequest{
		Scope: m.scope, Selection: &pb.DeleteMemoriesRequest_All{All: true},
	})
}

// DeleteNames deletes the entries with these names; see MemoryName.
func (m *UserMemory) DeleteNames(ctx context.Context, names ...*pb.MemoryName) (*pb.DeleteMemoriesResponse, error) {
	return m.client.raw.Memories.DeleteMemories(ctx, &pb.DeleteMemoriesRequest{
		Scope: m.scope, Selection: &pb.DeleteMemoriesRequest_Names{Names: &pb.MemoryNames{Names: names}},
	})
}

// DeleteNamespace deletes the entries in the namespace with these labels, at least one, and below it.
func (m *UserMemory) DeleteNamespace(ctx context.Context, labels ...string) (*pb.DeleteMemoriesResponse, error) {
	return m.client.raw.Memories.DeleteMemories(ctx, &pb.DeleteMemoriesRequest{
		Scope: m.scope, Selection: &pb.DeleteMemoriesRequest_Namespace{Namespace: &pb.MemoryNamespace{Labels: labels}},
	})
}
