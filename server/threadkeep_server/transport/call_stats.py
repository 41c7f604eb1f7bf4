"""How many calls were served and how long they took, by RPC. Streams, which last as long as clients want, are left out."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, Final

from google.protobuf.message import Message

from .rpc import Method

BOUNDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the buckets of durations, in seconds; the last bucket has none."""


@dataclass(slots=True)
class Durations:
    """The durations of the calls of one RPC."""

    seconds: float = 0.0
    buckets: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    """Calls by bucket."""

    def add(self, seconds: float) -> None:
        self.seconds += seconds
        self.buckets[bisect_left(BOUNDS, seconds)] += 1

    def cumulative(self) -> list[tuple[str, float]]:
        """Returns the number of calls up to each bound, as Prometheus counts them."""
        bounds = [*map(str, BOUNDS), "+Inf"]
        return list(zip(bounds, map(float, accumulate(self.buckets)), strict=True))


class CallStats:
    """Measures calls, from when the server has admitted the caller until the response is made, failed ones as well."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._durations: dict[str, Durations] = {}

    def durations(self) -> Mapping[str, Durations]:
        """Returns the durations by RPC, of those that were called."""
        return {name: each for name, each in self._durations.items() if any(each.buckets)}

    def measured(self, method: Method) -> Method:
        """Returns the method with its calls measured."""
        if method.streaming:
            return method
        call, clock = method.call, self._clock
        durations = self._durations.setdefault(method.name, Durations())

        async def measured(request: Message, caller: Any) -> Any:  # Any: as in rpc.Handler
            began = clock()
            try:
                return await call(request, caller)
            finally:
                durations.add(clock() - began)

        return replace(method, call=measured)
