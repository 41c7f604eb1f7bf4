"""Context selection: each of its rules, and the behavior that agents rely on."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.unit.domain.window_events import call, event, names, result, window
from threadkeep_server.domain.context import Context, ContextMode, ContextSpec, is_lead, select_context
from threadkeep_server.domain.errors import InvalidField
from threadkeep_server.domain.filters import Authors, AuthorStep
from threadkeep_server.domain.model import Counters, WindowEvent


def context(log: list[WindowEvent], **spec: Any) -> Context[WindowEvent]:
    lead, conversation = [e for e in log if is_lead(e)], [e for e in log if not is_lead(e)]
    found = select_context(lead, conversation, ContextSpec(**spec))
    assert found is not None
    return found


def seen(log: list[WindowEvent], **spec: Any) -> str:
    return names(context(log, **spec).events)


def including(*ids: str, roles: tuple[str, ...] = ()) -> AuthorStep:
    return AuthorStep(True, Authors(frozenset(ids), frozenset(roles)))


def excluding(*ids: str, roles: tuple[str, ...] = ()) -> AuthorStep:
    return AuthorStep(False, Authors(frozenset(ids), frozenset(roles)))


@pytest.mark.parametrize("field", ["last_n", "max_turns", "max_bytes", "max_tokens", "max_size"])
@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_rejected(field: str, limit: int) -> None:
    with pytest.raises(InvalidField, match=re.escape(f"spec.{field} must be at least 1")):
        ContextSpec(**{field: limit})  # type: ignore[arg-type]


def test_author_steps_of_one_kind_merge_into_the_first_of_that_kind() -> None:
    spec = ContextSpec(authors=(including("a"), excluding("x"), including(roles=("r",)), excluding("y")))
    assert spec.authors == (including("a", roles=("r",)), excluding("x", "y"))


PLAIN = window("U1 A1 U2 A2 U3 A3")


@pytest.mark.parametrize("mode", [ContextMode.NONE, ContextMode.WRITE_ONLY])
def test_a_context_that_is_not_read_is_empty(mode: ContextMode) -> None:
    assert context(window("S ~A U1 A1"), mode=mode) == Context()


@pytest.mark.parametrize("mode", [ContextMode.READ_WRITE, ContextMode.READ_ONLY])
def test_a_context_without_limits_has_all_events(mode: ContextMode) -> None:
    found = context(PLAIN, mode=mode)
    assert found == Context(tuple(PLAIN), False, 1, 6, Counters(6, 3, 6, 6), False)
    assert context([]) == Context()


def test_system_prompts_come_first_then_summaries_then_the_conversation() -> None:
    found = context(window("U1 S1 ~U ~A A1 S2 U2"), last_n=1)
    assert names(found.events) == "S2 ~U ~A U2"
    assert (found.first_seq, found.last_seq, found.window) == (7, 7, Counters(4, 1, 4, 4))


def test_of_each_visible_branch_the_latest_system_prompt_is_pinned() -> None:
    log = window("S1 S1@a S1@b S2@a S2 U1")
    assert seen(log) == "S1@b S2@a S2 U1"
    assert seen(log, branch="a.x") == "S2@a S2 U1"
    assert seen(log, branch="c") == "S2 U1"
    assert seen(log, include_system=False) == "U1"


def test_a_summary_of_role_system_is_a_summary_and_a_stub_of_a_result_is_conversation() -> None:
    log = window("S1 ~S1", call("A1", "x"), result("~T1", "x"))
    assert seen(log) == "S1 ~S1 A1 ~T1"
    assert seen(log, include_system=False) == "~S1 A1 ~T1"
    assert [is_lead(each) for each in log] == [True, True, False, False]


def test_a_branch_sees_the_root_its_ancestors_and_itself() -> None:
    log = window("U1 A@a A@a.b A@a.c A@ab ~A@a ~A@z A1")
    assert seen(log, branch="a.b") == "~A@a U1 A@a A@a.b A1"
    assert seen(log) == "~A@a ~A@z U1 A@a A@a.b A@a.c A@ab A1"


FLEET = window(
    event("U1"),
    event("A1", author="r1", author_role="researcher"),
    event("A2", author="r2", author_role="researcher"),
    event("A3", author="w1", author_role="writer"),
    event("A4", author="x"),
)


@pytest.mark.parametrize(
    ("steps", "wanted"),
    [
        ((including("r1"),), "A1"),
        ((including(roles=("researcher",)),), "A1 A2"),
        ((including("w1", roles=("researcher",)),), "A1 A2 A3"),
        ((excluding("r1"),), "U1 A2 A3 A4"),
        ((excluding(roles=("researcher",)),), "U1 A3 A4"),
        ((excluding("x", roles=("writer",)),), "U1 A1 A2"),
        ((excluding(roles=("researcher", "writer", "")),), "U1 A4"),  # without a role an author is excluded by id only
        ((including(roles=("researcher",)), excluding("r1")), "A2"),
        ((including("r1"), excluding("r2"), including("r2", "w1")), "A1 A3"),
    ],
)
def test_author_steps_apply_one_after_the_other(steps: tuple[AuthorStep, ...], wanted: str) -> None:
    assert seen(FLEET, authors=steps) == wanted


def test_author_steps_hide_neither_summaries_nor_system_prompts() -> None:
    log = window(event("S", author="r1"), event("~A", author="r1"), event("A1", author="r1"), "U1")
    assert seen(log, authors=(excluding("r1"),)) == "S ~A U1"


def test_a_role_given_by_the_caller_wins_over_the_stored_one() -> None:
    roles = {"r2": "writer", "x": "researcher", "w1": ""}
    assert seen(FLEET, authors=(including(roles=("researcher",)),), author_roles=roles) == "A1 A4"
    assert seen(FLEET, authors=(including(roles=("writer",)),), author_roles=roles) == "A2"


def test_an_agent_whose_role_changed_keeps_the_role_of_each_event() -> None:
    log = window(event("A1", author="a", author_role="writer"), event("A2", author="a", author_role="editor"))
    assert seen(log, authors=(including(roles=("writer",)),)) == "A1"


def test_last_n_counts_what_the_filters_leave() -> None:
    assert seen(FLEET, authors=(including(roles=("researcher", "writer")),), last_n=2) == "A2 A3"
    assert seen(FLEET, authors=(including(roles=("researcher",)),), last_n=1) == "A2"


TOOLS = window("U1", call("A1", "x", "y"), result("T1", "x"), event("A@sub"), result("T2@sub", "y"), "A2 U2 A3")


def test_an_orphaned_result_is_left_out() -> None:
    assert seen(window("U1", result("T1", "x"), call("A1", "x"), "A2")) == "U1 A1 A2"
    assert not context(window(result("T1", "x"), "U1")).truncated


def test_a_call_that_has_no_result_yet_stays() -> None:
    assert seen(window("U1", call("A1", "x"))) == "U1 A1"


def test_calls_and_results_of_which_a_branch_hides_one_are_left_out() -> None:
    assert seen(TOOLS) == names(TOOLS)
    assert seen(TOOLS, branch="other") == "U1 A2 U2 A3"


def test_calls_and_results_of_which_an_author_step_hides_one_are_left_out() -> None:
    log = window("U1", call("A1", "x", author="a"), result("T1", "x", author="b"), "A2")
    assert seen(log, authors=(excluding("a"),)) == seen(log, authors=(excluding("b"),)) == "U1 A2"


def test_events_tied_to_an_orphan_are_omitted() -> None:
    assert seen(window("U1", call("A1", "x"), result("T1", "x", "gone"), result("T2", "x"), "A2")) == "U1 A2"


@pytest.mark.parametrize(("n", "first"), [(1, 5), (2, 5), (3, 3), (4, 3), (5, 1), (6, 1), (99, 1)])
def test_last_n_goes_back_to_the_start_of_its_turn(n: int, first: int) -> None:
    found = context(PLAIN, last_n=n)
    assert (found.first_seq, found.last_seq, found.truncated) == (first, 6, first > 1)


def test_last_n_without_a_turn_start_to_go_back_to_is_plain() -> None:
    assert seen(window("A1 A2 A3"), last_n=2) == "A2 A3"
    assert seen(window("A1 A2 U1 A3"), last_n=3) == "A2 U1 A3"
    assert seen(window("A1 A2 U1 A3"), last_n=3, max_bytes=3) == "A2 U1 A3"


@pytest.mark.parametrize(("turns", "wanted"), [(1, "U2 A2"), (2, "A0 U1 A1 U2 A2"), (9, "A0 U1 A1 U2 A2")])
def test_max_turns_keeps_the_newest_turns_and_what_precedes_the_first_only_with_it(turns: int, wanted: str) -> None:
    assert seen(window("A0 U1 A1 U2 A2"), max_turns=turns) == wanted


def test_max_turns_without_a_turn_keeps_everything() -> None:
    assert seen(window("A0 A1 U@sub"), max_turns=1) == "A0 A1 U@sub"


BUDGETS = {"max_bytes": "content_bytes", "max_tokens": "tokens", "max_size": "size"}
budgets = pytest.mark.parametrize("limit", BUDGETS)


def sized(limit: str, **sizes: int) -> list[WindowEvent]:
    return window(*(event(name.replace("sum", "~A"), **{BUDGETS[limit]: size}) for name, size in sizes.items()))


@budgets
def test_a_budget_that_fits_exactly_omits_nothing(limit: str) -> None:
    log = sized(limit, U1=20, A1=8, U2=20, A2=8)
    assert context(log, **{limit: 56}) == context(log)
    found = context(log, **{limit: 55})
    assert (names(found.events), found.truncated, found.over_budget) == ("U2 A2", True, False)


@budgets
def test_a_budget_keeps_the_newest_turn_and_reports_the_covered_seqs(limit: str) -> None:
    found = context(sized(limit, U1=20, A1=8, U2=20, A2=8), **{limit: 45})
    assert (names(found.events), found.first_seq, found.last_seq, found.truncated) == ("U2 A2", 3, 4, True)


@budgets
def test_a_newest_turn_beyond_the_budget_is_kept_whole(limit: str) -> None:
    found = context(sized(limit, U1=1, A1=1, U2=1, A2=99, A3=1), **{limit: 50})
    assert (names(found.events), found.truncated, found.over_budget) == ("U2 A2 A3", True, True)


@budgets
def test_leading_events_use_the_budget_first_and_are_always_included(limit: str) -> None:
    log = sized(limit, S=10, sum=10, U1=10, A1=10, U2=10, A2=10)
    assert seen(log, **{limit: 60}) == "S ~A U1 A1 U2 A2"
    assert seen(log, **{limit: 59}) == seen(log, **{limit: 40}) == "S ~A U2 A2"
    found = context(log, **{limit: 5})
    assert (names(found.events), found.over_budget) == ("S ~A U2 A2", True)
    assert context(log[:2], **{limit: 5}).over_budget


def test_a_budget_that_ends_inside_a_turn_starts_with_the_next() -> None:
    assert seen(PLAIN, max_bytes=5) == seen(PLAIN, max_bytes=4) == "U2 A2 U3 A3"
    assert seen(PLAIN, max_bytes=3) == "U3 A3"


def test_a_token_budget_applies_after_the_count_limits() -> None:
    assert seen(PLAIN, last_n=2, max_bytes=99) == seen(PLAIN, max_turns=1, max_tokens=99) == "U3 A3"
    assert seen(PLAIN, last_n=99, max_turns=2, max_bytes=3) == "U3 A3"


def test_without_a_turn_start_a_budget_ends_where_no_tools_are_torn() -> None:
    log = window("A1", call("A2", "x"), result("T2", "x"), "A3")
    assert seen(log, max_bytes=3) == "A2 T2 A3"
    assert seen(log, max_bytes=2) == "A3"
    found = context(log[:3], max_bytes=1)
    assert (names(found.events), found.over_budget) == ("A2 T2", True)


# The answer to the call comes in the next turn: U2 is no place to cut at.
LATE = window("U1", call("A1", "x"), "U2", result("T1", "x"), "A2 U3 A3")


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        ({"last_n": 4}, "U3 A3"),
        ({"max_turns": 2}, "U3 A3"),
        ({"max_bytes": 5}, "U3 A3"),
        ({"last_n": 7}, "U1 A1 U2 T1 A2 U3 A3"),
        ({"max_turns": 3}, "U1 A1 U2 T1 A2 U3 A3"),
    ],
)
def test_a_cut_that_would_tear_tools_moves_to_the_next_turn_start_that_does_not(spec: dict[str, int], wanted: str) -> None:
    assert seen(LATE, **spec) == wanted


@pytest.mark.parametrize("spec", [{"last_n": 3}, {"max_turns": 1}, {"max_bytes": 3}])
def test_a_cut_with_no_such_turn_start_after_it_moves_to_the_last_before_it(spec: dict[str, int]) -> None:
    assert seen(LATE[:5], **spec) == "U1 A1 U2 T1 A2"


def test_results_in_user_events_stay_with_their_calls() -> None:
    log = window("U1 A1 U2", call("A2", "x"), result("U3", "x"), call("A3", "y"), result("U4", "y"), "A4")
    assert seen(log, max_turns=1) == seen(log, last_n=2) == seen(log, max_bytes=4) == "U2 A2 U3 A3 U4 A4"


def test_ties_among_hidden_events_do_not_move_a_cut() -> None:
    log = window("U1", call("A@a", "x"), "A1 U2", result("T@a", "x"), "A2")
    assert seen(log, max_turns=1, branch="b") == "U2 A2"
    assert seen(log, max_turns=1) == names(log)


@pytest.mark.parametrize(
    ("names_of_log", "spec", "through"),
    [
        ("U1 A1 U2 A2", {}, 4),
        ("U1 A1 U2 A2", {"max_turns": 1}, 4),
        # What a branch hides stops it; what is older than the context does not.
        ("U1 A1 A2@sub U2 A3", {"branch": "other"}, 2),
        ("A1@sub U1 A2", {"branch": "other", "max_turns": 1}, 3),
        # Nothing visible lies before what is hidden.
        ("U1 ~A2@sub U2", {"branch": "other", "max_turns": 1}, 0),
        # A superseded SYSTEM event may go unseen.
        ("S1 U1 S2 A1", {}, 4),
        ("S1", {}, 0),
        ("", {}, 0),
    ],
)
def test_compactable_through_stops_before_the_first_event_a_context_hides(
    names_of_log: str, spec: dict[str, Any], through: int
) -> None:
    log = window(names_of_log)
    assert context(log, **spec).compactable_through(len(log)) == through
