"""A gRPC proxy between SDK and server: it fails calls and speaks like a newer server. Before it a relay cuts connections."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import grpc
import grpc.aio
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status

from tests.support.servers.reconnect import RECONNECT
from tests.support.servers.server_process import free_port
from threadkeep.v1.subscription_pb2 import CHECKPOINT_KIND_CAUGHT_UP, CHECKPOINT_KIND_FELL_BEHIND, Change, Checkpoint
from threadkeep.v1.subscription_service_pb2 import WatchAllResponse, WatchSessionResponse

from ..messages import BY_PATH
from . import newer

_UNLIMITED = (("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1))
_DETAILS = "grpc-status-details-bin"
_READY_WITHIN = 60.0
_CHUNK = 256 * 1024


@dataclass
class Rule:
    """What to do with the next `times` calls of an RPC."""

    rpc: str
    times: int = 1
    before: str = ""
    after: str = ""
    retry_after_ms: int | None = None
    delay_ms: int = 0
    unknown_fields: bool = False
    unknown_reason: bool = False
    falls_behind: bool = False


class Gateway:
    """The proxy before one server; an asynchronous context manager. `address` is what clients connect to."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._inner = f"127.0.0.1:{free_port()}"
        self._relay = _Relay(self._inner)
        self._rules: list[Rule] = []
        self.address = ""

    async def __aenter__(self) -> Self:
        self._channel = grpc.aio.insecure_channel(self._server, (*RECONNECT, *_UNLIMITED))
        self._proxy = grpc.aio.server(options=_UNLIMITED)
        self._proxy.add_generic_rpc_handlers((_Handler(self),))
        self._proxy.add_insecure_port(self._inner)
        await self._proxy.start()
        self.address = await self._relay.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._relay.close()
        await self._proxy.stop(grace=None)
        await self._channel.close()

    def rules(self, rules: Sequence[Mapping[str, Any]]) -> None:
        """What it does from now on. The first rule that fits a call, and has times left, is applied to it."""
        self._rules = [Rule(**rule) for rule in rules]

    def cut(self) -> None:
        """Ends every connection as a broken network does."""
        self._relay.cut()

    async def ready(self) -> None:
        """Waits until its own connection to the server is there."""
        async with asyncio.timeout(_READY_WITHIN):
            while (state := self._channel.get_state(try_to_connect=True)) is not grpc.ChannelConnectivity.READY:
                await self._channel.wait_for_state_change(state)

    def take(self, path: str) -> Rule:
        """The rule for this call."""
        for rule in self._rules:
            if rule.times > 0 and rule.rpc in ("*", BY_PATH[path].name):
                rule.times -= 1
                return rule
        return Rule("*")

    async def forward(self, path: str, requests: AsyncIterator[bytes], context: Any) -> AsyncIterator[bytes]:
        rule = self.take(path)
        await asyncio.sleep(rule.delay_ms / 1000)
        if rule.before:
            await _fail(context, rule.before, rule.retry_after_ms)
        metadata = [(key, value) for key, value in context.invocation_metadata() if not key.startswith(("grpc-", ":"))]
        metadata = [(key, value) for key, value in metadata if key not in ("user-agent", "te", "content-type")]
        remaining = context.time_remaining()
        invoke: grpc.aio.StreamStreamMultiCallable[bytes, bytes] = self._channel.stream_stream(path)
        call = invoke(requests, metadata=metadata, timeout=remaining)
        try:
            async for response in call:
                if rule.after:
                    if not BY_PATH[path].streams:
                        continue
                    yield response
                    await _fail(context, rule.after, rule.retry_after_ms)
                yield _changed(rule, path, response)
            trailing = tuple(await call.trailing_metadata() or ())
        except grpc.aio.AioRpcError as error:
            details = tuple(error.trailing_metadata() or ())
            if rule.unknown_reason:
                details = newer.reason(details)
            # What gRPC itself reports of a connection that breaks.
            code = grpc.StatusCode.UNAVAILABLE if "from Core" in (error.details() or "") else error.code()
            await context.abort(code, error.details() or "", details)
        finally:
            call.cancel()
        if rule.after:
            await _fail(context, rule.after, rule.retry_after_ms)
        context.set_trailing_metadata(trailing)


def _changed(rule: Rule, path: str, response: bytes) -> bytes:
    if rule.unknown_fields:
        return newer.response(path, response)
    return _fallen_behind(path, response) if rule.falls_behind else response


def _fallen_behind(path: str, data: bytes) -> bytes:
    """This message of a watch with FELL_BEHIND and CAUGHT_UP after each whole change, with its token."""
    message = BY_PATH[path].response.FromString(data)
    assert isinstance(message, WatchSessionResponse | WatchAllResponse)
    changes = list(message.changes)
    del message.changes[:]
    for change in changes:
        message.changes.append(change)
        if change.WhichOneof("kind") != "checkpoint" and not change.batch.continues and not change.compaction.continues:
            for kind in (CHECKPOINT_KIND_FELL_BEHIND, CHECKPOINT_KIND_CAUGHT_UP):
                message.changes.append(Change(checkpoint=Checkpoint(kind=kind), resume_token=change.resume_token))
    return message.SerializeToString()


async def _fail(context: Any, code: str, retry_after_ms: int | None) -> None:
    status = grpc.StatusCode[code]
    trailing: tuple[tuple[str, bytes], ...] = ()
    if retry_after_ms is not None:
        reported = Status(code=status.value[0], message="the gateway fails this call")
        delay = Duration()
        delay.FromMilliseconds(retry_after_ms)
        reported.details.add().Pack(RetryInfo(retry_delay=delay))
        trailing = ((_DETAILS, reported.SerializeToString()),)
    await context.abort(status, "the gateway fails this call", trailing)


class _Handler(grpc.GenericRpcHandler):
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[bytes, bytes] | None:
        path = handler_call_details.method
        if path not in BY_PATH:
            return None

        async def forward(requests: AsyncIterator[bytes], context: Any) -> AsyncIterator[bytes]:
            async for response in self._gateway.forward(path, requests, context):
                yield response

        return grpc.stream_stream_rpc_method_handler(forward)


class _Relay:
    """Relays bytes between clients and the proxy until `cut` breaks every connection."""

    def __init__(self, target: str) -> None:
        host, _, port = target.rpartition(":")
        self._target = (host, int(port))
        self._open: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def start(self) -> str:
        self._listener = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        host, port = self._listener.sockets[0].getsockname()[:2]
        return f"{host}:{port}"

    async def close(self) -> None:
        self._listener.close()
        tasks = list(self._open)
        self.cut()
        await asyncio.gather(*tasks, return_exceptions=True)

    def cut(self) -> None:
        for writer in self._open.values():
            writer.transport.abort()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open[task] = writer
        try:
            with contextlib.suppress(OSError):
                there, back = await asyncio.open_connection(*self._target)
                try:
                    await asyncio.gather(_pump(reader, back), _pump(there, writer))
                finally:
                    back.transport.abort()
        finally:
            del self._open[task]
            writer.transport.abort()


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    """Raises OSError when either side ends, so that both are ended."""
    while data := await source.read(_CHUNK):
        sink.write(data)
        await sink.drain()
    raise ConnectionResetError
