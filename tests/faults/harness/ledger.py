"""A ledger of requested and acknowledged appends, compared with the final state of the server."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Self

import threadkeep
from tests.support.conversations import as_sent
from tests.support.servers.reconnect import RECONNECT
from threadkeep.v1.event_pb2 import SessionEvent
from threadkeep.v1.event_service_pb2 import AppendedEvent

from .background_tasks import background

Batch = list[SessionEvent]


def connect(address: str, *, timeout: float = 30.0) -> threadkeep.AsyncClient:
    """Returns a client that reconnects at once and leaves retries to its user."""
    options = (*RECONNECT, ("grpc.enable_retries", 0))
    return threadkeep.AsyncClient(address, app="faults", user_id="ledger", timeout=timeout, options=options)


@dataclass
class Ledger:
    """`requested`: batches as first sent, by session. `acks`: event id to acknowledged seq, by session. `failed`: writers that
    had an error, by session and name."""

    requested: dict[str, list[Batch]] = field(default_factory=dict)
    acks: dict[str, dict[str, int]] = field(default_factory=dict)
    replays: int = 0
    problems: Counter[str] = field(default_factory=Counter)
    failed: set[tuple[str, str]] = field(default_factory=set)

    @property
    def acknowledged(self) -> int:
        return sum(map(len, self.acks.values()))

    def new_batch(self, session: str, writer: str) -> Batch:
        """Returns a new batch of one to five events with ids of the client."""
        batches = self.requested.setdefault(session, [])
        size = random.choice((1, 1, 1, 2, 5))
        name = f"{writer}-{len(batches)}"
        batch = [threadkeep.user(f"{name} {n} " + "x" * 200, event_id=f"{name}-{n}") for n in range(size)]
        batches.append(batch)
        return batch

    def record(self, session: str, appended: Sequence[AppendedEvent]) -> None:
        """Records an acknowledgement; a replay must repeat the first one."""
        acks = self.acks.setdefault(session, {})
        for event in appended:
            assert acks.setdefault(event.event_id, event.seq) == event.seq
            self.replays += event.replayed

    async def check(self, address: str) -> int:
        """Compares every session with the store and returns the number of events. Checks G1 to G4."""
        stored = 0
        async with connect(address) as client:
            for session in self.requested:
                stored += self._check(await self._read(client, session), session)
        return stored

    @staticmethod
    async def _read(client: threadkeep.AsyncClient, session: str) -> Batch:
        """Reads again if something came between two pages: a policy or an abandoned call may still be at work."""
        while True:
            version = (await client.get_session(session)).log_version
            events = [event.pb async for event in client.events(session, page_size=1000)]
            if (await client.get_session(session)).log_version == version:
                return events

    def _check(self, events: Batch, session: str) -> int:
        said = [event for event in events if not event.synthetic]
        seqs = {event.event_id: event.seq for event in said}
        contents = {event.event_id: as_sent(event) for event in said}
        assert sorted(event.seq for event in events) == list(range(1, len(events) + 1)), "G3: seqs without gaps"
        assert [event.seq for event in said] == sorted(seqs.values()), "G3: in order"
        assert len(seqs) == len(said), "G2: no event twice"
        for event_id, seq in self.acks.get(session, {}).items():
            assert seqs.get(event_id) == seq, f"G1: {event_id} was acknowledged at {seq}, is at {seqs.get(event_id)}"
        requested = {event.event_id: as_sent(event) for batch in self.requested[session] for event in batch}
        assert contents.items() <= requested.items(), "only requested events, byte for byte"
        for batch in self.requested[session]:
            at = [seqs.get(event.event_id) for event in batch]
            whole = at[0] is not None and at == list(range(at[0], at[0] + len(at)))
            assert whole or not any(at), f"G4: a batch is torn: {at}"
        return len(said)

    def batches(self, session: str, writer: str) -> Iterator[Batch]:
        """Yields the unacknowledged batches of the writer, then new ones."""
        acks = self.acks.get(session, {})
        own = [batch for batch in self.requested.get(session, []) if batch[0].event_id.startswith(writer)]
        yield from (batch for batch in own if batch[0].event_id not in acks)
        while True:
            yield self.new_batch(session, writer)


async def append_each(ledger: Ledger, client: threadkeep.AsyncClient, session: str, writer: str) -> None:
    """Appends batches by unary calls, each until it is acknowledged; first the unacknowledged ones."""
    for batch in ledger.batches(session, writer):
        await append_until_acknowledged(ledger, client, session, batch)


async def append_until_acknowledged(ledger: Ledger, client: threadkeep.AsyncClient, session: str, batch: Batch) -> None:
    while True:
        try:
            ledger.record(session, (await client.append(session, *batch)).events)
        except threadkeep.ThreadkeepError as error:
            ledger.problems[_name(error)] += 1
            ledger.failed.add((session, batch[0].event_id.partition("-")[0]))
            await asyncio.sleep(0.05)
        else:
            return


async def append_streaming(ledger: Ledger, client: threadkeep.AsyncClient, session: str, writer: str) -> None:
    """Appends by AppendStream; batches without a result are sent again on the next stream."""
    unanswered: list[Batch] = []

    async def batches() -> AsyncIterator[tuple[str, Batch]]:
        for batch in unanswered.copy():
            yield session, batch
        while True:
            batch = ledger.new_batch(session, writer)
            unanswered.append(batch)
            yield session, batch

    while True:
        try:
            async for result in client.append_stream(batches(), max_outstanding=8):
                error = threadkeep.error_of(result)
                if error is not None:
                    raise error
                unanswered.pop(0)
                ledger.record(session, result.appended.events)
        except threadkeep.ThreadkeepError as error:
            ledger.problems[_name(error)] += 1
            ledger.failed.add((session, writer))
            await asyncio.sleep(0.05)


def _name(error: threadkeep.ThreadkeepError) -> str:
    """The result of a call."""
    return error.reason or error.code.name


class Load:
    """Writers that run until the context ends: on each session two use calls and one a stream."""

    def __init__(self, ledger: Ledger, client: threadkeep.AsyncClient, sessions: Sequence[str]) -> None:
        self._ledger = ledger
        self._client = client
        self._sessions = sessions
        self._stack = contextlib.AsyncExitStack()

    async def __aenter__(self) -> Self:
        work = []
        for session in self._sessions:
            await self._client.create_session(session, never_expires=True)
            for n, kind in enumerate((append_each, append_each, append_streaming)):
                work.append(kind(self._ledger, self._client, session, f"w{n}"))
        self._writers = await self._stack.enter_async_context(background(*work))
        return self

    async def until_acknowledged(self, more: int, seconds: float = 90) -> None:
        """Waits for this number of further acknowledged events; fails if a writer ends."""
        wanted = self._ledger.acknowledged + more
        await self._writers.until(lambda: self._ledger.acknowledged >= wanted, seconds)

    async def until_each_failed(self) -> None:
        """Waits until each writer had another error: it has received all earlier responses."""
        self._ledger.failed.clear()
        await self._writers.until(lambda: len(self._ledger.failed) == 3 * len(self._sessions))

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()
