"""A running AutoCompactor, and timers that a test fires."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from tests.support.sessions import append
from tests.unit.service.bench import CALLER, Bench, key, log
from threadkeep_server.domain.model import SessionRef
from threadkeep_server.service.compaction.auto_compaction import AutoCompactor
from threadkeep_server.store.contract.compaction import PolicyScope

SERVER = key(PolicyScope.SERVER)
WORK = {"get_session", "read_window", "compact", "lease", "release"}


class Timers:
    """Timers that a test fires."""

    def __init__(self) -> None:
        self.pending: list[tuple[float, Callable[[], None]]] = []
        self.cancelled = 0

    def later(self, delay: float, then: Callable[[], None]) -> Any:
        self.pending.append((delay, then))
        return self

    def cancel(self) -> None:
        self.cancelled += 1

    def fire(self) -> float:
        delay, then = self.pending.pop(0)
        then()
        return delay


class Background:
    """A running AutoCompactor on a bench."""

    def __init__(self, bench: Bench, owner: str = "me", longest_s: float = 300) -> None:
        self.bench = bench
        self.timers = Timers()
        self.auto = AutoCompactor(
            bench.store,
            bench.book,
            bench.compactor,
            owner,
            bench.clock,
            bench.requests,
            workers=4,
            longest_s=longest_s,
            later=self.timers.later,
        )
        bench.store.on_append(self.auto.note)
        self.task: asyncio.Task[None] | None = None

    async def settle(self) -> None:
        """Until everything is done that can be done now."""
        for _ in range(200):
            await asyncio.sleep(0)

    async def say(self, text: str, to: SessionRef | None = None) -> list[str]:
        """Appends, and returns the calls to the store that followed."""
        self.bench.store.calls.clear()
        for each in log(text):
            await append(self.bench.store, each, to=to)
            await self.settle()
        return [name for name in self.bench.store.calls if name in WORK]


@asynccontextmanager
async def background(bench: Bench, body: bytes | None = None, **how: Any) -> AsyncIterator[Background]:
    if body is not None:
        await bench.policies.set(CALLER, SERVER, body)
    working = Background(bench, **how)
    task = working.task = asyncio.create_task(working.auto.run())
    try:
        yield working
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
