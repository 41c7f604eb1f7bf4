"""When expired sessions are kept because the clock may be wrong."""

from __future__ import annotations

import pytest

from threadkeep_server.domain.model import SECOND_NS
from threadkeep_server.domain.sweeping import Hold, SweepFacts, SweepGuard

HOUR = 3600 * SECOND_NS
DAY = 24 * HOUR
NOW = 20_000 * DAY
ONE = SweepFacts(1, 0, NOW)


def guard(hold: int = DAY) -> SweepGuard:
    """A guard that has looked once, at NOW and the monotonic time 0."""
    made = SweepGuard(hold)
    assert made.held(ONE, NOW, 0) is None
    return made


def test_sweeps_are_free_while_both_clocks_agree() -> None:
    looks = guard()
    for day in range(1, 400):
        assert looks.held(ONE, NOW + day * DAY + day * 60 * SECOND_NS, day * DAY) is None


@pytest.mark.parametrize("jump", [61 * DAY, -61 * DAY])
def test_a_jump_holds_sweeps_until_the_hold_has_passed(jump: int) -> None:
    looks = guard()
    assert looks.held(ONE, NOW + jump + HOUR, HOUR) is Hold.JUMP
    assert looks.held(ONE, NOW + jump + DAY, DAY) is Hold.JUMP
    assert looks.held(ONE, NOW + jump + HOUR + DAY, HOUR + DAY) is None
    assert looks.held(ONE, NOW + jump + 2 * DAY, 2 * DAY) is None


def test_a_clock_that_returns_frees_sweeps_at_once() -> None:
    looks = guard()
    assert looks.held(ONE, NOW + 61 * DAY, HOUR) is Hold.JUMP
    assert looks.held(ONE, NOW + 2 * HOUR, 2 * HOUR) is None
    assert looks.held(ONE, NOW + 61 * DAY, 3 * HOUR) is Hold.JUMP


def test_a_start_long_after_the_newest_change_holds_sweeps() -> None:
    looks, facts = SweepGuard(DAY), SweepFacts(1, 0, NOW - DAY - 1)
    assert looks.held(facts, NOW, 0) is Hold.SILENCE
    assert looks.held(ONE, NOW + HOUR, HOUR) is Hold.SILENCE  # a new change is as wrong as the clock
    assert looks.held(facts, NOW + DAY, DAY) is None
    assert guard().held(facts, NOW + HOUR, HOUR) is None


def test_a_large_share_holds_sweeps_unless_the_sessions_are_few() -> None:
    looks = guard()
    assert looks.held(SweepFacts(1000, 1000, NOW), NOW, 1) is None
    assert looks.held(SweepFacts(1001, 10_011, NOW), NOW, 2) is None
    assert looks.held(SweepFacts(1002, 10_011, NOW), NOW, 3) is Hold.SHARE
    assert looks.held(SweepFacts(1002, 10_011, NOW), NOW + DAY, DAY + 3) is None


def test_nothing_is_held_without_expired_sessions_or_with_a_hold_of_zero() -> None:
    assert guard().held(SweepFacts(0, 0, NOW), NOW + 61 * DAY, HOUR) is None
    assert guard(0).held(SweepFacts(5000, 5000, NOW), NOW + 61 * DAY, HOUR) is None
