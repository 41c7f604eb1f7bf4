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
from connectrpc.compression.gzip import GzipCompression
from connectrpc.errors import ConnectError, ErrorDetail
from connectrpc.method import IdempotencyLevel, MethodInfo, StreamType
from connectrpc.request import RequestContext
from connectrpc.server import ConnectASGIApplication, Endpoint
from google.protobuf import any_pb2, symbol_database
from google.protobuf.message import Message
from protobuf.wkt import Any as WireAny
from protobuf.wkt import Struct

from ...domain.errors import DeadlineExceeded, ThreadkeepError
from ...domain.model import Caller
from ...service.call_limit import CallLimit
from ...telemetry.rpcs import CANCELLED, Call, Rpc, Rpcs, code_of
from ..asgi import ASGIApp, Receive, Scope, Send
from ..auth import Authenticator
from ..client_certificates import CLIENT_NAMES
from ..decoding import DECODER
from ..errors import as_domain_error, release, status_of
from ..pace import Pace
from ..rpc import Method, Service, encode, most_decompressed, too_large
from ..wire.json_codec import to_json

_CODES = {"CANCELED": CANCELLED}
"""The names of codes that the library spells differently."""
_ENCODINGS = ("content-encoding", "connect-content-encoding", "grpc-encoding")


@dataclass(frozen=True, slots=True)
class _Response:
    """The result of a servicer. Encoded responses are decoded only for JSON."""

    value: Message | bytes
    type: type[Message]

    def message(self) -> Message:
        return self.type.FromString(self.value) if isinstance(self.value, bytes) else self.value


class _Request:
    """An encoded request. The library decodes on the event loop, so it only passes the bytes on."""

    def __init__(self, data: bytes | bytearray, *, is_json: bool) -> None:
        self._data = bytes(data)
        self._is_json = is_json

    async def message(self, method: Method) -> Message:
        """Decodes once. Raises InvalidField, RateLimited."""
        data, self._data = self._data, b""
        return await (DECODER.json if self._is_json else DECODER.proto)(method, data)


class _ProtoCodec(Codec[_Response, _Request]):
    def name(self) -> str:
        return "proto"

    def encode(self, message: _Response) -> bytes:
        return encode(message.value)

    def decode(self, data: bytes | bytearray, message_class: type[_Request]) -> _Request:
        return _Request(data, is_json=False)


class _JsonCodec(Codec[_Response, _Request]):
    def name(self) -> str:
        return "json"

    def encode(self, message: _Response) -> bytes:
        return to_json(message.message())

    def decode(self, data: bytes | bytearray, message_class: type[_Request]) -> _Request:
        return _Request(data, is_json=True)


