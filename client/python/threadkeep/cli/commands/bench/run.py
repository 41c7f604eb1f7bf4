"""A run: subscribe, create sessions, load, wait for the deliveries, compare, delete."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .... import AsyncClient
from ....errors import ThreadkeepError
from ....v1.server_service_pb2 import GetServerInfoResponse
from . import sessions
from .ledger import Findings
from .measured import Measured, Operations, Timed, as_dicts
from .pace import Stop
from .plan import Plan
from .together import each
from .workers import Workers

_POLL = 0.05

OnInterval = Callable[[float, float, Operations], None]
"""Called with the seconds since the start of the load, those of the interval, and what was counted in it."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a run measured and found."""

    plan: Plan
    server: GetServerInfoResponse
    operations: Operations
    findings: Findings
    timed: Timed
    remaining: int
    """Sessions that could not be deleted."""
    failure: ThreadkeepError | None
    """Why what is stored could not be compared."""

    def as_dict(self) -> dict[str, Any]:
        """Numbers for programs."""
        seconds = self.timed.seconds
        return {
            "run": self.plan.run,
            "server": {"version": self.server.version, "engine": self.server.engine, "durability": self.server.durability},
            "seconds": round(seconds, 3),
            "events_per_second": round(self.findings.acknowledged / max(seconds, 1e-9), 1),
            "client_cpu": round(self.timed.cpu, 3),
            "operations": as_dicts(self.operations, seconds),
            "check": self.findings.as_dict(),
            "compared_with_store": self.failure is None,
            "sessions_remaining": self.remaining,
        }


class Run:
    """One run over two clients, that of the calls and that of the subscriptions."""

    def __init__(self, plan: Plan, calls: AsyncClient, streams: AsyncClient, stop: Stop, *, keep: bool = False) -> None:
        self._plan, self._calls, self._stop, self._keep = plan, calls, stop, keep
        self._workers = Workers(plan, calls, streams, stop)
        self._watching: list[asyncio.Task[None]] = []

    @property
    def _measured(self) -> Measured:
        return self._workers.measured

    async def go(self, interval: float, on_interval: OnInterval) -> Result:
        """Runs it. The sessions are deleted however it ends, unless they are to be kept. Raises errors of the start."""
        server = await self._calls.info()  # a server that does not answer is an error here; subscriptions wait for it
        remaining, failure = 0, None
        stored: dict[str, int] | None = None
        try:
            await each(range(self._plan.watchers), self._subscribe)
            await sessions.create(self._calls, self._plan, self._measured, keep=self._keep)
            timed = await self._load(interval, on_interval)
            await self._settle()
            try:
                stored = await sessions.last_seqs(self._calls, self._plan)
            except ThreadkeepError as error:
                failure = error
        finally:
            for task in self._watching:
                task.cancel()
            await asyncio.gather(*self._watching, return_exceptions=True)
            if not self._keep:
                remaining = await sessions.delete(self._calls, self._plan, self._measured)
        findings = self._workers.ledger.end(stored)
        return Result(self._plan, server, self._measured.total(), findings, timed, remaining, failure)

    async def _subscribe(self, number: int) -> None:
        """Starts a watcher and returns once it is live."""
        started = asyncio.Event()
        watching = asyncio.create_task(self._follow(number, started))
        self._watching.append(watching)
        live = asyncio.create_task(started.wait())
        try:
            await asyncio.wait({watching, live}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            live.cancel()
        if watching.done():
            await watching

    async def _follow(self, number: int, started: asyncio.Event) -> None:
        try:
            await self._workers.watch(number, started)
        except ThreadkeepError as error:
            if not started.is_set():
                raise
            self._measured.fail("watch", error)

    async def _load(self, interval: float, on_interval: OnInterval) -> Timed:
        plan, workers = self._plan, self._workers
        timed = Timed()
        ticking = asyncio.create_task(self._tick(interval, on_interval))
        try:
            async with asyncio.TaskGroup() as group:
                for count, work in (
                    (plan.writers, workers.write),
                    (plan.readers, workers.read),
                    (plan.searchers, workers.search),
                ):
                    for number in range(count):
                        group.create_task(work(number))
                await self._stop.wait(plan.seconds)
                self._stop.set()
        finally:
            ticking.cancel()
        timed.stop()
        return timed

    async def _tick(self, interval: float, on_interval: OnInterval) -> None:
        began = last = time.perf_counter()
        while True:
            await asyncio.sleep(interval)
            now = time.perf_counter()
            on_interval(now - began, now - last, self._measured.interval())
            last = now

    async def _settle(self) -> None:
        """Waits until all watchers have what was acknowledged, or none of them lives, or too long."""
        end = time.perf_counter() + self._plan.settle
        while not self._workers.ledger.settled and time.perf_counter() < end:
            if all(task.done() for task in self._watching):
                return
            await asyncio.sleep(_POLL)
