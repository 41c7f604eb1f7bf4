"""Subscriptions with the generated stubs, without the SDK."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import grpc
import grpc.aio

from tests.support.servers.reconnect import RECONNECT
from threadkeep._rpc_errors import from_rpc_error
from threadkeep.errors import ThreadkeepError
from threadkeep.v1 import subscription_pb2 as pb
from threadkeep.v1 import subscription_service_pb2 as su
from threadkeep.v1.filter_pb2 import EventFilter
from threadkeep.v1.session_pb2 import SessionRef
from threadkeep.v1.subscription_service_pb2_grpc import SubscriptionServiceStub

if TYPE_CHECKING:  # it exists in the stub files alone
    from threadkeep.v1.subscription_service_pb2_grpc import SubscriptionServiceAsyncStub

WITHIN = 30.0
"""Seconds within which an expected frame must arrive."""
APP, USER = "shop", "ann"
LIVE: Mapping[str, Any] = {"live_only": True}

Call = grpc.aio.UnaryStreamCall[Any, Any]


def named(session_id: str = "s", *, app: str = APP, user: str = USER) -> SessionRef:
    return SessionRef(app=app, user_id=user, session_id=session_id)


@dataclass(frozen=True)
class View:
    """The scope and filter of a subscription."""

    scope: SessionRef | su.ChangeScope
    wanted: EventFilter = field(default_factory=EventFilter)

    def request(self, **start: Any) -> su.WatchSessionRequest | su.WatchAllRequest:
        """`start`: one of the fields of the oneof; None is live only."""
        if isinstance(self.scope, SessionRef):
            if start.pop("from_beginning", False):
                start["after_seq"] = 0
            return su.WatchSessionRequest(session=self.scope, filter=self.wanted, **start)
        return su.WatchAllRequest(scope=self.scope, filter=self.wanted, **start)


EVERYTHING = View(su.ChangeScope())


class Stream:
    """One call, read change by change. Every frame has at least one change, and every change a resume token."""

    def __init__(self, call: Call, address: str) -> None:
        self._call = call
        self._address = address
        self._left: deque[pb.Change] = deque()
        self.frames = 0
        self.edge = pb.Change()
        """The CAUGHT_UP checkpoint."""

    async def next(self, within: float = WITHIN) -> pb.Change:
        """Returns the next change or checkpoint. Raises ThreadkeepError."""
        while not self._left:
            async with asyncio.timeout(within):
                try:
                    frame: Any = await self._call.read()
                except grpc.RpcError as error:
                    raise from_rpc_error(error, self._address) from error
            assert frame is not grpc.aio.EOF, "a stream ends with an error only"
            assert frame.changes, "a frame without a change"
            self.frames += 1
            self._left += frame.changes
        change = self._left.popleft()
        assert change.resume_token, "a change without a resume token"
        return change

    async def checkpoint(self, kind: pb.CheckpointKind.ValueType) -> pb.Change:
        """Returns the next change, which must be this checkpoint."""
        change = await self.next()
        assert change.WhichOneof("kind") == "checkpoint", change
        assert change.checkpoint.kind == kind, change
        return change

    async def until(self, kind: pb.CheckpointKind.ValueType) -> list[pb.Change]:
        """Returns everything up to and including this checkpoint."""
        read = [await self.next()]
        while not is_checkpoint(read[-1], kind):
            read.append(await self.next())
        return read

    async def live(self) -> None:
        """Reads until the stream has caught up; there must be no changes before."""
        await self.checkpoint(pb.CHECKPOINT_KIND_STARTED)
        self.edge = await self.checkpoint(pb.CHECKPOINT_KIND_CAUGHT_UP)

    async def silent(self, beats: int) -> None:
        """Checks that only this number of heartbeats arrives."""
        for _ in range(beats):
            await self.checkpoint(pb.CHECKPOINT_KIND_HEARTBEAT)

    async def changes(self, count: int) -> list[pb.Change]:
        """Returns the next changes that are not checkpoints."""
        found: list[pb.Change] = []
        async with asyncio.timeout(4 * WITHIN):  # heartbeats do not extend it
            while len(found) < count:
                change = await self.next()
                if not change.HasField("checkpoint"):
                    found.append(change)
        return found

    async def error(self, received: list[pb.Change] | None = None) -> ThreadkeepError:
        """Returns the error that ends the stream. Appends earlier changes to `received`."""
        received = [] if received is None else received
        try:
            while True:
                received.append(await self.next())
        except ThreadkeepError as error:
            return error


@dataclass(frozen=True)
class Subscriber:
    """Opens streams to one server. Each `connection` is separate, as in another process."""

    address: str
    stub: SubscriptionServiceAsyncStub

    @contextlib.asynccontextmanager
    async def watch(self, view: View, **start: Any) -> AsyncIterator[Stream]:
        request = view.request(**start)
        if isinstance(request, su.WatchSessionRequest):
            call: Call = self.stub.WatchSession(request)
        else:
            call = self.stub.WatchAll(request)
        try:
            yield Stream(call, self.address)
        finally:
            call.cancel()

    async def read(self, view: View, **start: Any) -> list[pb.Change]:
        """Returns everything until the stream has caught up, including checkpoints."""
        async with self.watch(view, **start) as stream:
            return await stream.until(pb.CHECKPOINT_KIND_CAUGHT_UP)

    async def refused(self, view: View, **start: Any) -> ThreadkeepError:
        async with self.watch(view, **start) as stream:
            return await stream.error()


@contextlib.asynccontextmanager
async def subscriber(address: str) -> AsyncIterator[Subscriber]:
    """Connects without retries."""
    options = (*RECONNECT, ("grpc.enable_retries", 0))
    async with grpc.aio.insecure_channel(address, options) as channel:
        yield Subscriber(address, cast("SubscriptionServiceAsyncStub", SubscriptionServiceStub(channel)))


def is_checkpoint(change: pb.Change, kind: pb.CheckpointKind.ValueType) -> bool:
    return change.HasField("checkpoint") and change.checkpoint.kind == kind