class _Gzip(GzipCompression):
    """Gzip whose requests may not decompress to many times their size."""

    def decompress(self, data: bytes | bytearray | memoryview, read_max_bytes: int | None = None) -> bytes:
        if read_max_bytes is None:
            return super().decompress(data)
        most = most_decompressed(len(data), read_max_bytes)
        try:
            return super().decompress(data, most)
        except ConnectError:
            raise _connect_error(too_large(most, read_max_bytes)) from None


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
    """Interceptor of every call: authenticates and counts it before the request is read, and converts errors as over gRPC.

    `most_bytes`: size of the largest request.
    """

    def __init__(self, authenticator: Authenticator, limit: CallLimit, most_bytes: int, rpcs: Rpcs) -> None:
        self._authenticator = authenticator
        self._limit = limit
        self._most_bytes = most_bytes
        self._roles: dict[tuple[str, str], str] = {}
        # Decompressing a request in the event loop takes some milliseconds at worst.
        self._decompressions = Pace(1)
        self._callers: WeakKeyDictionary[RequestContext[Any, Any], Caller] = WeakKeyDictionary()
        self._rpcs = rpcs
        self._measured: dict[tuple[str, str], Rpc] = {}

    async def on_start(self, ctx: RequestContext[Any, Any]) -> Call:
        call = self._measured[ctx.method.service_name, ctx.method.name].begin(ctx.request_headers.get)
        try:
            service, name = ctx.method.service_name, ctx.method.name
            authorization = ctx.request_headers.get("authorization")
            role, names = self._roles[service, name], CLIENT_NAMES.get()
            caller = await self._authenticator.admit(role, authorization, names, method=f"/{service}/{name}")
            self._callers[ctx] = caller
            if _is_counted(ctx):
                self._limit.__enter__()
            if _is_compressed(ctx):
                await self._await_turn(caller, ctx)
        except Exception as error:
            call.failed(error)
            raise _connect_error(as_domain_error(error)) from None
        except BaseException as error:
            call.failed(error)
            raise
        return call

    async def _await_turn(self, caller: Caller, ctx: RequestContext[Any, Any]) -> None:
        try:
            await self._decompressions.start(caller)
        except BaseException:  # the library calls `on_end` only after a start
            if _is_counted(ctx):
                self._limit.__exit__()
            raise

    async def on_end(self, call: Call, ctx: RequestContext[Any, Any], error: Exception | None, /) -> None:
        if _is_counted(ctx):
            self._limit.__exit__()
        if error is None:
            call.succeeded()
            return
        reported = self._reported(error)
        code = error.code.name if reported is None and isinstance(error, ConnectError) else code_of(reported or error)
        call.failed(error, _CODES.get(code, code))
        release(error)  # the library keeps it in a frame of its traceback
        if reported is not None:
            raise _connect_error(reported) from None

    def _reported(self, error: Exception) -> ThreadkeepError | None:
        """Returns the error to report instead of this one, if it is not reported as it is."""
        if not isinstance(error, ConnectError):
            return as_domain_error(error)
        if error.details:
            return None
        if error.code is Code.RESOURCE_EXHAUSTED:  # the library has no other reason for it
            return too_large(self._most_bytes)
        return DeadlineExceeded() if error.code is Code.DEADLINE_EXCEEDED else None

    def endpoint(self, method: Method) -> Any:
        self._roles[method.service, method.name] = method.role
        self._measured[method.service, method.name] = self._rpcs.rpc(method.service, method.name, streaming=method.streaming)
        level = IdempotencyLevel.IDEMPOTENT if method.idempotent else IdempotencyLevel.UNKNOWN
        info = MethodInfo(
            name=method.name,
            service_name=method.service,
            input=method.request_type,
            output=method.response_type,
            idempotency_level=IdempotencyLevel.NO_SIDE_EFFECTS if method.read_only else level,
            stream_type=_stream_type(method),
        )

        async def unary(request: _Request, ctx: RequestContext[Any, Any]) -> _Response:
            message = await request.message(method)
            return _Response(await method.call(message, self._callers[ctx]), method.response_type)

        # `request` is one message or a stream of messages, as the method requires.
        async def stream(request: Any, ctx: RequestContext[Any, Any]) -> AsyncIterator[_Response]:
            if method.client_streaming:
                messages: Any = _messages(request, method)
            else:
                messages = await request.message(method)
            async with aclosing(method.call(messages, self._callers[ctx])) as responses:
                async for response in responses:
                    yield _Response(response, method.response_type)
                    # Sending to a client that is gone returns at once. The pause lets the disconnect be noticed.
                    await asyncio.sleep(0)

        if method.client_streaming:
            return Endpoint.bidi_stream(info, stream)
        return Endpoint.server_stream(info, stream) if method.server_streaming else Endpoint.unary(info, unary)


async def _messages(requests: AsyncIterator[_Request], method: Method) -> AsyncIterator[Message]:
    async for request in requests:
        yield await request.message(method)


def _is_counted(ctx: RequestContext[Any, Any]) -> bool:
    return ctx.method.stream_type is not StreamType.SERVER_STREAM


def _is_compressed(ctx: RequestContext[Any, Any]) -> bool:
    return any(ctx.request_headers.get(name, "identity") != "identity" for name in _ENCODINGS)


def _stream_type(method: Method) -> StreamType:
    if method.client_streaming:
        return StreamType.BIDI_STREAM
    return StreamType.SERVER_STREAM if method.server_streaming else StreamType.UNARY


class _Application(ConnectASGIApplication[Mapping[str, Any]]):
    @property
    def path(self) -> str:
        return "/"


def connect_app(
    services: Sequence[Service], authenticator: Authenticator, *, max_bytes: int, calls: CallLimit, rpcs: Rpcs | None = None
) -> ASGIApp:
    """Returns an app that serves the RPCs as JSON, Connect and gRPC-Web. Rejects requests of more than `max_bytes`, and smaller
    ones as Method.most_bytes says."""
    methods = [method for service in services for method in service.methods()]
    apps: dict[int, ASGIApp] = {}
    rpcs = rpcs or Rpcs()
    for most in {method.most_bytes(max_bytes) for method in methods}:
        interceptor = _Calls(authenticator, calls, most, rpcs)
        endpoints = {method.path: interceptor.endpoint(method) for method in methods if method.most_bytes(max_bytes) == most}
        apps[most] = _Application(
            service=endpoints,
            endpoints=lambda each: each,
            interceptors=[interceptor],
            read_max_bytes=most,
            compressions=[_Gzip()],
            codecs=[_ProtoCodec(), _JsonCodec()],
        )
    app_of = {method.path: apps[method.most_bytes(max_bytes)] for method in methods}

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        await app_of[scope["path"]](scope, receive, send)

    return serve
