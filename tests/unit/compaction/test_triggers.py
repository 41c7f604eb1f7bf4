"""Triggers: when a compaction is due."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from threadkeep_server.compaction.triggers import AllOf, AnyOf, ByteSize, EventCount, TokenCount, Trigger, TurnCount
from threadkeep_server.domain.errors import InvalidField
from threadkeep_server.domain.model import Counters

from .notation import window


@pytest.mark.parametrize(
    ("events", "turns"),
    [
        ("", 0),
        ("U1 A1 U2 A2 U3 A3", 3),
        ("~Uo ~Ao U1 A1", 1),
        ("A1 A2", 0),
        ("U1 U2@sub A2@sub A1", 1),
    ],
)
def test_turns_are_real_user_events_of_the_root_branch(events: str, turns: int) -> None:
    assert window(events).counters.turns == turns


def test_every_active_event_counts_as_an_event() -> None:
    assert window("~Uo ~Ao S1 U1 A1 U2@sub").counters.events == 6


@pytest.mark.parametrize(
    ("most", "events", "fires"),
    [
        (5, "U1 A1 U2 A2 U3 A3", False),
        (3, "U1 A1 U2 A2 U3 A3", False),
        (3, "U1 A1 U2 A2 U3 A3 U4 A4", True),
        (1, "", False),
        (2, "~Ua ~Aa ~Ub ~Ab ~Uc ~Ac ~Ud ~Ad ~Ue ~Ae U1 A1 U2 A2", False),
    ],
)
def test_turn_count_fires_above_its_limit(most: int, events: str, fires: bool) -> None:
    assert TurnCount(most).fires(window(events).counters) is fires


@pytest.mark.parametrize(
    ("threshold", "events", "fires"),
    [
        (27, "U1=11 A1=16", True),
        (27, "U1=11 A1=17", True),
        (22, "U1=8 A1=13", False),
        (1, "", False),
        (35, "U1 A1 U2 A2", True),
        pytest.param(20, "~Uo=10 ~Ao=10", True),
    ],
)
def test_token_count_fires_at_its_threshold(threshold: int, events: str, fires: bool) -> None:
    assert TokenCount(threshold).fires(window(events).counters) is fires


@pytest.mark.parametrize(("trigger", "at"), [(ByteSize(10), Counters(bytes=10)), (EventCount(10), Counters(events=10))])
def test_bytes_and_events_fire_at_their_threshold(trigger: Trigger, at: Counters) -> None:
    assert trigger.fires(at)
    assert not trigger.fires(Counters(9, 99, 9, 99))


BUSY = Counters(events=5, turns=5, bytes=5, tokens=5)


def test_any_of_and_all_of() -> None:
    yes, no = TokenCount(5), TokenCount(6)
    assert [AnyOf(triggers).fires(BUSY) for triggers in [(yes,), (no,), (no, yes), (no, no)]] == [True, False, True, False]
    assert [AllOf(triggers).fires(BUSY) for triggers in [(yes,), (no,), (no, yes), (yes, yes)]] == [True, False, False, True]
    assert AllOf((AnyOf((no, yes)), EventCount(5))).fires(BUSY)


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: TurnCount(0), "trigger.turns_over"),
        (lambda: TurnCount(-1), "trigger.turns_over"),
        (lambda: TokenCount(0), "trigger.tokens"),
        (lambda: TokenCount(-1), "trigger.tokens"),
        (lambda: AnyOf(()), "trigger.any_of"),
        (lambda: ByteSize(0), "trigger.bytes"),
        (lambda: EventCount(0), "trigger.events"),
        (lambda: AllOf(()), "trigger.all_of"),
        (lambda: TokenCount(0, field="trigger.any_of[1]"), "trigger.any_of[1].tokens"),
        (lambda: AllOf((), field="policy.trigger.any_of[0]"), "policy.trigger.any_of[0].all_of"),
    ],
)
def test_a_trigger_that_cannot_fire_is_refused(make: Callable[[], Trigger], field: str) -> None:
    with pytest.raises(InvalidField) as caught:
        make()
    assert caught.value.metadata["field"] == field


def test_triggers_nest_eight_deep_and_no_deeper() -> None:
    trigger: Trigger = EventCount(1)
    for depth in range(8):
        trigger = AnyOf((trigger,)) if depth % 2 else AllOf((trigger,))
    assert trigger.fires(BUSY)
    with pytest.raises(InvalidField, match=r"^trigger.any_of must be nested at most 8 deep$"):
        AnyOf((EventCount(1), trigger))
