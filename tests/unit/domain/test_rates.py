"""Rate limits of callers and tenants."""

from __future__ import annotations

import pytest

from threadkeep_server.domain import rates
from threadkeep_server.domain.errors import RateLimited
from threadkeep_server.domain.model import Caller
from threadkeep_server.domain.rates import RateLimiter, Rates

ALICE, BOB, OTHER = Caller("acme", "alice"), Caller("acme", "bob"), Caller("other", "alice")


class Time:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def limiter(time: Time, caller: Rates = Rates(), tenant: Rates = Rates()) -> RateLimiter:  # noqa: B008 - frozen
    return RateLimiter(caller, tenant, time)


def admitted(limits: RateLimiter, caller: Caller, size: int = 0, *, search: bool = False) -> int:
    """Returns how many requests are admitted before one is refused."""
    count = 0
    try:
        while count < 1_000:
            limits.admit(caller, size, search=search)
            count += 1
    except RateLimited:
        pass
    return count


def test_a_caller_has_two_seconds_of_its_rate_and_then_its_rate() -> None:
    time = Time()
    limits = limiter(time, Rates(requests=10))
    assert (admitted(limits, ALICE), admitted(limits, ALICE), admitted(limits, BOB)) == (20, 0, 20)
    time.now += 0.5
    assert admitted(limits, ALICE) == 5
    time.now += 1_000
    assert admitted(limits, ALICE) == 20


def test_a_tenant_shares_its_rate() -> None:
    limits = limiter(Time(), Rates(requests=10), Rates(requests=15))
    assert (admitted(limits, ALICE), admitted(limits, BOB), admitted(limits, OTHER)) == (20, 10, 20)


def test_a_refused_request_is_not_counted() -> None:
    limits = limiter(Time(), Rates(requests=10), Rates(bytes=100))
    limits.admit(BOB, 150, search=False)
    for _ in range(50):
        with pytest.raises(RateLimited) as refused:
            limits.admit(BOB, 100, search=False)
        assert refused.value.metadata["limit"] == "bytes_per_second_of_tenant"
    assert admitted(limits, BOB) == 19


def test_a_request_above_the_capacity_needs_a_full_bucket() -> None:
    time = Time()
    limits = limiter(time, Rates(bytes=100))
    limits.admit(ALICE, 1_000, search=False)
    time.now += 7.5
    with pytest.raises(RateLimited) as refused:
        limits.admit(ALICE, 50, search=False)
    assert refused.value.retry_after_s == 1.0
    time.now += 1
    limits.admit(ALICE, 50, search=False)


def test_the_error_names_the_limit_and_the_wait() -> None:
    limits = limiter(Time(), Rates(requests=0.5))
    limits.admit(ALICE, 0, search=False)
    with pytest.raises(RateLimited, match="requests per second of caller") as refused:
        limits.admit(ALICE, 0, search=False)
    assert refused.value.retry_after_s == 2.0


def test_searches_are_charged_for_their_time() -> None:
    time = Time()
    limits = limiter(time, Rates(search_seconds=0.5))
    limits.admit(ALICE, 0, search=True)
    limits.searched(ALICE, 3.0)
    assert admitted(limits, ALICE, search=True) == 0
    assert admitted(limits, ALICE) == 1_000, "other requests are not limited"
    time.now += 4.1
    assert admitted(limits, ALICE, search=True) == 1_000


def test_few_callers_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "_REMEMBERED", 2)
    limits = limiter(Time(), Rates(requests=1))
    assert [admitted(limits, each) for each in (ALICE, BOB, OTHER)] == [2, 2, 2]
    assert [admitted(limits, each) for each in (BOB, ALICE)] == [0, 2]


def test_nothing_is_limited_by_default() -> None:
    limits = limiter(Time())
    assert not limits.active
    assert admitted(limits, ALICE, 10**9, search=True) == 1_000
