"""An app on a server, with a writer and subscribers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import threadkeep
from threadkeep.v1 import subscription_pb2 as pb
from threadkeep.v1 import subscription_service_pb2 as su
from threadkeep.v1.event_service_pb2 import AppendEventsResponse
from threadkeep.v1.filter_pb2 import EventFilter
from threadkeep.v1.session_pb2 import Session, SessionRef

from .facts import Fact
from .streams import USER, Stream, Subscriber, View, named, subscriber


@dataclass(frozen=True)
class Scene:
    app: str
    client: threadkeep.AsyncClient
    tap: Subscriber

    def ref(self, session_id: str = "s") -> SessionRef:
        return named(session_id, app=self.app)

    def view(self, wanted: EventFilter | None = None, **scope: object) -> View:
        """The complete app, or a `scope` of it."""
        return View(su.ChangeScope(app=self.app, **scope), wanted or EventFilter())  # type: ignore[arg-type]

    def session_view(self, session_id: str = "s", wanted: EventFilter | None = None) -> View:
        return View(self.ref(session_id), wanted or EventFilter())

    async def settle(self) -> None:
        """Returns when committed changes are settled: on PostgreSQL open transactions delay them."""
        async with self.tap.watch(View(su.ChangeScope(app="settled"))) as stream:
            await stream.next()
            await self.client.create_session(app="settled", session_id=(name := threadkeep.new_event_id()))
            while (await next_change(stream)).ref[2] != name:
                pass

    @asynccontextmanager
    async def live(self, view: View, **start: Any) -> AsyncIterator[Stream]:
        """Subscribes to new changes; there must be none before them."""
        await self.settle()
        async with self.tap.watch(view, **start) as stream:
            await stream.live()
            yield stream

    async def replay(self, view: View) -> list[pb.Change]:
        """Reads from the beginning to the last committed change."""
        await self.settle()
        return await self.tap.read(view, from_beginning=True)

    async def create(self, session_id: str = "s", **fields: object) -> Session:
        return await self.client.create_session(session_id, **fields)  # type: ignore[arg-type]

    async def say(self, *texts: str, to: str = "s") -> AppendEventsResponse:
        """Appends user messages in one batch."""
        return await self.client.append(to, *(threadkeep.user(text) for text in texts or ("hello",)))


@asynccontextmanager
async def opened(address: str, app: str = "shop") -> AsyncIterator[Scene]:
    async with threadkeep.AsyncClient(address, app=app, user_id=USER) as client, subscriber(address) as tap:
        yield Scene(app, client, tap)


async def next_change(stream: Stream) -> Fact:
    """Returns the next change, which must have one part."""
    (change,) = await stream.changes(1)
    assert not change.batch.continues
    assert not change.compaction.continues
    return Fact(change)


def session_of(change: pb.Change, kind: pb.SessionChangeKind.ValueType) -> Session:
    """Returns the session of a change of this kind."""
    assert change.session_change.kind == kind, change
    assert not change.HasField("versions")
    return change.session_change.session
