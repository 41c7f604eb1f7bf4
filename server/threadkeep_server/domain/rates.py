"""Rate limits of callers and of tenants: token buckets. Pure; the clock is passed in.

A bucket holds what `BURST_S` seconds may use, so short peaks pass. Search time is charged after the search, so a bucket may go
below zero; the next search waits until it is above.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import NamedTuple

from .errors import RateLimited
from .model import Caller

BURST_S = 2.0
"""Seconds of its rate that a bucket holds."""

_REMEMBERED = 10_000
"""Callers, and tenants, with buckets. One that is forgotten starts again with full buckets."""


@dataclass(frozen=True, slots=True)
class Rates:
    """What one caller, or one tenant, may use per second. 0: unlimited."""

    requests: float = 0
    bytes: float = 0
    """Of encoded requests."""
    search_seconds: float = 0

    def limited(self) -> Mapping[str, float]:
        """Returns the rates that are limited, by name."""
        return {name: rate for name, rate in asdict(self).items() if rate}


class QuotaUse(NamedTuple):
    """A limit and what is used of it; None if that is not known, or not for the caller."""

    name: str
    limit: float
    used: float | None


@dataclass(slots=True)
class _Bucket:
    rate: float
    level: float
    time: float

    def refill(self, now: float) -> None:
        self.level = min(self.rate * BURST_S, self.level + (now - self.time) * self.rate)
        self.time = now

    def wait_for(self, amount: float) -> float:
        """Returns the seconds until the amount is there. An amount above the capacity needs a full bucket."""
        return max(0.0, (min(amount, self.rate * BURST_S) - self.level) / self.rate)


class _Buckets:
    """The buckets of callers, or of tenants."""

    def __init__(self, owner: str, rates: Rates) -> None:
        self.owner = owner
        self.rates = rates.limited()
        self._kept: OrderedDict[Caller, Mapping[str, _Bucket]] = OrderedDict()

    def of(self, caller: Caller, now: float) -> Mapping[str, _Bucket]:
        """Returns the buckets of a caller, filled up to now."""
        buckets = self._kept.get(caller)
        if buckets is None:
            buckets = {name: _Bucket(rate, rate * BURST_S, now) for name, rate in self.rates.items()}
            self._kept[caller] = buckets
            if len(self._kept) > _REMEMBERED:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(caller)
        for bucket in buckets.values():
            bucket.refill(now)
        return buckets


class RateLimiter:
    """Counts what callers and tenants use."""

    def __init__(self, caller: Rates, tenant: Rates, clock: Callable[[], float]) -> None:
        """`clock`: monotonic, in seconds."""
        self._clock = clock
        self._callers = _Buckets("caller", caller)
        self._tenants = _Buckets("tenant", tenant)
        limited = self._callers.rates.keys() | self._tenants.rates.keys()
        self.active = bool(limited)
        self.counts_bytes = "bytes" in limited

    def admit(self, caller: Caller, size: int, *, search: bool) -> None:
        """Counts a request of `size` bytes. Raises RateLimited with the name of the limit; then nothing is counted."""
        wanted = {"requests": 1.0, "bytes": float(size)} | ({"search_seconds": 0.0} if search else {})
        taken = []
        for owner, buckets in self._of(caller):
            for name, amount in wanted.items():
                if (bucket := buckets.get(name)) is None:
                    continue
                wait = bucket.wait_for(amount)
                if wait > 0:
                    raise RateLimited(f"{name}_per_second_of_{owner}", retry_after_s=wait)
                taken.append((bucket, amount))
        for bucket, amount in taken:
            bucket.level -= amount

    def used(self, caller: Caller, *, tenant: bool) -> list[QuotaUse]:
        """Returns each limited rate with what was used of it per second, over the last seconds. Leaves out the use of the
        tenant unless `tenant`."""
        return [
            QuotaUse(
                f"{name}_per_second_of_{owner}",
                bucket.rate,
                max(0.0, bucket.rate * BURST_S - bucket.level) / BURST_S if tenant or owner == "caller" else None,
            )
            for owner, buckets in self._of(caller)
            for name, bucket in buckets.items()
        ]

    def searched(self, caller: Caller, seconds: float) -> None:
        """Charges the time of a search that ended."""
        for _, buckets in self._of(caller):
            if (bucket := buckets.get("search_seconds")) is not None:
                bucket.level -= seconds

    def _of(self, caller: Caller) -> list[tuple[str, Mapping[str, _Bucket]]]:
        now = self._clock()
        return [
            (self._callers.owner, self._callers.of(caller, now)),
            (self._tenants.owner, self._tenants.of(Caller(caller.tenant), now)),
        ]
