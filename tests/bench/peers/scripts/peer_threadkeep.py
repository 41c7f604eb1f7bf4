"""Threadkeep over gRPC, one call in flight, with the generated stub and protobuf messages on both ends of every call."""

import asyncio
import uuid
from typing import Any

import grpc
import measuring

from threadkeep.v1 import event_pb2, event_service_pb2, event_service_pb2_grpc, filter_pb2, message_pb2, session_pb2


class Threadkeep:
    """One session of a running server."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._events: Any = event_service_pb2_grpc.EventServiceStub(channel)
        self._session = session_pb2.SessionRef(app="bench", user_id="u1", session_id="s1")

    async def append(self, text: str) -> None:
        part = message_pb2.Part(text=text)
        message = message_pb2.ChatMessage(role=message_pb2.ROLE_USER, parts=[part])
        event = event_pb2.SessionEvent(event_id=uuid.uuid4().hex, author="user", message=message)
        request = event_service_pb2.AppendEventsRequest(session=self._session, events=[event])
        request.create_if_missing.SetInParent()
        await self._events.AppendEvents(request)

    async def last(self, count: int) -> int:
        request = event_service_pb2.ListEventsRequest(session=self._session, filter=filter_pb2.EventFilter(last_n=count))
        return len((await self._events.ListEvents(request)).events)

    async def whole(self) -> int:
        request = event_service_pb2.ListEventsRequest(session=self._session, page_size=1000)
        total = 0
        while True:
            page = await self._events.ListEvents(request)
            total += len(page.events)
            if not page.next_page_token:
                return total
            request.page_token = page.next_page_token


async def main() -> None:
    plan = measuring.plan()
    async with grpc.aio.insecure_channel(plan.url) as channel:
        await measuring.measure(measuring.installed("threadkeep"), Threadkeep(channel), plan)


asyncio.run(main())
