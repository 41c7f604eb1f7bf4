"""A fake server with scripted responses, which records its requests."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, repeat
from typing import Any

import grpc
import pytest
from google.protobuf.any_pb2 import Any as AnyProto
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status
from grpc_status import rpc_status

from threadkeep._streams import changes
from threadkeep.v1 import (
    compaction_service_pb2,
    consumer_service_pb2,
    event_service_pb2,
    memory_service_pb2,
    search_service_pb2,
    server_service_pb2,
    session_service_pb2,
    state_service_pb2,
    subscription_service_pb2,
    tool_service_pb2,
)

MODULES = (
    session_service_pb2,
    state_service_pb2,
    event_service_pb2,
    compaction_service_pb2,
    search_service_pb2,
    server_service_pb2,
    subscription_service_pb2,
    consumer_service_pb2,
    memory_service_pb2,
    tool_service_pb2,
)
HANG = object()
"""In the script of a stream: nothing more is said until the client ends it."""


class Fail(Exception):
    """An answer: this status, with ErrorInfo when a reason is given and RetryInfo when a delay is."""

    domain = "threadkeep.dev"
    message = "scripted"

    def __init__(self, code: grpc.StatusCode, reason: str = "", retry_after: float | None = None, **metadata: str) -> None:
        super().__init__(reason)
        self.code, self.reason, self.retry_after, self.metadata = code, reason, retry_after, metadata

    def abort(self, context: grpc.ServicerContext) -> None:
        details: list[Message] = []
        if self.reason:
            details.append(ErrorInfo(reason=self.reason, domain=self.domain, metadata=self.metadata))
        if self.retry_after is not None:
            delay = Duration()
            delay.FromNanoseconds(int(self.retry_after * 1e9))
            details.append(RetryInfo(retry_delay=delay))
        if not details:
            context.abort(self.code, self.message)
        packed = [AnyProto() for _ in details]
        for any_, detail in zip(packed, details, strict=True):
            any_.Pack(detail)
        status = Status(code=self.code.value[0], message=self.message, details=packed)
        context.abort_with_status(rpc_status.to_status(status))


class FakeServer:
    """`answers[method]` are given in turn: a message, a Fail, or seconds to wait, at most until the call ends; the default is
    an empty response.

    A stream of the server takes a list of these, or HANG, for each call; Consume takes a function like `stream`, which answers
    AppendStream. `calls` holds (method, request), `metadata` that of the latest call, `ended` counts their ends.
    """

    def __init__(self, port: int = 0) -> None:
        self.answers: dict[str, list[Any]] = {}
        self.calls: list[tuple[str, Any]] = []
        self.metadata: dict[str, Any] = {}
        self.ended = threading.Semaphore(0)
        self.stream: Callable[[Iterator[Any], grpc.ServicerContext], Iterator[Any]] = lambda requests, context: iter(())
        self._server = grpc.server(ThreadPoolExecutor(16), options=[("grpc.max_receive_message_length", -1)])
        for module in MODULES:
            for service in module.DESCRIPTOR.services_by_name.values():
                handlers = {method.name: self._handler(method) for method in service.methods}
                generic = grpc.method_handlers_generic_handler(service.full_name, handlers)
                self._server.add_generic_rpc_handlers((generic,))
        self.address = f"127.0.0.1:{self._server.add_insecure_port(f'127.0.0.1:{port}')}"
        self._server.start()

    def stop(self) -> None:
        self._server.stop(0).wait()

    def requests(self, method: str) -> list[Any]:
        return [request for name, request in self.calls if name == method]

    def _handler(self, method: Any) -> grpc.RpcMethodHandler[Any, Any]:
        request, response = GetMessageClass(method.input_type), GetMessageClass(method.output_type)
        if method.client_streaming:

            def converse(requests: Iterator[Any], context: grpc.ServicerContext) -> Iterator[Any]:
                scripted = self.answers[method.name].pop(0) if method.name in self.answers else self.stream
                return scripted(requests, context)

            return grpc.stream_stream_rpc_method_handler(converse, request.FromString, response.SerializeToString)
        if method.server_streaming:

            def tell(message: Any, context: grpc.ServicerContext) -> Iterator[Any]:
                self._note(method.name, message, context)
                return self._play(self.answers[method.name].pop(0), context)

            return grpc.unary_stream_rpc_method_handler(tell, request.FromString, response.SerializeToString)

        def unary(message: Any, context: grpc.ServicerContext) -> Any:
            self._note(method.name, message, context)
            answers = self.answers.get(method.name, [])
            answer = answers.pop(0) if answers else response()
            if isinstance(answer, float):
                over = threading.Event()
                if context.add_callback(over.set):
                    over.wait(answer)
                answer = response()
            if isinstance(answer, Fail):
                answer.abort(context)
            return answer

        return grpc.unary_unary_rpc_method_handler(unary, request.FromString, response.SerializeToString)

    def _note(self, method: str, message: Any, context: grpc.ServicerContext) -> None:
        self.calls.append((method, message))
        self.metadata = dict(context.invocation_metadata())

    def _play(self, script: list[Any], context: grpc.ServicerContext) -> Iterator[Any]:
        over = threading.Event()

        def end() -> None:
            over.set()
            self.ended.release()

        if not context.add_callback(end):
            end()
        for item in script:
            if isinstance(item, Fail):
                item.abort(context)
            elif item is HANG:
                over.wait()
            elif isinstance(item, float):
                over.wait(item)
            else:
                yield item


def first_stream_breaks_after(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """So much silence breaks the client's first stream; later ones have time, however slow the machine is."""
    silences = chain([seconds], repeat(600.0))

    def silence(name: str) -> float:
        """The client reads SILENCE once for each stream."""
        if name != "SILENCE":
            raise AttributeError(name)
        return next(silences)

    monkeypatch.delattr(changes, "SILENCE")
    monkeypatch.setattr(changes, "__getattr__", silence, raising=False)
