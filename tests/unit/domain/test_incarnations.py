"""Positions belong to the incarnation of the database that gave them out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from threadkeep_server.domain.feed import BEGINNING, Incarnation, Incarnations, Position

LIVES = Incarnations((Incarnation(7, Position(0, 100)), Incarnation(9, Position(0, 200))))
CHANGES = st.integers(0, 300)


def at(change: int) -> Position:
    return Position(0, change)


@given(CHANGES)
def test_a_position_that_was_given_out_is_held_for_ever(change: int) -> None:
    """Also after later incarnations have begun."""
    later = Incarnations((*LIVES.known, Incarnation(3, at(300)), Incarnation(4, at(400))))
    assert LIVES.hold(LIVES.of(at(change)), at(change))
    assert later.hold(LIVES.of(at(change)), at(change))


@given(CHANGES, st.integers(0, 300))
def test_a_position_of_a_lost_future_is_not_held(change: int, kept: int) -> None:
    """A backup with `kept` changes is restored; what came after it is lost, however many changes follow."""
    backup = Incarnations(tuple(each for each in LIVES.known if each.start.change < kept))
    restored = Incarnations((*backup.known, Incarnation(5, at(kept))))
    assert restored.hold(LIVES.of(at(change)), at(change)) == (change <= kept)


def test_without_incarnations_every_position_is_of_the_time_before_them() -> None:
    assert Incarnations().of(at(5)) == 0
    assert Incarnations().hold(0, at(5))
    assert not Incarnations().hold(7, BEGINNING)
