"""Callers, and what belongs to them."""

from __future__ import annotations

from threadkeep_server.domain.model import Caller


def test_callers_with_another_reach_do_not_share_consumers() -> None:
    callers = [
        Caller("acme"),
        Caller("acme", "alice"),
        Caller("acme", "shop"),
        Caller("acme", app="shop"),
        Caller("acme", app="alice"),
        Caller("acme", "alice", app="shop"),
        Caller("acme", "shop", app="alice"),
        Caller("acme", "shopalice"),
    ]
    assert len({caller.owner for caller in callers}) == len(callers)
    assert [caller.is_bound for caller in callers] == [False] + [True] * 7


def test_owners_of_callers_without_an_app_are_those_of_earlier_versions() -> None:
    assert (Caller("acme").owner, Caller("acme", "alice").owner) == ("", "alice")
