package threadkeep

import (
	"testing"
	"time"

	pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

// filterSent returns the message of a filter.
func filterSent(t *testing.T, filter Filter) *pb.EventFilter {
	t.Helper()
	message, err := filter.Message()
	if err != nil {
		t.Fatal(err)
	}
	return message
}

func TestFilterHasEveryCondition(t *testing.T) {
	filter := Filter{
		FromTime: time.Unix(1, 0), ToTime: time.Unix(2, 5), AfterSeq: 3, BeforeSeq: 9, Roles: []pb.Role{RoleUser, RoleTool},
		Authors:          Authors{}.Include(IDs("a"), Roles("b")).Exclude(Roles("critic")),
		ExcludeSynthetic: true, View: ViewActive, Keyword: "k", Keywords: []string{"x", "y"}, MatchAll: true,
		Branch: "b", ExactBranch: true, Page: 2, PageSize: 10,
	}
	same(t, "all", `from_time: {seconds: 1} to_time: {seconds: 2 nanos: 5} after_seq: 3 before_seq: 9 roles: ROLE_USER roles: ROLE_TOOL
		author_filters: {include: {ids: "a" roles: "b"}} author_filters: {exclude: {roles: "critic"}} exclude_synthetic: true
		view: LOG_VIEW_ACTIVE keyword: "k" keywords: "x" keywords: "y" keyword_match: KEYWORD_MATCH_ALL branch: "b"
		branch_match: BRANCH_MATCH_EXACT page: {page: 2 page_size: 10}`, filterSent(t, filter))
	same(t, "none", ``, filterSent(t, Filter{}))
	same(t, "exact", `exact_last_n: 4`, filterSent(t, Filter{ExactLastN: 4}))
	if _, err := (Filter{LastN: 1, ExactLastN: 1}).Message(); err == nil {
		t.Error("two windows")
	}
	for _, err := range connected(t, "127.0.0.1:1").Session("s").Events(t.Context(), WithFilter(Filter{LastN: 1, Page: 1})) {
		if err == nil {
			t.Error("two windows")
		}
	}
}

func TestMergeReplacesWhatTheOtherFilterSets(t *testing.T) {
	mine := Filter{Roles: []pb.Role{RoleUser}, Keywords: []string{"a"}, MatchAll: true, Branch: "b", ExactBranch: true, AfterSeq: 3, LastN: 5}
	merged := mine.Merge(Filter{Roles: []pb.Role{RoleTool}, Keywords: []string{"c"}, Branch: "d"})
	same(t, "set", `roles: ROLE_TOOL keywords: "c" branch: "d" after_seq: 3 last_n: 5`, filterSent(t, merged))
	same(t, "empty", filterSent(t, mine).String(), filterSent(t, mine.Merge(Filter{})))
	same(t, "window", `page: {page_size: 7}`, filterSent(t, Filter{LastN: 5}.Merge(Filter{PageSize: 7})))
	same(t, "synthetic", `exclude_synthetic: true`, filterSent(t, Filter{ExcludeSynthetic: true}.Merge(Filter{})))
}

func TestMemoryProviderSaysWhatIsReadAndWhetherItWrites(t *testing.T) {
	for name, each := range map[string]struct {
		provider      MemoryProvider
		reads, writes bool
	}{
		"zero": {MemoryProvider{}, true, true}, "limited window": {LimitedWindow(), true, true}, "none": {None(), false, false},
		"read only": {ReadOnly(), true, false}, "write only": {WriteOnly(), false, true},
		"then read only": {LimitedWindow().ReadOnly(), true, false}, "then write only": {ReadOnly().WriteOnly(), false, true},
	} {
		if each.provider.Reads() != each.reads || each.provider.Writes() != each.writes {
			t.Error(name)
		}
	}
}

func TestMemoryProviderCollectsItsConditions(t *testing.T) {
	first := LimitedWindow().Filtered(Authors{}.Include(Roles("planner"))).WithAuthorRoles(map[string]string{"a": "planner"})
	all := first.ReadLast(20, Authors{}.Exclude(IDs("critic"))).MaxTurns(10).MaxTokens(8000).MaxBytes(9000).OnBranch("b").
		WithoutSystem().WithAuthorRoles(map[string]string{"c": "critic"})
	same(t, "all", `mode: CONTEXT_MODE_READ_WRITE author_filters: {include: {roles: "planner"}} author_filters: {exclude: {ids: "critic"}}
		author_roles: {key: "a" value: "planner"} author_roles: {key: "c" value: "critic"} last_n: 20 max_turns: 10 max_tokens: 8000
		max_bytes: 9000 branch: "b" exclude_system: true`, all.Spec())
	same(t, "the first stays", `mode: CONTEXT_MODE_READ_WRITE author_filters: {include: {roles: "planner"}}
		author_roles: {key: "a" value: "planner"}`, first.Spec())
}
