"""The servicers over Connect and gRPC-Web: the only module that uses the connectrpc library.

The library has its own protobuf runtime. Messages here are google.protobuf messages: they pass through codecs, and the runtime
of the library handles only error details.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from connectrpc.code import Code
from connectrpc.codec import Codec
from connectrpc.errors import ConnectError, ErrorDetail
from connectrpc.method import IdempotencyLevel, MethodInfo, StreamType
from connectrpc.request import RequestContext
from connectrpc.server import ConnectASGIApplication, Endpoint
from google.protobuf import any_pb2, symbol_database
from google.protobuf.message import DecodeError, Message
from protobuf.wkt import Any as WireAny
from protobuf.wkt import Struct

from ...domain.errors import DeadlineExceeded, InvalidField, ThreadkeepError
from ...domain.model import Caller
from ..asgi import ASGIApp
from ..auth import Authenticator
from ..errors import as_domain_error, status_of
from ..rpc import Method, Service, encode
from ..wire.json_codec import from_json, to_json


@dataclass(frozen=True, slots=True)
class _Response:
    """The result of a servicer. Encoded responses are decoded only for JSON."""

    value: Message | bytes
    type: type[Message]

    def message(self) -> Message:
        return self.type.FromString(self.value) if isinstance(self.value, bytes) else self.value


class _ProtoCodec(Codec[_Response, Message]):
    def name(self) -> str:
        return "proto"

    def encode(self, message: _Response) -> bytes:
        return encode(message.value)

    def decode(self, data: bytes | bytearray, message_class: type[Message]) -> Message:
        try:
            return message_class.FromString(bytes(data))
        except DecodeError:
            raise _connect_error(InvalidField("body", f"is not a valid {message_class.DESCRIPTOR.full_name}")) from None


class _JsonCodec(Codec[_Response, Message]):
    def name(self) -> str:
        return "json"

    def encode(self, message: _Response) -> bytes:
        return to_json(message.message())

    def decode(self, data: bytes | bytearray, message_class: type[Message]) -> Message:
        try:
            return from_json(bytes(data), message_class)
        except InvalidField as error:
            raise _connect_error(error) from None


class _Detail(ErrorDetail):
    """An error detail that JSON shows in readable form, as `debug`, in addition to its bytes."""

    def __init__(self, detail: any_pb2.Any) -> None:
        super().__init__(WireAny(type_url=detail.type_url, value=detail.value))
        self._detail = detail

    def value(self, *_: object) -> Any:
        unpacked = symbol_database.Default().GetSymbol(self._detail.TypeName())()
        self._detail.Unpack(unpacked)
        return Struct.from_json(to_json(unpacked))


def _connect_error(error: ThreadkeepError) -> ConnectError:
    """Returns an error with the same code, message and details as over gRPC."""
    status = status_of(error)
    return ConnectError(Code[error.kind.name], status.message, [_Detail(each) for each in status.details])


class _Calls:
    """Interceptor of every call: authenticates the caller before the request is read, and converts errors as over gRPC."""

    def __init__(self, authenticator: Authenticator) -> None:
        self._authenticator = authenticator
        self._roles: dict[tuple[str, str], str] = {}
        self._callers: WeakKeyDictionary[RequestContext[Any, Any], Caller] = WeakKeyDictionary()

    async def on_start(self, ctx: RequestContext[Any, Any]) -> None:
        try:
            role = self._roles[ctx.method.service_name, ctx.method.name]
            self._callers[ctx] = await self._authenticator.admit(role, ctx.request_headers.get("authorization"))
        except Exception as error:
            raise _connect_error(as_domain_error(error)) from None

    async def on_end(self, _token: None, _ctx: RequestContext[Any, Any], error: Exception | None, /) -> None:
        if isinstance(error, ConnectError):
            if error.code is Code.DEADLINE_EXCEEDED and not error.details:
                raise _connect_error(DeadlineExceeded()) from None
        elif error is not None:
            raise _connect_error(as_domain_error(error)) from None

    def endpoint(self, method: Method) -> Any:
        self._roles[method.service, method.name] = method.role
        level = IdempotencyLevel.IDEMPOTENT if method.idempotent else IdempotencyLevel.UNKNOWN
        info = MethodInfo(
            name=method.name,
            service_name=method.service,
            input=method.request_type,
            output=method.response_type,
            idempotency_level=IdempotencyLevel.NO_SIDE_EFFECTS if method.read_only else level,
            stream_type=_stream_type(method),
        )

        async def unary(request: Message, ctx: RequestContext[Any, Any]) -> _Response:
            return _Response(await method.call(request, self._callers[ctx]), method.response_type)

        # `request` is one message or a stream of messages, as the method requires.
        async def stream(request: Any, ctx: RequestContext[Any, Any]) -> AsyncIterator[_Response]:
            async with aclosing(method.call(request, self._callers[ctx])) as responses:
                async for response in responses:
                    yield _Response(response, method.response_type)
                    # Sending to a client that is gone returns at once. The pause lets the disconnect be noticed.
                    await asyncio.sleep(0)

        if method.client_streaming:
            return Endpoint.bidi_stream(info, stream)
        return Endpoint.server_stream(info, stream) if method.server_streaming else Endpoint.unary(info, unary)


def _stream_type(method: Method) -> StreamType:
    if method.client_streaming:
        return StreamType.BIDI_STREAM
    return StreamType.SERVER_STREAM if method.server_streaming else StreamType.UNARY


class _Application(ConnectASGIApplication[Mapping[str, Any]]):
    @property
    def path(self) -> str:
        return "/"


def connect_app(services: Sequence[Service], authenticator: Authenticator, *, max_bytes: int) -> ASGIApp:
    """Returns an app that serves the RPCs as JSON, Connect and gRPC-Web. Rejects requests of more than `max_bytes`."""
    calls = _Calls(authenticator)
    endpoints = {method.path: calls.endpoint(method) for service in services for method in service.methods()}
    return _Application(
        service=endpoints,
        endpoints=lambda each: each,
        interceptors=[calls],
        read_max_bytes=max_bytes,
        codecs=[_ProtoCodec(), _JsonCodec()],
    )
