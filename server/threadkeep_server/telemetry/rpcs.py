"""Measures the calls of RPCs, from their arrival to their end. Each front end begins and ends them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from ..domain.errors import Kind, QuotaExceeded, RateLimited, ThreadkeepError
from .instruments import OTHER, Counter, Histogram
from .meters import Meters

OK: Final = "OK"
CANCELLED: Final = "CANCELLED"
UNIMPLEMENTED: Final = "UNIMPLEMENTED"
DEADLINE_EXCEEDED: Final = Kind.DEADLINE_EXCEEDED.name


def code_of(exc: BaseException) -> str:
    """Returns the name of the status code that the caller gets for an error."""
    if isinstance(exc, ThreadkeepError):
        return exc.kind.name
    return Kind.INTERNAL.name if isinstance(exc, Exception) else CANCELLED


class Rpc:
    """An RPC whose calls are measured. `streaming`: its calls last as long as clients want, and are only counted."""

    __slots__ = ("_clock", "_limited", "_ok", "_outcome")

    def __init__(self, meters: Meters, service: str, method: str, *, streaming: bool, clock: Callable[[], float]) -> None:
        family = meters.rpc_streams if streaming else meters.rpc_duration
        self._outcome: Callable[[str], Counter | Histogram] = lambda code: family.child(service, method, code)
        self._ok = self._outcome(OK)
        self._limited = meters.limited
        self._clock = clock

    def begin(self) -> Call:
        return Call(self, self._clock())

    def ended(self, began: float, exc: BaseException | None, code: str) -> None:
        """Counts a call."""
        outcome = self._ok if code == OK else self._outcome(code)
        if isinstance(outcome, Counter):
            outcome.add()
        else:
            outcome.add(self._clock() - began)
        if isinstance(exc, RateLimited | QuotaExceeded):
            self._limited.child(exc.metadata["limit" if isinstance(exc, RateLimited) else "quota"]).add()


class Call:
    """A call. Ends once: what follows the first end is not counted."""

    __slots__ = ("_began", "_rpc")

    def __init__(self, rpc: Rpc, began: float) -> None:
        self._rpc: Rpc | None = rpc
        self._began = began

    def succeeded(self) -> None:
        self._end(None, OK)

    def failed(self, exc: BaseException, code: str = "") -> None:
        """`code`: the name of the code that the caller gets, if it does not follow from the error."""
        self._end(exc, code or code_of(exc))

    def _end(self, exc: BaseException | None, code: str) -> None:
        if self._rpc is not None:
            self._rpc.ended(self._began, exc, code)
            self._rpc = None


class Rpcs:
    """The RPCs of a server."""

    def __init__(self, meters: Meters | None = None, clock: Callable[[], float] = time.perf_counter) -> None:
        self.meters = meters or Meters()
        self._clock = clock
        self._rpcs: dict[str, Rpc] = {}
        self._unknown = Rpc(self.meters, OTHER, OTHER, streaming=False, clock=clock)

    def rpc(self, service: str, method: str, *, streaming: bool) -> Rpc:
        """Returns the measured RPC, the same one to every front end."""
        path = f"/{service}/{method}"
        if path not in self._rpcs:
            self._rpcs[path] = Rpc(self.meters, service, method, streaming=streaming, clock=self._clock)
        return self._rpcs[path]

    def count_unknown(self) -> None:
        """Counts a call of a method that the server does not have."""
        self._unknown.begin().failed(LookupError(), UNIMPLEMENTED)
