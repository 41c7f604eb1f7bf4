"""Reading a stream of the server; `frames_threads` does the same for the synchronous client.

The two differ in what generation cannot express: here silence is a timeout of a read, which threads do not have.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, cast

import grpc
import grpc.aio

from .._rpc_errors import from_rpc_error, readable
from ..errors import ThreadkeepError, Unavailable

Frame = TypeVar("Frame")


async def pause(seconds: float, until: asyncio.Event | None = None) -> None:
    """Wait this long, or until the event is set."""
    if until is None:
        await asyncio.sleep(seconds)
        return
    try:
        await asyncio.wait_for(until.wait(), seconds)
    except TimeoutError:
        return


class LoopOwner:
    """The event loop that a channel belongs to."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    def is_new(self) -> bool:
        """Whether the running loop has no channel yet: it is the first, or the loop before it is closed.

        Raises RuntimeError if another loop has the channel.
        """
        running = asyncio.get_running_loop()
        if self._loop is running:
            return False
        if self._loop is not None and not self._loop.is_closed():
            raise RuntimeError(
                "this AsyncClient is in use by another event loop; make one AsyncClient per event loop, or use Client, which "
                "threads share"
            )
        self._loop = running
        return True


class Frames(Generic[Frame]):
    """The messages of a call. Errors are typed; `silence` seconds without a message are Unavailable. Leaving ends the call."""

    def __init__(
        self, call: grpc.aio.UnaryStreamCall[Any, Frame] | grpc.aio.StreamStreamCall[Any, Frame], silence: float, address: str
    ) -> None:
        self._call, self._silence, self._address = call, silence, address

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._call.cancel()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Frame:
        try:
            async with asyncio.timeout(self._silence):
                frame = await self._read()
        except TimeoutError:
            raise Unavailable(f"no heartbeat from {self._address} for {self._silence:g} s") from None
        except grpc.RpcError as error:
            raise from_rpc_error(error, self._address) from None
        if frame is grpc.aio.EOF:
            raise StopAsyncIteration
        return readable(cast("Frame", frame))

    async def _read(self) -> Frame | Any:
        """Returns the next message. A call canceled by closing the client must not look like a canceled task."""
        try:
            return await self._call.read()
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise ThreadkeepError("the call was canceled: the client is closed", code=grpc.StatusCode.CANCELLED) from None
