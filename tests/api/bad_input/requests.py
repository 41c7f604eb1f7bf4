"""Sends valid and invalid requests and returns the errors of the server."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.rpc import error_details_pb2, status_pb2

from threadkeep.v1 import (
    compaction_service_pb2,
    event_pb2,
    event_service_pb2,
    event_service_pb2_grpc,
    memory_service_pb2,
    search_service_pb2,
    server_service_pb2,
    session_pb2,
    session_service_pb2,
    state_service_pb2,
    tool_service_pb2,
)

from ..conftest import running

_SERVICES = (
    session_service_pb2.DESCRIPTOR.services_by_name["SessionService"],
    state_service_pb2.DESCRIPTOR.services_by_name["StateService"],
    event_service_pb2.DESCRIPTOR.services_by_name["EventService"],
    compaction_service_pb2.DESCRIPTOR.services_by_name["CompactionService"],
    search_service_pb2.DESCRIPTOR.services_by_name["SearchService"],
    server_service_pb2.DESCRIPTOR.services_by_name["ServerService"],
    memory_service_pb2.DESCRIPTOR.services_by_name["MemoryService"],
    tool_service_pb2.DESCRIPTOR.services_by_name["ToolService"],
)
METHODS = {method.name: method for service in _SERVICES for method in service.methods}
UNARY = [name for name, method in METHODS.items() if not method.client_streaming]
_OPTIONS = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
_numbers = count(1)


@dataclass(frozen=True)
class Refusal:
    """The error of a rejected call."""

    code: grpc.StatusCode
    message: str
    reason: str
    metadata: dict[str, str]
    violations: list[str]
    details: list[str]


class Wire:
    """Calls methods by name with messages or raw bytes."""

    def __init__(self, port: int) -> None:
        self.channel = grpc.insecure_channel(f"127.0.0.1:{port}", _OPTIONS)

    def close(self) -> None:
        self.channel.close()

    def call(self, name: str, request: Message | bytes | None = None, /, *, token: str | None = None, **fields: Any) -> Any:
        """Returns the response. The request is a message, its bytes, or its fields."""
        method = METHODS[name]
        if request is None:
            request = GetMessageClass(method.input_type)(**fields)
        raw = request if isinstance(request, bytes) else request.SerializeToString()
        invoke: grpc.UnaryUnaryMultiCallable[bytes, Any] = self.channel.unary_unary(
            f"/{method.containing_service.full_name}/{name}",
            response_deserializer=GetMessageClass(method.output_type).FromString,
        )
        return invoke(raw, timeout=60, metadata=() if token is None else (("authorization", token),))

    def refused(
        self, name: str, request: Message | bytes | None = None, /, *, token: str | None = None, **fields: Any
    ) -> Refusal:
        """Returns the error of a call that must fail: a status with exactly one ErrorInfo."""
        with pytest.raises(grpc.RpcError) as raised:
            self.call(name, request, token=token, **fields)
        return refusal_of(raised.value)

    def invalid(self, field: str, name: str, request: Message | bytes | None = None, /, **fields: Any) -> Refusal:
        """Returns an INVALID_FIELD error, which must contain the field in every detail."""
        refusal = self.refused(name, request, **fields)
        assert (refusal.reason, refusal.metadata.get("field")) == ("INVALID_FIELD", field), refusal
        assert refusal.code is grpc.StatusCode.INVALID_ARGUMENT
        assert refusal.violations == [field]
        assert refusal.metadata["problem"] in refusal.message
        return refusal

    def new_session(self, **fields: Any) -> session_pb2.SessionRef:
        """Creates a session for one test."""
        ref = session_pb2.SessionRef(app="app", user_id="alice", session_id=f"s-{next(_numbers)}")
        self.call("CreateSession", session=ref, **fields)
        return ref

    def append(self, ref: session_pb2.SessionRef, *events: event_pb2.SessionEvent, **fields: Any) -> Any:
        return self.call("AppendEvents", session=ref, events=events, **fields)

    def stream(
        self, ref: session_pb2.SessionRef, batches: Iterable[Iterable[event_pb2.SessionEvent]], *, token: str | None = None
    ) -> list[event_service_pb2.AppendStreamResult]:
        """Returns the results of an AppendStream of these batches."""
        stub = event_service_pb2_grpc.EventServiceStub(self.channel)
        appends = (event_service_pb2.AppendEventsRequest(session=ref, events=batch) for batch in batches)
        requests = (event_service_pb2.AppendStreamRequest(append=append) for append in appends)
        metadata = () if token is None else (("authorization", token),)
        return [result for answer in stub.AppendStream(requests, metadata=metadata) for result in answer.results]

    def log(self, ref: session_pb2.SessionRef) -> list[event_pb2.SessionEvent]:
        return list(self.call("ListEvents", session=ref).events)

    def stores_nothing(
        self, ref: session_pb2.SessionRef, field: str, *events: event_pb2.SessionEvent, **fields: Any
    ) -> Refusal:
        """Checks that an append is rejected for a field and does not change the session."""
        with self.unchanged(ref):
            return self.invalid(field, "AppendEvents", session=ref, events=events, **fields)

    @contextmanager
    def unchanged(self, ref: session_pb2.SessionRef) -> Iterator[None]:
        before = self.call("GetSession", session=ref), self.log(ref)
        yield
        assert (self.call("GetSession", session=ref), self.log(ref)) == before


def eventually(done: Callable[[], bool], seconds: float = 90) -> None:
    """Waits for background work of the server."""
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline, "it has not come to pass"
        time.sleep(0.02)


def encoded_session(ref: session_pb2.SessionRef) -> bytes:
    """Returns the start of an AppendEventsRequest, to which fields can be appended."""
    return event_service_pb2.AppendEventsRequest(session=ref).SerializeToString()


def refusal_of(error: Any) -> Refusal:
    packed = dict(error.trailing_metadata())["grpc-status-details-bin"]
    status = status_pb2.Status.FromString(packed)
    info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
    assert [detail.Unpack(info) for detail in status.details].count(True) == 1
    assert info.domain == "threadkeep.dev"
    assert status.code == error.code().value[0]
    violations = [violation.field for detail in status.details if detail.Unpack(bad) for violation in bad.field_violations]
    kinds = [detail.TypeName() for detail in status.details]
    return Refusal(error.code(), error.details(), info.reason, dict(info.metadata), violations, kinds)


@contextmanager
def wire(data_dir: Path, **settings: Any) -> Iterator[Wire]:
    """Starts a server and returns a client of it."""
    with running(data_dir=data_dir, http_address="", **settings) as server:
        opened = Wire(server.grpc_port)
        try:
            yield opened
        finally:
            opened.close()


@contextmanager
def wire_on(engine: str, request: pytest.FixtureRequest, data_dir: Path, **settings: Any) -> Iterator[Wire]:
    """Starts a server on SQLite, in memory, or on a new PostgreSQL database, and returns a client of it."""
    if engine in ("sqlite", "memory"):
        with wire(data_dir, **({"database_url": "memory://"} if engine == "memory" else {}), **settings) as opened:
            yield opened
        return
    cluster = request.getfixturevalue("postgres")
    name = f"bad_input_{os.getpid()}_{next(_numbers)}"
    with wire(data_dir, database_url=cluster.create_database(name), **settings) as opened:
        yield opened
    cluster.drop_database(name)
