"""Eviction policies: which sessions leave the tool index, and when."""

from __future__ import annotations

import pytest

from threadkeep.chat import AlwaysEvict, EvictAfter, EvictByAny, Eviction, EvictLeastRecentlyUsed, NeverEvict


def used(policy: Eviction, *sessions: str) -> list[str]:
    """Uses these sessions in sequence and returns the evicted ones."""
    gone: list[str] = []
    for each in sessions:
        left = list(policy.used(each))
        assert each not in left, "the used session stays"
        for session in left:
            policy.dropped(session)
        gone += left
    return gone


def test_lru_evicts_the_least_recently_used_session_over_the_limit() -> None:
    policy = EvictLeastRecentlyUsed(2)
    assert used(policy, "a", "b", "a", "a") == []
    assert used(policy, "c") == ["b"], "a was used more recently"
    assert used(policy, "d", "e") == ["a", "c"]
    assert list(policy.finished("e")) == []


def test_lru_keeps_a_thousand_sessions_by_default() -> None:
    policy = EvictLeastRecentlyUsed()
    assert used(policy, *(str(each) for each in range(1000))) == []
    assert used(policy, "one more") == ["0"]


def test_lru_does_not_count_dropped_sessions() -> None:
    policy = EvictLeastRecentlyUsed(2)
    used(policy, "a", "b")
    policy.dropped("a")
    policy.dropped("never seen")
    assert used(policy, "c") == []


def test_evict_after_drops_expired_sessions_when_another_is_used() -> None:
    now = [0.0]
    policy = EvictAfter(10, clock=lambda: now[0])
    assert used(policy, "a", "b") == []
    now[0] = 8
    assert used(policy, "b") == []
    now[0] = 10
    assert used(policy, "c") == [], "the exact limit is not expired"
    now[0] = 11
    assert used(policy, "c") == ["a"]
    now[0] = 50
    assert used(policy, "b") == ["c"], "a used session is never evicted, however old"


def test_always_evict_drops_at_end_of_turn_and_never_evict_keeps() -> None:
    assert list(AlwaysEvict().finished("a")) == ["a"]
    assert used(AlwaysEvict(), "a", "b") == []
    assert used(NeverEvict(), *map(str, range(5000))) == []
    assert list(NeverEvict().finished("a")) == []


def test_evict_by_any_drops_once_what_any_policy_drops() -> None:
    now = [0.0]
    policy = EvictByAny(EvictLeastRecentlyUsed(2), EvictAfter(10, clock=lambda: now[0]))
    assert used(policy, "a", "b") == []
    assert used(policy, "c") == ["a"]
    now[0] = 20
    assert sorted(used(policy, "d")) == ["b", "c"]
    assert list(EvictByAny(NeverEvict(), AlwaysEvict()).finished("x")) == ["x"]
    policy.dropped("d")
    assert used(policy, "e", "f") == [], "every policy was notified"


def test_invalid_eviction_settings_are_rejected_by_name() -> None:
    with pytest.raises(ValueError, match="max_sessions: at least 1, not 0"):
        EvictLeastRecentlyUsed(0)
    for seconds in (0, -1, float("nan")):
        with pytest.raises(ValueError, match="seconds: more than 0"):
            EvictAfter(seconds)
    with pytest.raises(ValueError, match="policies: at least one"):
        EvictByAny()
