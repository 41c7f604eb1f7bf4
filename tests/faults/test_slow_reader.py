"""A subscriber that stops reading under load: the server's memory stays bounded, others are not affected, and it catches up.

THREADKEEP_SLOW_READER_S sets for how many seconds it does not read.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, cast

import grpc
import grpc.aio
import pytest

import threadkeep
from tests.support.runs.printed import Say
from tests.support.runs.thoroughness import LONG, with_long
from tests.support.servers.reconnect import RECONNECT
from tests.support.servers.server_process import ServerProcess, url_settings
from threadkeep.v1.filter_pb2 import EventFilter
from threadkeep.v1.message_pb2 import ROLE_USER
from threadkeep.v1.subscription_pb2 import Change, CheckpointKind
from threadkeep.v1.subscription_service_pb2 import ChangeScope, WatchAllRequest, WatchAllResponse
from threadkeep.v1.subscription_service_pb2_grpc import SubscriptionServiceStub

from .conftest import ServerMaker
from .harness.background_tasks import background
from .harness.ledger import connect
from .harness.wire import ALL

if TYPE_CHECKING:  # it exists in the stub file alone
    from threadkeep.v1.subscription_service_pb2_grpc import SubscriptionServiceAsyncStub

SECONDS = float(os.environ.get("THREADKEEP_SLOW_READER_S", "30" if LONG else "15"))
BEFORE = 10.0
"""Seconds of the full load without the slow subscribers, until the frames kept for subscribers and the caches of the database
are full."""
SESSIONS = 8
BATCH = [10_000] * 5
PER_SECOND = 3_000_000
"""Bytes. In a quarter of a minute the slow subscribers leave about one and a half times MORE_AT_MOST unread."""
MORE_AT_MOST = 64 << 20
PROMPT = SECONDS * 2 / 3
"""Seconds. Most changes take a few milliseconds; this allows for a busy machine, and not for a blocked stream."""

CAUGHT_UP, FELL_BEHIND = CheckpointKind.CHECKPOINT_KIND_CAUGHT_UP, CheckpointKind.CHECKPOINT_KIND_FELL_BEHIND
Place = tuple[str, int]
"""A session and its log_version."""


@dataclass
class Reader:
    """A WatchAll stream and its results: changes in order, and kinds of checkpoints."""

    call: grpc.aio.UnaryStreamCall[WatchAllRequest, WatchAllResponse]
    received: list[Place] = field(default_factory=list)
    times: dict[Place, float] = field(default_factory=dict)
    checkpoints: list[CheckpointKind.ValueType] = field(default_factory=list)

    async def read(self) -> None:
        """Reads without end. Raises when the stream ends."""
        while isinstance(frame := await self.call.read(), WatchAllResponse):
            now = time.monotonic()
            for change in frame.changes:
                self._take(change, now)
        raise EOFError

    async def until(self, kind: CheckpointKind.ValueType) -> None:
        while kind not in self.checkpoints:
            frame = await self.call.read()
            assert isinstance(frame, WatchAllResponse)
            for change in frame.changes:
                self._take(change, time.monotonic())

    def _take(self, change: Change, now: float) -> None:
        if change.HasField("checkpoint"):
            self.checkpoints.append(change.checkpoint.kind)
            return
        assert not change.batch.continues
        assert len(change.batch.events) == (len(BATCH) if change.HasField("batch") else 0)
        place = change.session.session_id, change.versions.log_version
        self.received.append(place)
        self.times[place] = now


@asynccontextmanager
async def reader(address: str, wanted: EventFilter | None = None) -> AsyncIterator[Reader]:
    """A live subscriber with its own connection."""
    options = (*RECONNECT, ("grpc.max_receive_message_length", ALL))
    async with grpc.aio.insecure_channel(address, options) as channel:
        stub = cast("SubscriptionServiceAsyncStub", SubscriptionServiceStub(channel))
        request = WatchAllRequest(scope=ChangeScope(app="faults"), live_only=True, filter=wanted)
        opened = Reader(stub.WatchAll(request))
        await opened.until(CAUGHT_UP)
        yield opened


@dataclass
class Load:
    """Appends at a constant rate. `acknowledged` and `begun`: times by index."""

    client: threadkeep.AsyncClient
    acknowledged: dict[Place, float] = field(default_factory=dict)
    begun: dict[Place, float] = field(default_factory=dict)

    async def write(self) -> None:
        began = time.monotonic()
        for number in count():
            session = f"s{number % SESSIONS}"
            events = [threadkeep.user("x" * size) for size in BATCH]
            at = time.monotonic()
            version = (await self.client.append(session, *events, create_if_missing=True)).log_version
            self.begun[session, version] = at
            self.acknowledged[session, version] = time.monotonic()
            due = began + number * sum(BATCH) / PER_SECOND
            await asyncio.sleep(max(0.0, due - time.monotonic()))

    def after(self, seconds: float) -> Callable[[], bool]:
        """Reports whether as much was written as in this time at the full rate, which a busy machine may not reach."""
        wanted = len(self.acknowledged) + seconds * PER_SECOND / sum(BATCH)
        return lambda: len(self.acknowledged) >= wanted


class Memory:
    """The largest resident size of a server process in each phase, in bytes."""

    def __init__(self, server: ServerProcess) -> None:
        self._status = Path(f"/proc/{server.serving_pid}/statm")
        self.most = 0

    async def watch(self) -> None:
        while True:
            self.most = max(self.most, int(self._status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
            await asyncio.sleep(0.05)

    def phase(self) -> int:
        """Ends a phase and returns its result."""
        most, self.most = self.most, 0
        return most


# What the server keeps for a subscriber does not depend on the engine; of SQLite its memory has the caches too.
@pytest.mark.parametrize("database_url", with_long(["sqlite"], "postgresql"), indirect=True)
@pytest.mark.timeout(600 + 12 * SECONDS)
async def test_a_subscriber_that_stops_reading_uses_bounded_memory_and_catches_up(
    make_server: ServerMaker, database_url: str | None, say: Say
) -> None:
    server = make_server(**url_settings(database_url)).start()
    memory = Memory(server)
    async with (
        connect(server.address, timeout=30.0) as client,
        reader(server.address) as prompt,
        background(memory.watch(), prompt.read()) as well,
    ):
        load = Load(client)
        async with background(load.write()) as writing:
            await writing.until(load.after(BEFORE), 10 * BEFORE)
            before = memory.phase()
            # One has the channel of the prompt subscriber; one has a filter, and therefore its own channel.
            async with reader(server.address) as slow, reader(server.address, EventFilter(roles=[ROLE_USER])) as slow_too:
                since = time.monotonic()
                await writing.until(load.after(SECONDS), 10 * SECONDS)
                unread = memory.phase()
                assert unread - before < MORE_AT_MOST
                async with background(slow.read(), slow_too.read()) as reading_on:
                    for each in (slow, slow_too):
                        await reading_on.until(lambda each=each: each.checkpoints.count(CAUGHT_UP) >= 2)  # type: ignore[misc]
                    writing.check()
                    newest = next(reversed(load.acknowledged))
                    await reading_on.until(lambda: all(newest in each.times for each in (prompt, slow, slow_too)))
                    well.check()
        await well.until(lambda: load.acknowledged.keys() <= prompt.times.keys())
    while_catching_up = memory.phase()
    late = max(prompt.times[place] - at for place, at in load.acknowledged.items() if place in prompt.times)
    engine = "sqlite" if database_url is None else "postgresql"
    rate = len(load.acknowledged) * sum(BATCH) / (time.monotonic() - since + BEFORE) / 1e6
    mib = [each >> 20 for each in (before, unread, while_catching_up)]
    memories = f"resident before={mib[0]} unread={mib[1]} catching up={mib[2]} MiB"
    say(f"{engine}: {SECONDS:g} s unread at {rate:.1f} MB/s, {memories}, others at most {late * 1e3:.0f} ms late")
    for each in (slow, slow_too):
        assert each.checkpoints[1:4] == [CAUGHT_UP, FELL_BEHIND, CAUGHT_UP]
        first = prompt.received.index(each.received[0])
        assert each.received == prompt.received[first : first + len(each.received)], (
            "everything once, in the order that all see"
        )
        assert all(place in each.times for place, at in load.begun.items() if since <= at <= load.begun[newest])
    assert late < PROMPT
    assert while_catching_up - before < MORE_AT_MOST
