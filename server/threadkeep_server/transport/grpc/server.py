"""The gRPC server: error conversion, health, reflection, channelz, and graceful shutdown."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing, asynccontextmanager, nullcontext
from functools import partial
from typing import Any, NoReturn

import grpc
from google.protobuf.message import Message
from google.rpc import status_pb2
from grpc_channelz.v1 import channelz, channelz_pb2_grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2_grpc

from ...domain.errors import ServerDraining
from ...domain.model import Caller
from ...domain.roles import OPS
from ...service.call_limit import UNLIMITED, CallLimit
from ...telemetry.rpcs import CANCELLED, DEADLINE_EXCEEDED, Call, Rpc, Rpcs
from ..audit.peer import PEER
from ..auth import Authenticator
from ..connections import DEFAULT_LIMITS, ConnectionLimits
from ..decoding import DECODER
from ..errors import as_domain_error, release, status_of
from ..rpc import MESSAGE_SLACK, Method, Service, encode
from .credentials import certificate_names
from .operators import ForOperators

_log = logging.getLogger(__name__)

_PING_INTERVAL_MS = 10_000
_CONNECTION_AGE_MS = 3_600_000
_CONNECTION_AGE_GRACE_MS = 60_000
_CONNECTION_IDLE_MS = 600_000
_KEEPALIVE_MS = 60_000
_KEEPALIVE_TIMEOUT_MS = 20_000
# Calls that wait for a busy event loop. Beyond this number gRPC cancels some, beyond twice as many all, without a reason.
_PENDING_CALLS = 20_000
_CANCELLED_WITHIN_S = 1.0
_APPENDS = frozenset({"AppendEvents", "AppendStream"})
"""Methods that are accepted from queues of their own. Each costs every call of the others something."""
_CODES = {code.value[0]: code for code in grpc.StatusCode}

Context = grpc.aio.ServicerContext[Any, Any]


class CannotListen(OSError):
    """The address is in use or not local."""


class _Boundary:
    """Connects grpc and the servicers: parses requests, authenticates callers, converts errors. One per server."""

    def __init__(self, authenticator: Authenticator, calls: CallLimit, rpcs: Rpcs) -> None:
        self._authenticator = authenticator
        self._calls = calls
        self._rpcs = rpcs
        self.draining = False

    def handler(self, method: Method) -> grpc.RpcMethodHandler[Any, Any]:
        rpc = self._rpcs.rpc(method.service, method.name, streaming=method.streaming)
        if method.client_streaming:
            return grpc.stream_stream_rpc_method_handler(self._bidirectional(method, rpc), response_serializer=encode)
        if method.server_streaming:
            return grpc.unary_stream_rpc_method_handler(self._server_stream(method, rpc), response_serializer=encode)
        return grpc.unary_unary_rpc_method_handler(self._unary(method, rpc), response_serializer=encode)

    def _unary(self, method: Method, rpc: Rpc) -> Callable[[bytes, Context], Awaitable[Message | bytes]]:
        async def unary(raw: bytes, context: Context) -> Message | bytes:
            call = rpc.begin(partial(_header, context))
            try:
                with self._calls:
                    caller = await self.admit(method.role, method.path, context)
                    response: Message | bytes = await method.call(await DECODER.proto(method, raw), caller)
            except BaseException as exc:
                status = _reported(exc, call, context)
            else:
                call.succeeded()
                return response
            del raw  # the exception of the end keeps this frame until the garbage collector runs
            return await _abort(context, status)

        return unary

    def _server_stream(self, method: Method, rpc: Rpc) -> Callable[[bytes, Context], Awaitable[None]]:
        async def server_stream(raw: bytes, context: Context) -> None:
            status = await self._respond(
                method, rpc.begin(partial(_header, context)), partial(DECODER.proto, method, raw), context
            )
            if status is not None:
                del raw  # the exception of the end keeps this frame until the garbage collector runs
                await _abort(context, status)

        return server_stream

    def _bidirectional(self, method: Method, rpc: Rpc) -> Callable[[AsyncIterator[bytes], Context], Awaitable[None]]:
        async def bidirectional(raws: AsyncIterator[bytes], context: Context) -> None:
            async def requests() -> AsyncIterator[Message]:
                return (await DECODER.proto(method, raw) async for raw in raws)

            status = await self._respond(method, rpc.begin(partial(_header, context)), requests, context)
            if status is not None:
                await _abort(context, status)

        return bidirectional

    async def _respond(
        self, method: Method, call: Call, request: Callable[[], Awaitable[Any]], context: Context
    ) -> status_pb2.Status | None:
        """Writes the responses; returns the status of a call that failed. grpc would accept a generator, but does not close it
        when the client disconnects."""
        try:
            with self._calls if method.counted else nullcontext():
                caller = await self.admit(method.role, method.path, context)
                async with aclosing(method.call(await request(), caller)) as responses:
                    async for response in responses:
                        await _write(context, response)
        except BaseException as exc:
            return _reported(exc, call, context)
        call.succeeded()
        return None

    async def admit(self, role: str, method: str, context: Context) -> Caller:
        """Returns the caller. Raises ServerDraining, Unauthenticated, PermissionDenied without the role, RateLimited."""
        PEER.set(context.peer)
        if self.draining:
            raise ServerDraining
        if self._authenticator.anonymous is not None:
            return self._authenticator.anonymous
        if (credential := _header(context, "authorization")) is not None:
            return await self._authenticator.admit(role, credential, method=method)
        return await self._authenticator.admit(role, None, certificate_names(context.auth_context()), method=method)

    async def admit_operator(self, method: str, context: Context) -> None:
        """Ends the call unless the caller has the role ops."""
        try:
            await self.admit(OPS, method, context)
        except Exception as exc:
            await _abort(context, _status(exc))


class _Unknown(grpc.GenericRpcHandler):
    """Answers calls of methods that the server does not have."""

    def __init__(self, rpcs: Rpcs) -> None:
        self._rpcs = rpcs

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[Any, Any]:
        async def unknown(_: object, context: Context) -> None:
            self._rpcs.count_unknown()
            await context.abort(grpc.StatusCode.UNIMPLEMENTED, f"{handler_call_details.method} is not a method of this server")

        return grpc.stream_stream_rpc_method_handler(unknown)


async def _write(context: Context, response: Message | bytes) -> None:
    try:
        await context.write(response)
    except grpc.aio.InternalError:
        # The client is gone. Waits for the cancellation that follows, so that it does not interrupt closing the responses.
        await asyncio.sleep(_CANCELLED_WITHIN_S)
        raise asyncio.CancelledError from None


def _header(context: Context, wanted: str) -> str | None:
    for key, value in context.invocation_metadata() or ():
        if key == wanted:
            return value if isinstance(value, str) else value.decode("latin-1")
    return None


def _reported(exc: BaseException, call: Call, context: Context) -> status_pb2.Status:
    """Ends the call. Returns what its client gets for the error. Raises a cancellation again."""
    if isinstance(exc, Exception):
        call.failed(exc)
        return _status(exc)
    left = context.time_remaining()
    call.failed(exc, CANCELLED if left is None or left > 0 else DEADLINE_EXCEEDED)
    raise exc


def _status(exc: Exception) -> status_pb2.Status:
    status = status_of(as_domain_error(exc))
    release(exc)
    return status


async def _abort(context: Context, status: status_pb2.Status) -> NoReturn:
    details = (("grpc-status-details-bin", status.SerializeToString()),)
    await context.abort(_CODES[status.code], status.message, details)


@asynccontextmanager
async def serve_grpc(
    services: Sequence[Service],
    authenticator: Authenticator,
    address: str,
    *,
    max_request_bytes: int,
    drain_grace: float,
    credentials: grpc.ServerCredentials | None = None,
    with_reflection: bool = True,
    with_channelz: bool = True,
    calls: CallLimit = UNLIMITED,
    connections: ConnectionLimits = DEFAULT_LIMITS,
    rpcs: Rpcs | None = None,
) -> AsyncIterator[int]:
    """Serves while the context is open; yields the port. On exit, health reports NOT_SERVING and calls in flight may finish.

    Raises CannotListen.
    """
    rpcs = rpcs or Rpcs()
    boundary = _Boundary(authenticator, calls, rpcs)
    server = grpc.aio.server(options=_options(max_request_bytes, connections))
    names = _add_services(server, services, boundary)
    status = health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(status, server)
    operators: Any = ForOperators(server, boundary.admit_operator)
    if with_reflection:
        reflected = reflection.aio.ReflectionServicer([*names, health.SERVICE_NAME, reflection.SERVICE_NAME])
        reflection_pb2_grpc.add_ServerReflectionServicer_to_server(reflected, operators)
    if with_channelz:
        channelz_pb2_grpc.add_ChannelzServicer_to_server(channelz.aio.ChannelzServicer(), operators)
    server.add_generic_rpc_handlers((_Unknown(rpcs),))  # the last: it takes every method
    port = _bind(server, address, credentials)
    await server.start()
    for name in ("", *names):
        await status.set(name, health_pb2.HealthCheckResponse.SERVING)
    try:
        yield port
    finally:
        boundary.draining = True
        await status.enter_graceful_shutdown()
        # Gives clients that watch health time to reconnect elsewhere before connections close.
        await asyncio.sleep(min(0.1, drain_grace))
        await server.stop(drain_grace)


def _add_services(server: grpc.aio.Server, services: Sequence[Service], boundary: _Boundary) -> list[str]:
    """Registers the services and returns their names."""
    for service in services:
        handlers = {method.name: boundary.handler(method) for method in service.methods()}
        name = service.descriptor.full_name
        # Accepts one call at a time, in the order in which all came: a read may have to wait for thousands of others.
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, handlers),))
        server.add_registered_method_handlers(name, {each: handlers[each] for each in _APPENDS & handlers.keys()})
    return [service.descriptor.full_name for service in services]


def _options(max_request_bytes: int, connections: ConnectionLimits) -> list[tuple[str, int]]:
    return [
        # By default a second server on the same port silently receives half of the calls.
        ("grpc.so_reuseport", 0),
        ("grpc.max_receive_message_length", max_request_bytes + MESSAGE_SLACK),
        ("grpc.max_send_message_length", -1),
        ("grpc.server.max_pending_requests", _PENDING_CALLS),
        ("grpc.server.max_pending_requests_hard_limit", 2 * _PENDING_CALLS),
        ("grpc.max_concurrent_streams", connections.calls),
        ("grpc.max_allowed_incoming_connections", connections.most),
        # Of TLS, and of HTTP/2 up to the client's settings.
        ("grpc.server_handshake_timeout_ms", int(connections.request_timeout_s * 1000)),
        ("grpc.keepalive_time_ms", _KEEPALIVE_MS),
        ("grpc.keepalive_timeout_ms", _KEEPALIVE_TIMEOUT_MS),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_recv_ping_interval_without_data_ms", _PING_INTERVAL_MS),
        ("grpc.max_connection_idle_ms", _CONNECTION_IDLE_MS),
        ("grpc.max_connection_age_ms", _CONNECTION_AGE_MS),
        ("grpc.max_connection_age_grace_ms", _CONNECTION_AGE_GRACE_MS),
    ]


def _bind(server: grpc.aio.Server, address: str, credentials: grpc.ServerCredentials | None) -> int:
    try:
        port = server.add_secure_port(address, credentials) if credentials else server.add_insecure_port(address)
    except RuntimeError:
        port = 0
    if not port:
        raise CannotListen(
            f"cannot listen for gRPC on {address}: the port is in use, or the address is not local; "
            "set another --grpc-address (THREADKEEP_GRPC_ADDRESS)"
        )
    return port
