"""The servers that share a database: each gives a sign of life there, and reads those of the others."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from ..domain.model import SECOND_NS, Caller
from ..domain.roles import ADMIN, OPS
from ..store.contract.maintenance import GONE_AFTER_NS, MaintenanceStore, ServerRow, Signs

BEATS_EVERY_S: Final = 20.0
# The first wait, which doubles: servers that start together know each other at once.
_FIRST_S: Final = 1.0
_FORGOTTEN_AFTER_NS: Final = 3600 * SECOND_NS

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FleetServer:
    """A server as a caller sees it. `gone`: it gave no sign of life for a minute. `answering`: it is this one."""

    row: ServerRow
    gone: bool
    answering: bool


class Fleet:
    """Writes the row of this server and keeps those of the others, as of its last beat. `clock` returns nanoseconds,
    and `timer` those since any moment."""

    def __init__(
        self,
        store: MaintenanceStore,
        own: ServerRow,
        clock: Callable[[], int] = time.time_ns,
        timer: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._store = store
        self._own = own
        self._clock = clock
        self._timer = timer
        self._signs = Signs((own,), own.seen_time)
        self._read_at = timer()
        self._leaving = asyncio.Event()

    async def run(self) -> None:
        """Beats until `leave` is called."""
        failing, pause = False, min(_FIRST_S, BEATS_EVERY_S)
        while not self._leaving.is_set():
            try:
                await self.beat()
                failing = False
            except Exception as exc:  # the next one must not depend on this one
                if not failing:
                    _log.warning("storing the sign of life failed; retrying in %g s: %s", pause, type(exc).__name__)
                failing = True
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._leaving.wait(), pause)
            pause = min(2 * pause, BEATS_EVERY_S)
        await self._store.remove_server(self._own.id)

    async def beat(self) -> None:
        """Stores a sign of life, and reads those of the others."""
        self._signs = await self._store.put_server(replace(self._own, seen_time=self._clock()), _FORGOTTEN_AFTER_NS)
        self._read_at = self._timer()

    def leave(self) -> None:
        """Ends `run`, which then removes the row of this server: after its last beat, which would store it again."""
        self._leaving.set()

    def servers(self, caller: Caller) -> list[FleetServer]:
        """Returns the servers, the first started first; none for a caller that may not know them."""
        if caller.is_bound or not caller.roles & {ADMIN, OPS}:
            return []
        now = self._signs.now + self._timer() - self._read_at
        others = [row for row in self._signs.rows if row.id != self._own.id]
        rows = sorted([*others, replace(self._own, seen_time=now)], key=lambda row: (row.start_time, row.id))
        shown = rows if OPS in caller.roles else [replace(row, metrics_address="") for row in rows]
        return [FleetServer(row, now - row.seen_time > GONE_AFTER_NS, row.id == self._own.id) for row in shown]
