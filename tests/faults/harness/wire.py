"""The generated stubs of the services on one channel."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import grpc
import grpc.aio

from tests.support.servers.reconnect import RECONNECT
from threadkeep.v1 import compaction_service_pb2 as cs
from threadkeep.v1 import event_service_pb2 as es
from threadkeep.v1 import session_service_pb2 as ss
from threadkeep.v1.compaction_pb2 import Compaction
from threadkeep.v1.compaction_service_pb2_grpc import CompactionServiceStub
from threadkeep.v1.context_pb2 import ContextSpec
from threadkeep.v1.event_pb2 import SessionEvent
from threadkeep.v1.event_service_pb2_grpc import EventServiceStub
from threadkeep.v1.filter_pb2 import EventFilter
from threadkeep.v1.session_pb2 import Session, SessionRef
from threadkeep.v1.session_service_pb2_grpc import SessionServiceStub

if TYPE_CHECKING:  # they exist in the stub files alone
    from threadkeep.v1.compaction_service_pb2_grpc import CompactionServiceAsyncStub
    from threadkeep.v1.event_service_pb2_grpc import EventServiceAsyncStub
    from threadkeep.v1.session_service_pb2_grpc import SessionServiceAsyncStub

ALL = 1 << 30  # bytes that no window of these tests reaches


@dataclass(frozen=True)
class Wire:
    """`seconds`: the timeout of a call."""

    sessions: SessionServiceAsyncStub
    events: EventServiceAsyncStub
    compaction: CompactionServiceAsyncStub
    seconds: float

    async def session(self, session: str) -> Session:
        request = ss.GetSessionRequest(session=named(session))
        return (await self.sessions.GetSession(request, timeout=self.seconds)).session

    async def context(self, session: str, **spec: Any) -> es.GetContextResponse:
        request = es.GetContextRequest(session=named(session), spec=ContextSpec(**{"max_bytes": ALL} | spec))
        return await self.events.GetContext(request, timeout=self.seconds)

    async def page(self, session: str, *, page_token: str = "", page_size: int = 1000, **wanted: Any) -> es.ListEventsResponse:
        request = es.ListEventsRequest(
            session=named(session), page_size=page_size, page_token=page_token, filter=EventFilter(**wanted)
        )
        return await self.events.ListEvents(request, timeout=self.seconds)

    async def log(self, session: str, **wanted: Any) -> list[SessionEvent]:
        """Returns every event in window order."""
        events: list[SessionEvent] = []
        token = ""
        while True:
            page = await self.page(session, page_token=token, **wanted)
            events += page.events
            token = page.next_page_token
            if not token:
                return events

    async def records(self, session: str) -> list[Compaction]:
        """Returns every compaction, oldest first."""
        records: list[Compaction] = []
        request = cs.ListCompactionsRequest(session=named(session), page_size=1000)
        while True:
            page = await self.compaction.ListCompactions(request, timeout=self.seconds)
            records += page.compactions
            request.page_token = page.next_page_token
            if not request.page_token:
                return records[::-1]


def named(session: str) -> SessionRef:
    return SessionRef(app="faults", user_id="ledger", session_id=session)


@contextlib.asynccontextmanager
async def wire(address: str, seconds: float = 30.0) -> AsyncIterator[Wire]:
    """Connects without retries."""
    options = (*RECONNECT, ("grpc.enable_retries", 0), ("grpc.max_receive_message_length", ALL))
    async with grpc.aio.insecure_channel(address, options) as channel:
        yield Wire(
            cast("SessionServiceAsyncStub", SessionServiceStub(channel)),
            cast("EventServiceAsyncStub", EventServiceStub(channel)),
            cast("CompactionServiceAsyncStub", CompactionServiceStub(channel)),
            seconds,
        )
