"""Subscribers of a server that is killed repeatedly: they must receive every change once and in order."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import threadkeep
from threadkeep.v1.event_pb2 import SessionEvent
from threadkeep.v1.subscription_pb2 import Change

from .ledger import connect


@dataclass
class Follower:
    """`options`: what it watches. `cuts`: the most changes before it closes the connection and resumes; 0 leaves resuming to
    the SDK."""

    name: str
    options: dict[str, Any]
    cuts: int = 0
    received: list[Change] = field(default_factory=list)
    lives: int = 0

    async def follow(self, address: str) -> None:
        """Follows until canceled. Closes connections without notice, like a process that dies."""
        while True:
            self.lives += 1
            async with connect(address) as client, aclosing(self._watch(client)) as changes:
                left = random.randint(1, self.cuts) if self.cuts else None
                async for change in changes:
                    self.received.append(change)
                    if left is not None:
                        left -= 1
                        if not left:
                            break

    def _watch(self, client: threadkeep.AsyncClient) -> Any:
        options = dict(self.options)
        if self.received:
            options.pop("from_beginning", None)
            options["resume_token"] = self.received[-1].resume_token
        return client.watch(**options) if "session" in options else client.watch_all(**options)

    def of(self, session: str) -> list[Change]:
        return [change for change in self.received if change.session.session_id == session]

    def has(self, session: str, event_id: str) -> bool:
        """Reports whether it received this event; checks only the newest changes."""
        return any(event.event_id == event_id for change in self.received[-200:] for event in change.batch.events)

    def check(self, session: str, log: Sequence[SessionEvent]) -> int:
        """Compares the received events of a session with the log; returns their number."""
        changes = self.of(session)
        appended = [change for change in changes if change.HasField("batch")]
        versions = [change.versions.log_version for change in appended]
        assert versions == sorted(set(versions)), f"{self.name}: a change came twice, or out of order"
        received = [event for change in appended for event in change.batch.events]
        assert [event.seq for event in received] == [event.seq for event in log], f"{self.name}: not what the log has"
        assert received == list(log), f"{self.name}: not as it is stored"
        return len(received)


async def logged(client: threadkeep.AsyncClient, session: str, **wanted: Any) -> list[SessionEvent]:
    chosen = threadkeep.event_filter(**wanted) if wanted else None
    return [event.pb async for event in client.events(session, chosen, page_size=1000)]


async def until_received(followers: Sequence[Follower], session: str, event_id: str, seconds: float = 90) -> None:
    """Waits until each follower has received the last event."""
    async with asyncio.timeout(seconds):
        for follower in followers:
            while not follower.has(session, event_id):  # noqa: ASYNC110 - many followers set it
                await asyncio.sleep(0.02)
