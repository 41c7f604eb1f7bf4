"""The laws of every strategy, on any window. `check_laws` checks a strategy's plan against all of them.

This module determines again, in a simple way, which events belong together, so that the domain's code for it is tested too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import strategies as st

from threadkeep_server.compaction.plan import NewEvent, Plan, Strategy, Window, applied, complete, outcome
from threadkeep_server.domain.model import Role, WindowEvent
from threadkeep_server.domain.text import prompt_line

SUMMARY = "They met."

_branches = st.sampled_from(["", "", "", "a", "a", "a.b"])
_call_ids = st.lists(st.sampled_from("cde"), max_size=2, unique=True).map(tuple)
_roles = st.sampled_from([Role.USER, Role.ASSISTANT, Role.ASSISTANT, Role.TOOL, Role.TOOL, Role.SYSTEM])


@st.composite
def _events(draw: st.DrawFn) -> WindowEvent:
    """Any event at all: calls and results on any role, ids used again, results without calls, calls without results."""
    role = draw(_roles)
    odd = draw(st.integers(0, 19)) == 0
    text = draw(st.sampled_from(["", "hi", "x" * 80, "y" * 300]))
    results = draw(_call_ids) if role is Role.TOOL or odd else ()
    return WindowEvent(
        seq=0,
        time=0,
        role=role,
        branch=draw(_branches),
        synthetic=draw(st.integers(0, 5)) == 0,
        text=text,
        event_id="",
        tokens=len(text),
        calls=draw(_call_ids) if role is Role.ASSISTANT or odd else (),
        results=results,
        result_names=tuple(f"find_{each}" for each in results),
        prompt_text=prompt_line(role, text),
    )


windows = st.builds(
    lambda events, branch: Window(
        tuple(replace(event, seq=seq, position=seq, event_id=f"e{seq}") for seq, event in enumerate(events, 1)), branch
    ),
    st.lists(_events(), max_size=24),
    st.sampled_from(["", "", "a", "a.b", "nobody"]),
)


def check_laws(strategy: Strategy, window: Window) -> None:
    requested = strategy.plan(window, len)
    plan = complete(requested, SUMMARY, window, len) if requested.summary else requested
    after = applied(window, plan, len)

    _check_books(window, plan, after)
    _check_scope(window, plan)
    _check_ties(window, after)
    again = strategy.plan(after, len)
    assert again.empty, f"again: {again}"
    assert again.summary is None
    assert strategy.plan(window, len) == requested, "equal windows have equal plans"


def _check_books(window: Window, plan: Plan, after: Window) -> None:
    """Archived and kept make up the window, what is kept keeps its order, and tokens add up."""
    before = [event.event_id for event in window.events]
    kept = [event for event in after.events if event in window.events]
    archived = set(plan.archive)
    assert len(archived) == len(plan.archive)
    assert [event.event_id for event in kept] == [each for each in before if each not in archived]
    assert list(plan.archive) == [each for each in before if each in archived]
    new = [event for events in plan.inserts.values() for event in events]
    assert len(after.events) == len(kept) + len(new)
    assert all(place is None or place in set(before) - archived for place in plan.inserts)
    assert [event for event in outcome(window, plan) if isinstance(event, NewEvent)] == new
    assert plan.tokens_before == sum(event.tokens for event in window.events)
    assert plan.tokens_after == sum(event.tokens for event in after.events)
    assert len({event.event_id for event in after.events}) == len(after.events)


def _check_scope(window: Window, plan: Plan) -> None:
    """Nothing outside the scope is touched; the latest SYSTEM event of a branch stays, and older ones stay only if tied."""
    by_id = {event.event_id: event for event in window.events}
    new = [event for events in plan.inserts.values() for event in events]
    if window.branch:
        assert {by_id[each].branch for each in plan.archive} | {event.branch for event in new} <= {window.branch}
    for stub in (event for event in new if event.stands_for):
        assert (stub.role, stub.branch) == (Role.TOOL, by_id[stub.stands_for].branch)
        assert stub.stands_for in plan.archive
    latest = {event.branch: event for event in window.events if event.role is Role.SYSTEM and not event.synthetic}
    assert not {event.event_id for event in latest.values()} & set(plan.archive)
    for event in window.events:
        if event.role is Role.SYSTEM and not event.synthetic and event not in latest.values():
            outside = bool(window.branch) and event.branch != window.branch
            tied = event.event_id in {end for pair in _pairs(window.events) for end in pair}
            assert outside or tied or event.event_id in plan.archive


def _check_ties(window: Window, after: Window) -> None:
    """Of a call and its result both stay or both go; the stub of a result is the result. No result loses its call."""
    left = {event.event_id for event in after.events}
    stood_for = {stub: original for original, stub in _stubs(window, after).items()}
    standing = left | set(stood_for.values())
    for call, result in _pairs(window.events):
        assert (call in left) == (result in standing), f"{call} and {result} were parted"
    pairs_left = {(call, stood_for.get(result, result)) for call, result in _pairs(after.events)}
    assert pairs_left == {(call, result) for call, result in _pairs(window.events) if call in left}


def _stubs(window: Window, after: Window) -> dict[str, str]:
    """Originals of the stubs that came in, and their stubs."""
    known = {event.event_id for event in window.events}
    stubs = [event for event in after.events if event.event_id not in known and event.role is Role.TOOL]
    return {
        event.event_id: stub.event_id for stub in stubs for event in window.events if f"Event {event.event_id} " in stub.text
    }


def _pairs(events: Sequence[WindowEvent]) -> set[tuple[str, str]]:
    """Each call and each result that answers it: the latest before it with its id, on its own branch if there is one there."""
    pairs = set()
    for index, event in enumerate(events):
        for answered in event.results:
            # An event's own calls come before its results.
            callers = [each for each in reversed(events[: index + 1]) if answered in each.calls]
            if callers:
                own = [each for each in callers if each.branch == event.branch]
                pairs.add(((own or callers)[0].event_id, event.event_id))
    return pairs
