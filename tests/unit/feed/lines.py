"""Subscribers whose messages are lines of text, on the in-memory store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Self

from tests.support.sessions import TENANT
from threadkeep_server.domain.feed import Change, FeedEvent, FeedScope, Position
from threadkeep_server.domain.filters import ALL, EventFilter
from threadkeep_server.feed.encoder import CheckpointKind
from threadkeep_server.feed.live.channel import Channel
from threadkeep_server.feed.live.subscription import Subscription
from threadkeep_server.feed.live.tail import Tail
from threadkeep_server.store.contract.feed import FeedStore

EVERYTHING = FeedScope(TENANT)


class Lines:
    """A ChangeEncoder. A change is "APPENDED s1 1,2 @3", a checkpoint "#STARTED @2"."""

    def change(self, change: Change, events: Sequence[FeedEvent], before: Position, skip_seq: int = 0) -> list[bytes]:
        seqs = ",".join(str(event.seq) for event in events)
        return [f"{change.kind.name} {change.ref.session_id} {seqs} @{change.position.change}\n".encode()]

    def checkpoint(self, kind: CheckpointKind, position: Position, skip_seq: int = 0) -> bytes:
        skipping = f" skipping {skip_seq}" if skip_seq else ""
        return f"#{kind.name} @{position.change}{skipping}\n".encode()


@asynccontextmanager
async def tailing(store: FeedStore, *, heartbeat: float = 60.0, **options: int) -> AsyncIterator[Tail]:
    tail = Tail(store, poll=0.05, heartbeat=heartbeat, **options)
    running = asyncio.create_task(tail.run())
    try:
        yield tail
    finally:
        running.cancel()
        await asyncio.wait([running])


class Watcher:
    """A subscriber that reads on request."""

    def __init__(
        self,
        store: FeedStore,
        tail: Tail,
        scope: FeedScope = EVERYTHING,
        wanted: EventFilter = ALL,
        *,
        start: Position,
        skip_seq: int = 0,
    ) -> None:
        self._store = store
        self._tail = tail
        self._scope = scope
        self._wanted = wanted
        self._start = start
        self._skip_seq = skip_seq
        self.channel: Channel | None = None

    async def __aenter__(self) -> Self:
        self.channel = await self._tail.attach(f"{self._scope} {self._wanted}", self._scope, self._wanted, Lines())
        self._subscription = Subscription(self._store, self._tail, self.channel, self._start, self._skip_seq)
        self._left: list[str] = []
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._subscription.close()
        assert self.channel is not None
        self._tail.detach(self.channel)

    async def line(self) -> str:
        """Returns the next line."""
        while not self._left:
            async with asyncio.timeout(60):
                self._left = b"".join(await self._subscription.next()).decode().splitlines()
        return self._left.pop(0)

    async def lines(self, count: int) -> list[str]:
        return [await self.line() for _ in range(count)]

    async def caught_up(self) -> list[str]:
        """Returns everything until the subscription has caught up, without checkpoints."""
        lines: list[str] = []
        while not (line := await self.line()).startswith("#CAUGHT_UP"):
            if not line.startswith("#"):
                lines.append(line)
        return lines
