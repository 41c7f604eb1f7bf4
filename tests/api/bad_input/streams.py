"""Sends valid and invalid stream requests over gRPC and over the HTTP port."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import grpc
import pytest
from google.protobuf.json_format import MessageToJson
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from tests.support.servers.http_gateway import frame, frames
from threadkeep.v1 import consumer_service_pb2, subscription_pb2, subscription_service_pb2
from threadkeep_server.app.server import Running

from ..conftest import running
from .requests import Refusal, Wire, refusal_of

_SERVICES = (
    subscription_service_pb2.DESCRIPTOR.services_by_name["SubscriptionService"],
    consumer_service_pb2.DESCRIPTOR.services_by_name["ConsumerService"],
)
METHODS = {method.name: method for service in _SERVICES for method in service.methods}
UNARY = [name for name, method in METHODS.items() if not method.server_streaming]
ENDED = (2, b"{}")
_DEADLINE_S = 120  # of a stream from its first change to its last, with all that the test does meanwhile
_databases = count(1)


def path_of(name: str) -> str:
    return f"/{METHODS[name].containing_service.full_name}/{name}"


def encoded(name: str, request: bytes | None, fields: dict[str, Any]) -> bytes:
    return GetMessageClass(METHODS[name].input_type)(**fields).SerializeToString() if request is None else request


def _metadata(token: str | None) -> tuple[tuple[str, str], ...]:
    return () if token is None else (("authorization", token),)


class Consuming:
    """A Consume stream. The test sends its requests one by one."""

    def __init__(self, channel: grpc.Channel, token: str | None) -> None:
        self._requests: SimpleQueue[bytes | None] = SimpleQueue()
        parse = consumer_service_pb2.ConsumeResponse.FromString
        invoke: grpc.StreamStreamMultiCallable[bytes, consumer_service_pb2.ConsumeResponse] = channel.stream_stream(
            path_of("Consume"), response_deserializer=parse
        )
        self._call = invoke(iter(self._requests.get, None), timeout=_DEADLINE_S, metadata=_metadata(token))

    def say(self, request: bytes | None = None, **fields: Any) -> None:
        self._requests.put(encoded("Consume", request, fields))

    def joined(self, **join: Any) -> consumer_service_pb2.Joined:
        self.say(join={"name": "c", "from_beginning": True} | join)
        response = self.hear()
        assert response.HasField("joined")
        return response.joined

    def hear(self) -> consumer_service_pb2.ConsumeResponse:
        response: consumer_service_pb2.ConsumeResponse = next(self._call)
        return response

    def deliveries(self, number: int) -> list[consumer_service_pb2.Delivery]:
        got: list[consumer_service_pb2.Delivery] = []
        while len(got) < number:
            got += self.hear().deliveries
        assert len(got) == number
        return got

    def confirmed(self, *ids: int) -> None:
        """Waits until these acknowledgements are confirmed."""
        missing = set(ids)
        while missing:
            missing -= set(self.hear().acknowledged_ids)

    def half_close(self) -> None:
        self._requests.put(None)

    def rest(self) -> list[consumer_service_pb2.ConsumeResponse]:
        """Returns the remaining responses, up to an end without an error."""
        return list(self._call)

    def refusal(self) -> Refusal:
        """Returns the error that ends the stream."""
        with pytest.raises(grpc.RpcError) as raised:
            self.rest()
        return refusal_of(raised.value)

    def close(self) -> None:
        self.half_close()
        self._call.cancel()


class Streams(Wire):
    """A client that also supports streams."""

    def __init__(self, server: Running) -> None:
        super().__init__(server.grpc_port)
        self.target = f"127.0.0.1:{server.grpc_port}"
        self._http_port = server.http_port

    # --- over gRPC

    def watch(self, name: str, request: bytes | None = None, *, token: str | None = None, **fields: Any) -> Any:
        """Opens a call: an iterator of responses that can be canceled."""
        parse = GetMessageClass(METHODS[name].output_type).FromString
        invoke: grpc.UnaryStreamMultiCallable[bytes, Any] = self.channel.unary_stream(
            path_of(name), response_deserializer=parse
        )
        return invoke(encoded(name, request, fields), timeout=_DEADLINE_S, metadata=_metadata(token))

    def changes(
        self, name: str, number: int, request: bytes | None = None, *, token: str | None = None, **fields: Any
    ) -> list[subscription_pb2.Change]:
        """Returns the first changes and closes the stream."""
        call = self.watch(name, request, token=token, **fields)
        got: list[subscription_pb2.Change] = []
        while len(got) < number:
            got += next(call).changes
        call.cancel()
        return got

    def changes_so_far(self, name: str, *, token: str | None = None, **fields: Any) -> list[subscription_pb2.Change]:
        """Returns all changes so far, without checkpoints."""
        call = self.watch(name, token=token, **fields)
        got: list[subscription_pb2.Change] = []
        while not any(each.checkpoint.kind == subscription_pb2.CHECKPOINT_KIND_CAUGHT_UP for each in got):
            got += next(call).changes
        call.cancel()
        return [each for each in got if not each.HasField("checkpoint")]

    def stream_refused(self, name: str, request: bytes | None = None, *, token: str | None = None, **fields: Any) -> Refusal:
        """Returns the error of a stream that fails before the first change."""
        call = self.watch(name, request, token=token, **fields)
        with pytest.raises(grpc.RpcError) as raised:
            next(call)
        return refusal_of(raised.value)

    @contextmanager
    def consuming(self, token: str | None = None) -> Iterator[Consuming]:
        stream = Consuming(self.channel, token)
        try:
            yield stream
        finally:
            stream.close()

    def unary(self, name: str, request: bytes | None = None, /, *, token: str | None = None, **fields: Any) -> Any:
        """Returns the response of a unary call of ConsumerService."""
        parse = GetMessageClass(METHODS[name].output_type).FromString
        invoke: grpc.UnaryUnaryMultiCallable[bytes, Any] = self.channel.unary_unary(path_of(name), response_deserializer=parse)
        return invoke(encoded(name, request, fields), timeout=_DEADLINE_S, metadata=_metadata(token))

    def unary_error(self, name: str, request: bytes | None = None, /, *, token: str | None = None, **fields: Any) -> Refusal:
        with pytest.raises(grpc.RpcError) as raised:
            self.unary(name, request, token=token, **fields)
        return refusal_of(raised.value)

    # --- over HTTP

    def post(self, path: str, kind: str, body: bytes) -> tuple[int, bytes]:
        """Returns status and body of a response that ends."""
        connection = HTTPConnection("127.0.0.1", self._http_port or 0, timeout=_DEADLINE_S)
        try:
            connection.request("POST", path, body, {"content-type": kind})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def connect_error(self, name: str, payload: bytes, kind: str = "proto") -> dict[str, Any]:
        """Returns the ErrorInfo that ends a stream over Connect."""
        status, body = self.post(path_of(name), f"application/connect+{kind}", frame(payload))
        assert status == 200
        flags, end = frames(body)[-1]
        assert flags == 2
        return error_info(json.loads(end)["error"])

    def connect_error_json(self, name: str, request: Message) -> dict[str, Any]:
        return self.connect_error(name, MessageToJson(request).encode(), "json")

    # quotas

    def gauges(self) -> dict[str, float]:
        """Returns the metrics page, which the server generates once per second."""
        time.sleep(1.05)
        lines = [line.rsplit(" ", 1) for line in self.metrics_page().splitlines() if not line.startswith("#")]
        return {name: float(value) for name, value in lines}

    def metrics_page(self) -> str:
        connection = HTTPConnection("127.0.0.1", self._http_port or 0, timeout=_DEADLINE_S)
        try:
            connection.request("GET", "/metrics")
            return connection.getresponse().read().decode()
        finally:
            connection.close()

    def holds_nothing(self) -> None:
        """Waits until every subscription is released."""
        deadline = time.monotonic() + 90
        while True:
            gauges = self.gauges()
            held = {name: value for name, value in gauges.items() if name.startswith("threadkeep_subscription") and value}
            held.pop("threadkeep_subscription_fell_behind_total", None)
            if not held:
                return
            assert time.monotonic() < deadline, held


def error_info(error: dict[str, Any]) -> dict[str, Any]:
    """Returns the ErrorInfo of an error in the form of Connect."""
    [info] = [each["debug"] for each in error["details"] if each["type"] == "google.rpc.ErrorInfo"]
    return dict(info)


@contextmanager
def streams_on(engine: str, request: pytest.FixtureRequest, data_dir: Path, **settings: Any) -> Iterator[Streams]:
    """Starts a server on SQLite or on a new PostgreSQL database, and returns a client with streams."""
    name = ""
    if engine == "postgresql":
        name = f"bad_streams_{os.getpid()}_{next(_databases)}"
        settings["database_url"] = request.getfixturevalue("postgres").create_database(name)
    with running(data_dir=data_dir, **settings) as server:
        opened = Streams(server)
        try:
            yield opened
        finally:
            opened.close()
    if name:
        request.getfixturevalue("postgres").drop_database(name)
