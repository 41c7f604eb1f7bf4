"""Writers that append at a pace, and the pauses between their acknowledgements."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import threadkeep
from tests.faults.harness.ledger import Ledger, append_until_acknowledged

_PACE_S = 0.08


@dataclass
class Beat:
    """One writer of a session through one server. `times`: of acknowledgements, by time.monotonic()."""

    ledger: Ledger
    client: threadkeep.AsyncClient
    session: str
    name: str
    times: list[float] = field(default_factory=list)

    async def run(self) -> None:
        while True:
            batch = self.ledger.new_batch(self.session, self.name)
            await append_until_acknowledged(self.ledger, self.client, self.session, batch)
            self.times.append(time.monotonic())
            await asyncio.sleep(_PACE_S)

    def pause(self, since: float) -> float:
        """Returns the longest time between two acknowledgements, of which the later one came after `since`."""
        return max(later - earlier for earlier, later in pairwise(self.times) if later > since)


def percentile(values: Sequence[float], percent: float) -> float:
    """Returns the smallest value that is not less than this percentage of all."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]
