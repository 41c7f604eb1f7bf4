package threadkeep

import (
	"errors"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

// The roles of messages.
const (
	RoleUser      = pb.Role_ROLE_USER
	RoleAssistant = pb.Role_ROLE_ASSISTANT
	RoleSystem    = pb.Role_ROLE_SYSTEM
	RoleTool      = pb.Role_ROLE_TOOL
)

// The parts of a log that a filter reads.
const (
	// ViewActive is the active window: events that no compaction has archived.
	ViewActive = pb.LogView_LOG_VIEW_ACTIVE
	// ViewHistory, the default, is the whole log, archived events included.
	ViewHistory = pb.LogView_LOG_VIEW_HISTORY
)

// AuthorChoice is a set of agents; see IDs and Roles.
type AuthorChoice struct{ ids, roles []string }

// IDs chooses agents by their ids, compared exactly.
func IDs(ids ...string) AuthorChoice { return AuthorChoice{ids: ids} }

// Roles chooses agents by their roles in the fleet, compared exactly.
func Roles(roles ...string) AuthorChoice { return AuthorChoice{roles: roles} }

// Authors are the authors whose events are read: Authors{}.Include(Roles("planner")).Exclude(IDs("critic")). Steps apply in
// order, each to the result of the one before it; steps of one kind merge at the position of the first. Immutable.
type Authors struct{ steps []*pb.AuthorFilter }

// Include keeps only events of these agents.
func (a Authors) Include(choices ...AuthorChoice) Authors {
	return a.with(&pb.AuthorFilter{Kind: &pb.AuthorFilter_Include{Include: union(choices)}})
}

// Exclude drops events of these agents.
func (a Authors) Exclude(choices ...AuthorChoice) Authors {
	return a.with(&pb.AuthorFilter{Kind: &pb.AuthorFilter_Exclude{Exclude: union(choices)}})
}

func (a Authors) with(step *pb.AuthorFilter) Authors {
	return Authors{append(slices.Clip(a.steps), step)}
}

func union(choices []AuthorChoice) *pb.AuthorSet {
	set := &pb.AuthorSet{}
	for _, choice := range choices {
		set.Ids, set.Roles = append(set.Ids, choice.ids...), append(set.Roles, choice.roles...)
	}
	return set
}

// Filter selects events. Conditions combine with AND, values inside one with OR; then at most one window applies. Zero values
// are not set.
type Filter struct {
	// FromTime and ToTime are the earliest and the latest time, inclusive.
	FromTime, ToTime time.Time
	// AfterSeq and BeforeSeq are seqs that events must exceed and precede.
	AfterSeq, BeforeSeq int64
	// Roles of the message. At most 16.
	Roles []pb.Role
	// Authors to include and exclude.
	Authors Authors
	// ExcludeSynthetic leaves out synthetic events, such as summaries.
	ExcludeSynthetic bool
	// View is the part of the log. Default: ViewHistory.
	View pb.LogView
	// Keyword is a substring of the text, after case folding. At most 1,024 characters.
	Keyword string
	// Keywords are substrings of the text, of which one or, with MatchAll, all must occur. At most 64.
	Keywords []string
	MatchAll bool
	// InvocationIDs and NativeFormats of the events, compared exactly. At most 64 and 16.
	InvocationIDs, NativeFormats []string
	// Metadata are top-level values of the metadata, numbers and booleans as JSON text. All must match; at most 16.
	Metadata map[string]string
	// Pattern is a regular expression in the syntax of RE2 that matches somewhere in the text. Not for watches and consumers.
	Pattern string
	// Branch selects what an agent on it sees; with ExactBranch this branch only, and the root if it is empty.
	Branch      string
	ExactBranch bool
	// LastN is a window: the newest n matches, extended to the start of a turn unless there is a keyword.
	LastN int
	// ExactLastN is a window: the newest n matches, never extended.
	ExactLastN int
	// PageSize is a window: the page with the number Page, from 0.
	Page, PageSize int
}

// Merge returns a filter with the conditions of both. What the other one sets replaces what this one sets: values are not
// added, Keywords go with MatchAll, Branch with ExactBranch, and a window replaces a window of any kind. Synthetic events are
// left out if either leaves them out.
func (f Filter) Merge(other Filter) Filter {
	replace(&f.FromTime, other.FromTime)
	replace(&f.ToTime, other.ToTime)
	replace(&f.AfterSeq, other.AfterSeq)
	replace(&f.BeforeSeq, other.BeforeSeq)
	replace(&f.View, other.View)
	replace(&f.Keyword, other.Keyword)
	replace(&f.Pattern, other.Pattern)
	if other.InvocationIDs != nil {
		f.InvocationIDs = other.InvocationIDs
	}
	if other.NativeFormats != nil {
		f.NativeFormats = other.NativeFormats
	}
	if other.Metadata != nil {
		f.Metadata = other.Metadata
	}
	f.ExcludeSynthetic = f.ExcludeSynthetic || other.ExcludeSynthetic
	if other.Roles != nil {
		f.Roles = other.Roles
	}
	if other.Authors.steps != nil {
		f.Authors = other.Authors
	}
	if other.Keywords != nil {
		f.Keywords, f.MatchAll = other.Keywords, other.MatchAll
	}
	if other.Branch != "" || other.ExactBranch {
		f.Branch, f.ExactBranch = other.Branch, other.ExactBranch
	}
	if other.LastN != 0 || other.ExactLastN != 0 || other.PageSize != 0 {
		f.LastN, f.ExactLastN, f.Page, f.PageSize = other.LastN, other.ExactLastN, other.Page, other.PageSize
	}
	return f
}

func replace[T comparable](mine *T, other T) {
	if other != *new(T) {
		*mine = other
	}
}

// Message returns the filter as it is sent, for requests of the generated clients. More than one window is an error.
func (f Filter) Message() (*pb.EventFilter, error) {
	message := &pb.EventFilter{
		FromTime:         timestamp(f.FromTime),
		ToTime:           timestamp(f.ToTime),
		AfterSeq:         optional(f.AfterSeq),
		BeforeSeq:        optional(f.BeforeSeq),
		Roles:            f.Roles,
		AuthorFilters:    f.Authors.steps,
		ExcludeSynthetic: f.ExcludeSynthetic,
		View:             f.View,
		Keyword:          f.Keyword,
		Keywords:         f.Keywords,
		InvocationIds:    f.InvocationIDs,
		NativeFormats:    f.NativeFormats,
		Metadata:         f.Metadata,
		Pattern:          f.Pattern,
		Branch:           f.Branch,
	}
	if f.MatchAll {
		message.KeywordMatch = pb.KeywordMatch_KEYWORD_MATCH_ALL
	}
	if f.ExactBranch {
		message.BranchMatch = pb.BranchMatch_BRANCH_MATCH_EXACT
	}
	windows := 0
	if f.LastN != 0 {
		windows++
		message.Limit = &pb.EventFilter_LastN{LastN: int32(f.LastN)}
	}
	if f.ExactLastN != 0 {
		windows++
		message.Limit = &pb.EventFilter_ExactLastN{ExactLastN: int32(f.ExactLastN)}
	}
	if f.PageSize != 0 || f.Page != 0 {
		windows++
		message.Limit = &pb.EventFilter_Page{Page: &pb.NumberedPage{Page: int32(f.Page), PageSize: int32(f.PageSize)}}
	}
	if windows > 1 {
		return nil, errors.New("threadkeep: set at most one window of a Filter: LastN, ExactLastN or PageSize")
	}
	return message, nil
}

func optional(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

func timestamp(at time.Time) *timestamppb.Timestamp {
	if at.IsZero() {
		return nil
	}
	return timestamppb.New(at)
}

type filterOption func(*settings)

func (o filterOption) forEvents(s *settings)   { o(s) }
func (o filterOption) forSearch(s *settings)   { o(s) }
func (o filterOption) forWatch(s *settings)    { o(s) }
func (o filterOption) forWatchAll(s *settings) { o(s) }
func (o filterOption) forConsume(s *settings)  { o(s) }

// WithFilter selects events. Watches and consumers allow no window; an append without matching events is not delivered.
func WithFilter(filter Filter) interface {
	EventsOption
	LoadOption
	UserEventsOption
	SearchOption
	WatchOption
	WatchAllOption
	ConsumeOption
} {
	message, err := filter.Message()
	return filterOption(func(s *settings) { s.filter, s.err = message, errors.Join(s.err, err) })
}

// WithRawFilter selects events by a message, for fields that Filter lacks.
func WithRawFilter(filter *pb.EventFilter) interface {
	EventsOption
	LoadOption
	UserEventsOption
	SearchOption
	WatchOption
	WatchAllOption
	ConsumeOption
} {
	return filterOption(func(s *settings) { s.filter = filter })
}

// MemoryProvider says how a participant uses a session: the events it reads, and whether it writes. For GetContext and
// WithMemory: LimitedWindow().Filtered(Authors{}.Include(Roles("planner"))).MaxTurns(10).
//
// Its zero value is LimitedWindow. Every method returns a new provider. All conditions apply: authors first, then the newest n
// events, then the newest turns, then the sizes.
type MemoryProvider struct{ spec *pb.ContextSpec }

// LimitedWindow reads the active window within the size of the session or the server, and writes.
func LimitedWindow() MemoryProvider { return withMode(pb.ContextMode_CONTEXT_MODE_READ_WRITE) }

// None neither reads nor writes.
func None() MemoryProvider { return withMode(pb.ContextMode_CONTEXT_MODE_NONE) }

// ReadOnly reads; its appends are dropped.
func ReadOnly() MemoryProvider { return withMode(pb.ContextMode_CONTEXT_MODE_READ_ONLY) }

// WriteOnly writes; its contexts are empty.
func WriteOnly() MemoryProvider { return withMode(pb.ContextMode_CONTEXT_MODE_WRITE_ONLY) }

// Custom returns a provider from a ContextSpec, which documents the fields.
func Custom(spec *pb.ContextSpec) MemoryProvider { return MemoryProvider{copyOf(spec)} }

func withMode(mode pb.ContextMode) MemoryProvider {
	return MemoryProvider{&pb.ContextSpec{Mode: mode}}
}

// Spec returns a copy of the ContextSpec that is sent.
func (m MemoryProvider) Spec() *pb.ContextSpec { return copyOf(m.spec) }

// Reads reports whether its contexts have events.
func (m MemoryProvider) Reads() bool {
	mode := m.spec.GetMode()
	return mode != pb.ContextMode_CONTEXT_MODE_NONE && mode != pb.ContextMode_CONTEXT_MODE_WRITE_ONLY
}

// Writes reports whether its appends are sent.
func (m MemoryProvider) Writes() bool {
	mode := m.spec.GetMode()
	return mode != pb.ContextMode_CONTEXT_MODE_NONE && mode != pb.ContextMode_CONTEXT_MODE_READ_ONLY
}

// ReadOnly reads the same; its appends are dropped.
func (m MemoryProvider) ReadOnly() MemoryProvider {
	return m.with(func(s *pb.ContextSpec) { s.Mode = pb.ContextMode_CONTEXT_MODE_READ_ONLY })
}

// WriteOnly writes; its contexts are empty.
func (m MemoryProvider) WriteOnly() MemoryProvider {
	return m.with(func(s *pb.ContextSpec) { s.Mode = pb.ContextMode_CONTEXT_MODE_WRITE_ONLY })
}

// ReadLast reads only the newest n events of these authors, or of all, extended back to the start of their turn.
func (m MemoryProvider) ReadLast(n int, authors Authors) MemoryProvider {
	return m.Filtered(authors).with(func(s *pb.ContextSpec) { s.LastN = proto.Int32(int32(n)) })
}

// Filtered reads only events of these authors; a further filter applies to its result.
func (m MemoryProvider) Filtered(authors Authors) MemoryProvider {
	return m.with(func(s *pb.ContextSpec) { s.AuthorFilters = slices.Concat(s.AuthorFilters, authors.steps) })
}

// WithAuthorRoles sets roles of agents by id, for Filtered; they override the roles stored with the events.
func (m MemoryProvider) WithAuthorRoles(roles map[string]string) MemoryProvider {
	return m.with(func(s *pb.ContextSpec) {
		merged := map[string]string{}
		maps.Copy(merged, s.AuthorRoles)
		maps.Copy(merged, roles)
		s.AuthorRoles = merged
	})
}

// MaxTurns reads only the newest n turns.
func (m MemoryProvider) MaxTurns(n int) MemoryProvider {
	return m.with(func(s *pb.ContextSpec) { s.MaxTurns = proto.Int32(int32(n)) })
}

// MaxTokens reads at most n tokens, by the server's estimate.
func (m MemoryProvider) MaxTokens(n int64) MemoryProvider {
	return m.with(func(s *pb.ContextSpec) { s.MaxTokens = &n })
}

// MaxBytes reads at most n bytes of text, reasoning, tool calls and results.
func (m MemoryProvider) MaxBytes(n int64) MemoryProvider {
	return m.with(func(s *pb.ContextSpec) { s.MaxBytes = &n })
}

// OnBranch reads what an agent on this branch sees: events of the root, the branch itself and its ancestors.
func (m MemoryProvider) OnBranch(branch string) MemoryProvider {
	return m.with(func(s *pb.ContextSpec) { s.Branch = branch })
}

// WithoutSystem leaves out the SYSTEM event.
func (m MemoryProvider) WithoutSystem() MemoryProvider {
	return m.with(func(s *pb.ContextSpec) { s.ExcludeSystem = true })
}

func (m MemoryProvider) with(change func(*pb.ContextSpec)) MemoryProvider {
	spec := copyOf(m.spec)
	change(spec)
	return MemoryProvider{spec}
}
