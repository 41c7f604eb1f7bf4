package threadkeep

import (
	"context"
	"errors"
	"iter"

	pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

type (
	// EntryOption sets a field of an entry of Remember.
	EntryOption interface{ forEntry(*MemoryEntry) }
	// LookupOption configures UserMemory.Get and GetMany.
	LookupOption interface{ forLookup(*settings) }
	// UpsertOption configures UserMemory.Upsert.
	UpsertOption interface{ forUpsert(*settings) }
	// NamespacesOption configures UserMemory.Namespaces and its pages.
	NamespacesOption interface{ forNamespaces(*settings) }
)

type (
	entryOption      func(*MemoryEntry)
	namespaceOption  []string
	upsertOption     func(*settings)
	refreshOption    func(*settings)
	namespacesOption func(*settings)
)

func (o entryOption) forEntry(e *MemoryEntry)        { o(e) }
func (o namespaceOption) forEntry(e *MemoryEntry)    { e.Namespace = o }
func (o namespaceOption) forLookup(s *settings)      { s.lookup.Namespace = o }
func (o upsertOption) forUpsert(s *settings)         { o(s) }
func (o refreshOption) forLookup(s *settings)        { o(s) }
func (o refreshOption) forMemory(s *settings)        { o(s) }
func (o refreshOption) forMemorySearch(s *settings)  { o(s) }
func (o namespacesOption) forNamespaces(s *settings) { o(s) }
func (o pageOption) forNamespaces(s *settings)       { o(s) }

// InNamespace names the namespace of an entry: a path of at most 16 labels. Default: the root.
func InNamespace(labels ...string) interface {
	EntryOption
	LookupOption
} {
	return namespaceOption(labels)
}

// RefreshTTL lets returned entries expire one ttl from now, for Get, GetMany, Search and List. It requires the role writer.
func RefreshTTL() interface {
	LookupOption
	MemoryOption
	MemorySearchOption
} {
	return refreshOption(func(s *settings) { s.refreshTTL = true })
}

// Writes returns the entries as writes, for Upsert.
func Writes(entries ...*MemoryEntry) []*pb.MemoryWrite {
	writes := make([]*pb.MemoryWrite, len(entries))
	for i, entry := range entries {
		writes[i] = &pb.MemoryWrite{Memory: entry}
	}
	return writes
}

// WriteIf returns a write that requires the stored entry to have this etag; "" requires that there is none.
func WriteIf(entry *MemoryEntry, etag string) *pb.MemoryWrite {
	return &pb.MemoryWrite{Memory: entry, ExpectedEtag: &etag}
}

// KeepExisting keeps entries that exist as they are. Default: they are replaced.
func KeepExisting() UpsertOption {
	return upsertOption(func(s *settings) { s.ifMemoryExists = pb.IfMemoryExists_IF_MEMORY_EXISTS_IGNORE })
}

// Upsert writes entries, all or none: an entry with the same namespace and id is replaced. Entries without an id get one in a
// copy. The response has the outcome and the etag of each, in order.
//
//	written, err := memory.Upsert(ctx, threadkeep.Writes(threadkeep.Remember("Window seat.", threadkeep.WithMemoryID("seat"))))
//
// Errors: ErrVersionMismatch of a WriteIf, ErrEventTooLarge, ErrBatchTooLarge.
func (m *UserMemory) Upsert(ctx context.Context, writes []*pb.MemoryWrite, opts ...UpsertOption) (*pb.UpsertMemoriesResponse, error) {
	given := settingsOf(opts, UpsertOption.forUpsert)
	request := &pb.UpsertMemoriesRequest{Scope: m.scope, IfExists: given.ifMemoryExists}
	for _, write := range writes {
		own := &pb.MemoryWrite{Memory: identified(write.GetMemory()), ExpectedEtag: write.ExpectedEtag}
		request.Writes = append(request.Writes, own)
	}
	return m.client.raw.Memories.UpsertMemories(ctx, request)
}

// MemoryName returns the name of an entry, for GetMany and DeleteNames: its id in a namespace, by default the root.
func MemoryName(id string, namespace ...string) *pb.MemoryName {
	return &pb.MemoryName{Id: id, Namespace: namespace}
}

// Get returns the entry with this id, and whether there is one. It takes InNamespace and RefreshTTL.
func (m *UserMemory) Get(ctx context.Context, id string, opts ...LookupOption) (entry *MemoryEntry, found bool, err error) {
	given := settingsOf(opts, LookupOption.forLookup)
	entries, err := m.lookUp(ctx, []*pb.MemoryName{MemoryName(id, given.lookup.GetNamespace()...)}, given)
	if err != nil {
		return nil, false, err
	}
	return entries[0], entries[0] != nil, nil
}

// GetMany returns the entries with these names, at most 1,000, in order; nil in place of those that do not exist. Large entries
// take several calls, each with its own deadline. Names have their namespaces: InNamespace has no effect.
func (m *UserMemory) GetMany(ctx context.Context, names []*pb.MemoryName, opts ...LookupOption) ([]*MemoryEntry, error) {
	return m.lookUp(ctx, names, settingsOf(opts, LookupOption.forLookup))
}

func (m *UserMemory) lookUp(ctx context.Context, names []*pb.MemoryName, given *settings) ([]*MemoryEntry, error) {
	entries := make([]*MemoryEntry, 0, len(names))
	for len(entries) < len(names) {
		request := &pb.GetMemoriesRequest{Scope: m.scope, Names: names[len(entries):], RefreshTtl: given.refreshTTL}
		response, err := m.client.raw.Memories.GetMemories(ctx, request)
		if err != nil {
			return nil, err
		}
		before := len(entries)
		for _, each := range response.GetMemories() {
			if each.GetOmitted() {
				break
			}
			entries = append(entries, each.GetEntry())
		}
		if len(entries) == before {
			return nil, errors.New("threadkeep: the server returned no entry for the first name")
		}
	}
	return entries, nil
}

// WithNamespacePrefix lists only namespaces with these first labels; "*" matches any.
func WithNamespacePrefix(labels ...string) NamespacesOption {
	return namespacesOption(func(s *settings) { s.namespaces.Prefix = labels })
}

// WithNamespaceSuffix lists only namespaces with these last labels; "*" matches any.
func WithNamespaceSuffix(labels ...string) NamespacesOption {
	return namespacesOption(func(s *settings) { s.namespaces.Suffix = labels })
}

// WithMaxDepth returns only n labels of longer namespaces, each result once.
func WithMaxDepth(n int) NamespacesOption {
	return namespacesOption(func(s *settings) { s.namespaces.MaxDepth = int32(n) })
}

func (m *UserMemory) namespacesRequest(opts []NamespacesOption) *pb.ListMemoryNamespacesRequest {
	given := settingsOf(opts, NamespacesOption.forNamespaces)
	request := &given.namespaces
	request.Scope, request.PageSize, request.PageToken = m.scope, given.pageSize, given.pageToken
	return request
}

// Namespaces iterates over the namespaces that have entries, in order, as their labels; the root has none. Page by page like
// SessionHandle.Events.
func (m *UserMemory) Namespaces(ctx context.Context, opts ...NamespacesOption) iter.Seq2[[]string, error] {
	list := m.client.raw.Memories.ListMemoryNamespaces
	all := pages(ctx, m.namespacesRequest(opts), nil, list, (*pb.ListMemoryNamespacesResponse).GetNamespaces)
	return func(yield func([]string, error) bool) {
		for namespace, err := range all {
			if !yield(namespace.GetLabels(), err) {
				return
			}
		}
	}
}

// NamespacesPage returns one page of Namespaces, which may be empty and not be the last.
func (m *UserMemory) NamespacesPage(ctx context.Context, opts ...NamespacesOption) (*pb.ListMemoryNamespacesResponse, error) {
	return m.client.raw.Memories.ListMemoryNamespaces(ctx, m.namespacesRequest(opts))
}
