"""Writers that append at a pace, and the pauses between their acknowledgements."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import threadkeep
from tests.faults.harness.ledger import Ledger, append_until_acknowledged

_PACE_S = 0.08
_READS_S = 0.25


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


def more(beats: Sequence[Beat], acknowledgements: int) -> Callable[[], bool]:
    """Returns a function that says whether each writer had so many acknowledgements since this call."""
    counts = [(beat, len(beat.times)) for beat in beats]
    return lambda: all(len(beat.times) >= count + acknowledgements for beat, count in counts)


@dataclass
class Reading:
    """Reads of a session through one server, each of which must have what was acknowledged before it, by any server."""

    ledger: Ledger
    client: threadkeep.AsyncClient
    session: str
    reads: int = 0

    async def run(self) -> None:
        while True:
            acknowledged = dict(self.ledger.acks.get(self.session, {}))
            newest = max(acknowledged.values(), default=0)
            try:
                # Of so many that it is no short read, which the primary serves.
                recent = threadkeep.event_filter(after_seq=max(0, newest - 20))
                page = await self.client.events_page(self.session, recent, page_size=1000)
            except threadkeep.ThreadkeepError as error:
                self.ledger.problems[error.reason or error.code.name] += 1
            else:
                seqs = {event.event_id: event.seq for event in page.events}
                missed = {each for each, seq in acknowledged.items() if seq > newest - 20 and seqs.get(each) != seq}
                assert not missed, f"acknowledged before the read, and not in it: {missed}"
                self.reads += 1
            await asyncio.sleep(_READS_S)


def percentile(values: Sequence[float], percent: float) -> float:
    """Returns the smallest value that is not less than this percentage of all."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]
