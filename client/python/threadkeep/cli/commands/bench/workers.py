"""The workers of a run: writers, readers, searchers and watchers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from itertools import islice

from .... import AsyncClient
from ....errors import ThreadkeepError
from ....v1.session_pb2 import SessionRef
from ....v1.subscription_pb2 import CHECKPOINT_KIND_STARTED
from .ledger import Ledger
from .measured import DELIVER, Measured
from .pace import Pace, Stop
from .plan import Plan, Texts, seeded

_AFTER_ERROR = 0.2
"""Seconds that a worker waits after a call that failed, in addition to the retries of the client."""


class Workers:
    """The workers of one run, over two clients: that of the calls, and that of the watchers."""

    def __init__(self, plan: Plan, calls: AsyncClient, streams: AsyncClient, stop: Stop) -> None:
        self.plan = plan
        self.measured = Measured()
        self.refs: Sequence[SessionRef] = plan.refs
        followed = {ref.session_id: plan.watched_by(number) for number, ref in enumerate(self.refs)}
        self.ledger = Ledger(followed)
        self._calls, self._streams, self._stop = calls, streams, stop
        self._texts = Texts(plan.seed, plan.event_bytes)

    async def write(self, number: int) -> None:
        """Appends until the load ends."""
        plan, chance = self.plan, seeded(f"{self.plan.seed} writer {number}")
        events = self._texts.of(f"{plan.run}-{number}")
        pace = Pace(self._stop, plan.rate / plan.writers, number / plan.writers)
        while (due := await pace.next()) is not None:
            ref = chance.choice(self.refs)
            batch = list(islice(events, plan.batch))
            ids = [event.event_id for event in batch]
            self.ledger.send(ids, time.perf_counter())
            try:
                response = await self._calls.append(ref, *batch)
            except ThreadkeepError as error:
                self.ledger.fail(ids)
                self.measured.fail("append", error)
                await self._stop.wait(max(_AFTER_ERROR, error.retry_after or 0))
                continue
            self.measured.add("append", time.perf_counter() - due)
            for stored in response.events:
                self.ledger.acknowledge(ref.session_id, stored.seq, stored.event_id)

    async def read(self, number: int) -> None:
        """Reads contexts and pages of events in turn until the load ends."""
        chance = seeded(f"{self.plan.seed} reader {number}")

        async def context() -> None:
            await self._calls.get_context(chance.choice(self.refs))

        async def page() -> None:
            await self._calls.events_page(chance.choice(self.refs), order="desc")

        await self._repeat(number, self.plan.readers, {"context": context, "list": page})

    async def search(self, number: int) -> None:
        """Searches ranked until the load ends."""
        chance, plan = seeded(f"{self.plan.seed} searcher {number}"), self.plan

        async def search() -> None:
            query = " ".join(chance.sample(self._texts.words, 2))
            await self._calls.search_page(query, user_id=plan.user, app=plan.app, mode="ranked", page_size=10)

        await self._repeat(number, self.plan.searchers, {"search": search})

    async def watch(self, number: int, started: asyncio.Event) -> None:
        """Follows all sessions of the run, or one, until it is canceled. Sets `started` once nothing can be missed."""
        plan = self.plan
        if plan.by_session:
            stream = self._streams.watch(self.refs[number % plan.sessions], checkpoints=True)
        else:
            stream = self._streams.watch_all(user_id=plan.user, app=plan.app, labels=plan.labels, checkpoints=True)
        async with aclosing(stream) as changes:
            async for change in changes:
                found = change.pb
                if found.HasField("checkpoint"):
                    if found.checkpoint.kind == CHECKPOINT_KIND_STARTED:
                        started.set()
                    continue
                now = time.perf_counter()
                for event in found.batch.events:
                    lag = self.ledger.deliver(number, found.session.session_id, event.seq, event.event_id, now)
                    if lag is not None:
                        self.measured.add(DELIVER, lag)

    async def _repeat(self, number: int, workers: int, calls: dict[str, Callable[[], Awaitable[None]]]) -> None:
        pace = Pace(self._stop, self.plan.rate / workers, number / workers)
        turn = number
        while (due := await pace.next()) is not None:
            operation = list(calls)[turn % len(calls)]
            turn += 1
            try:
                await calls[operation]()
            except ThreadkeepError as error:
                self.measured.fail(operation, error)
                await self._stop.wait(max(_AFTER_ERROR, error.retry_after or 0))
            else:
                self.measured.add(operation, time.perf_counter() - due)
