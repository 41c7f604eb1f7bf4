"""Which calls are recorded, by the names of OpenTelemetry's samplers."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ..traceparent import TraceParent

SAMPLERS: Final = ("always_on", "always_off", "traceidratio")
"""Each also with the prefix `parentbased_`: then the caller decides, if the call has a trace."""
_PARENT_BASED: Final = "parentbased_"
_TRACE_ID_LIMIT: Final = 1 << 63


@dataclass(frozen=True, slots=True)
class Sampling:
    """`ratio`: of the traces that no caller has decided about, from 0 to 1. `parent_based`: callers decide about theirs."""

    ratio: float
    parent_based: bool
    random: Callable[[], float] = random.random

    def records(self, parent: TraceParent | None) -> bool:
        """Reports whether a call is recorded. Servers with the same ratio record the same traces."""
        if parent is None:
            return self.ratio > 0 and self.random() < self.ratio
        if self.parent_based:
            return parent.sampled
        return (parent.trace_id & (_TRACE_ID_LIMIT - 1)) < self.ratio * _TRACE_ID_LIMIT


def sampling_of(name: str, ratio: float) -> Sampling:
    """Returns the sampling of a sampler's name. Raises ValueError for an unknown one, and for a ratio that is none."""
    kind = name.removeprefix(_PARENT_BASED)
    if kind not in SAMPLERS:
        known = ", ".join([*SAMPLERS, *(_PARENT_BASED + each for each in SAMPLERS)])
        raise ValueError(f"must be one of {known}; it is {name!r}")
    if not 0 <= ratio <= 1:
        raise ValueError(f"the ratio must be between 0 and 1; it is {ratio:g}")
    return Sampling({"always_on": 1.0, "always_off": 0.0}.get(kind, ratio), name.startswith(_PARENT_BASED))
