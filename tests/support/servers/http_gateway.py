"""A gateway to a servicer that returns its request, and a client of the gateway."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import http.client
import json
import struct
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message
from google.rpc import error_details_pb2

from threadkeep.v1 import event_pb2, event_service_pb2
from threadkeep_server.domain.errors import ServerDraining, SessionNotFound
from threadkeep_server.domain.model import Caller, SessionRef
from threadkeep_server.service.call_limit import CallLimit
from threadkeep_server.transport.auth import Authenticator
from threadkeep_server.transport.connections import DEFAULT_LIMITS, ConnectionLimits
from threadkeep_server.transport.http.server import http_app, serve_http
from threadkeep_server.transport.rpc import Service

_SERVICE = event_service_pb2.DESCRIPTOR.services_by_name["EventService"]
LIST = "/threadkeep.v1.EventService/ListEvents"
GET = "/threadkeep.v1.EventService/GetEvent"
APPEND = "/threadkeep.v1.EventService/AppendEvents"
STREAM = "/threadkeep.v1.EventService/AppendStream"
MAX_BYTES = 10_000
MAX_CALLS = 2
JSON = {"content-type": "application/json"}


class FakeServicer:
    """Returns its request; some session ids cause errors."""

    def __init__(self) -> None:
        self.called = asyncio.Event()  # a call that takes some time has begun
        self.cancelled = asyncio.Event()
        self.release = asyncio.Event()

    async def ListEvents(self, request: event_service_pb2.ListEventsRequest, caller: Caller) -> bytes:
        session_id = request.session.session_id
        if session_id == "gone":
            raise SessionNotFound(SessionRef(app="", user_id="", session_id=session_id))
        if session_id == "fault":
            raise RuntimeError("postgresql://user:hush@host")
        if session_id == "slow":
            self.called.set()
            try:
                await asyncio.wait_for(self.release.wait(), 60)
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
        event = event_pb2.SessionEvent(event_id=session_id, seq=2**53 + 1)
        response = event_service_pb2.ListEventsResponse(events=[event], next_page_token=f"{caller.tenant}/{caller.user_id}")
        return response.SerializeToString()

    async def GetEvent(self, _: Message, __: Caller) -> event_service_pb2.GetEventResponse:
        return event_service_pb2.GetEventResponse(event=event_pb2.SessionEvent(event_id="é😀"))

    async def GetContext(self, _: Message, __: Caller) -> Message:
        return event_service_pb2.GetContextResponse()

    ListUserEvents = LoadSession = ListBranches = ListUsage = PopEvents = RewindSession = GetContext
    ClearEvents = EraseEvents = ReplaceSuffix = GetContext

    async def AppendEvents(self, request: event_service_pb2.AppendEventsRequest, _: Caller) -> Message:
        self.called.set()
        await asyncio.sleep(0.2)
        return event_service_pb2.AppendEventsResponse(last_seq=len(request.events))

    async def AppendStream(self, requests: AsyncIterator[Message], _: Caller) -> AsyncIterator[Message]:
        index = 0
        async for request in requests:
            assert isinstance(request, event_service_pb2.AppendStreamRequest)
            if request.append.session.session_id == "drain":
                raise ServerDraining
            result = event_service_pb2.AppendStreamResult(index=index)
            yield event_service_pb2.AppendStreamResponse(results=[result])
            index += 1


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def error(self) -> tuple[int, str, str]:
        """Returns the HTTP status, the Connect code, and the reason of the one ErrorInfo."""
        infos = [each for each in self.json["details"] if each["type"] == "google.rpc.ErrorInfo"]
        assert len(infos) == 1
        info = error_details_pb2.ErrorInfo.FromString(base64.b64decode(infos[0]["value"] + "==="))
        assert info.domain == "threadkeep.dev"
        assert infos[0]["debug"]["reason"] == info.reason
        return self.status, self.json["code"], info.reason


class Gateway:
    """A gateway on a free port."""

    def __init__(self, tokens: dict[str, Caller] | None = None, limits: ConnectionLimits = DEFAULT_LIMITS) -> None:
        self.servicer = FakeServicer()
        self.not_ready: Exception | None = None
        self.hangs = False
        services = [Service(_SERVICE, self.servicer)]
        self.app = http_app(
            services,
            Authenticator(tokens or {}),
            ready=self._ready,
            max_bytes=MAX_BYTES,
            calls=CallLimit(MAX_CALLS),
            connections=limits,
        )
        self.port = 0

    async def _ready(self) -> None:
        if self.hangs:
            self.servicer.called.set()
            await asyncio.sleep(60)
        if self.not_ready is not None:
            raise self.not_ready

    async def call(self, method: str, path: str, body: bytes | str = b"", headers: dict[str, str] | None = None) -> Answer:
        return await asyncio.to_thread(self._call, method, path, body, headers or {})

    def _call(self, method: str, path: str, body: bytes | str, headers: dict[str, str]) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            data = body.encode() if isinstance(body, str) else body
            connection.request(method, path, data or None, headers)
            response = connection.getresponse()
            names = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, names, response.read())
        finally:
            connection.close()


@contextlib.asynccontextmanager
async def running(tokens: dict[str, Caller] | None = None, limits: ConnectionLimits = DEFAULT_LIMITS) -> AsyncIterator[Gateway]:
    """Serves on a free port."""
    gateway = Gateway(tokens, limits)
    async with serve_http(gateway.app, "127.0.0.1", 0, connections=limits) as gateway.port:
        yield gateway


def frame(payload: bytes, flags: int = 0) -> bytes:
    return struct.pack(">BI", flags, len(payload)) + payload


def frames(body: bytes) -> list[tuple[int, bytes]]:
    frames = []
    while body:
        flags, length = struct.unpack(">BI", body[:5])
        frames.append((flags, body[5 : 5 + length]))
        body = body[5 + length :]
    return frames


def list_request(session_id: str) -> bytes:
    request = event_service_pb2.ListEventsRequest()
    request.session.session_id = session_id
    return request.SerializeToString()
