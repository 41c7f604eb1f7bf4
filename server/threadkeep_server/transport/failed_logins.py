"""Failed logins: counted by address, logged, and refused beyond a number of them."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv6Address, IPv6Network, ip_address

from ..domain.errors import RateLimited
from .audit.peer import peer

_WINDOW_S = 60.0
_REMEMBERED = 10_000
_LOGS_EVERY_S = 60.0
_PREFIX_OF_A_SITE = 64

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Failures:
    count: int
    until: float


class FailedLogins:
    """Refuses logins from an address after `most` failures within a minute, until the minute is over. 0: never.

    Credentials that were accepted before are not refused: clients behind one proxy share its address, and one of them must not
    lock out the others. Keeps 10,000 addresses and 10,000 accepted credentials, as digests; the oldest are forgotten.
    """

    def __init__(self, most: int = 0, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock`: monotonic, in seconds."""
        self._most = most
        self._clock = clock
        self._failures: OrderedDict[str, _Failures] = OrderedDict()
        self._accepted: OrderedDict[bytes, None] = OrderedDict()
        self._watches_until = float("-inf")
        self._logged = float("-inf")
        self._total = 0

    def total(self) -> int:
        """Returns the number of failed and refused logins."""
        return self._total

    def check(self, digest: bytes) -> None:
        """Raises RateLimited for a credential that is not to be looked at."""
        now = self._clock()
        if now >= self._watches_until or digest in self._accepted:
            return
        failures = self._failures.get(_origin())
        if failures is not None and failures.count >= self._most and now < failures.until:
            self._count(now)
            raise RateLimited("failed_logins", retry_after_s=failures.until - now)

    def accepted(self, digest: bytes) -> None:
        """Remembers a credential."""
        if self._most and digest not in self._accepted:
            self._accepted[digest] = None
            if len(self._accepted) > _REMEMBERED:
                self._accepted.popitem(last=False)

    def failed(self, digest: bytes) -> None:
        """Counts a credential that was refused."""
        now = self._clock()
        self._count(now)
        if not self._most:
            return
        self._accepted.pop(digest, None)
        origin = _origin()
        failures = self._failures.get(origin)
        if failures is None or now >= failures.until:
            self._failures.pop(origin, None)
            failures = self._failures[origin] = _Failures(0, now + _WINDOW_S)
            if len(self._failures) > _REMEMBERED:
                self._failures.popitem(last=False)
        failures.count += 1
        if failures.count >= self._most:
            self._watches_until = max(self._watches_until, failures.until)

    def _count(self, now: float) -> None:
        self._total += 1
        if now - self._logged >= _LOGS_EVERY_S:
            self._logged = now
            _log.warning("failed logins so far: %d, the last one from %s", self._total, peer() or "an unknown address")


def _origin() -> str:
    """Returns the address without its port; of IPv6 the network of a site, whose addresses one client may have."""
    address = peer() or ""
    try:
        host = ip_address(address.rpartition(":")[0].strip("[]").partition("%")[0])
    except ValueError:
        return address
    if isinstance(host, IPv6Address) and host.ipv4_mapped is None:
        return str(IPv6Network((host, _PREFIX_OF_A_SITE), strict=False))
    return str(host.ipv4_mapped if isinstance(host, IPv6Address) else host)
