"""The pipelined append: requests go on while earlier ones wait for their commit; results come in request order, grouped."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable

from recollect.v1 import event_service_pb2 as pb

from ..domain.errors import InvalidField
from .errors import as_domain_error

Append = Callable[[pb.AppendEventsRequest], Awaitable[pb.AppendEventsResponse]]

# What one stream may have in flight before its requests are no longer read; gRPC's flow control then holds the client.
_MOST_IN_FLIGHT = 256
_MOST_BYTES_IN_FLIGHT = 16 << 20
_RESULTS_AT_ONCE = 64


class AppendStream:
    """One stream. `append` serves a single request."""

    def __init__(self, append: Append) -> None:
        self._append = append
        self._in_flight: deque[tuple[int, asyncio.Task[pb.AppendStreamResult]]] = deque()
        self._bytes = 0
        self._changed = asyncio.Event()
        self._ended = False

    async def responses(self, requests: AsyncIterator[pb.AppendStreamRequest]) -> AsyncIterator[pb.AppendStreamResponse]:
        reader = asyncio.create_task(self._read(requests))
        try:
            while (first := await self._next()) is not None:
                results = [await first]
                while self._in_flight and len(results) < _RESULTS_AT_ONCE and self._in_flight[0][1].done():
                    results.append(self._take().result())
                yield pb.AppendStreamResponse(results=results)
            await reader
        finally:
            # The client is gone, or the stream is at its end: what is not committed yet is of no use to anybody.
            pending = [reader, *(task for _, task in self._in_flight)]
            for task in pending:
                task.cancel()
            await asyncio.gather(*pending, return_exceptions=True)

    async def _next(self) -> asyncio.Task[pb.AppendStreamResult] | None:
        while not self._in_flight:
            if self._ended:
                return None
            await self._wait()
        return self._take()

    def _take(self) -> asyncio.Task[pb.AppendStreamResult]:
        size, task = self._in_flight.popleft()
        self._bytes -= size
        self._changed.set()
        return task

    async def _wait(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    async def _read(self, requests: AsyncIterator[pb.AppendStreamRequest]) -> None:
        """Starts an append for each request. Ended by the client's half-close, or by its going away."""
        index = 0
        previous = pb.AppendEventsRequest().session
        try:
            async for request in requests:
                append = request.append
                if append.HasField("session"):
                    previous = append.session
                else:
                    append.session.CopyFrom(previous)
                while len(self._in_flight) >= _MOST_IN_FLIGHT or self._bytes > _MOST_BYTES_IN_FLIGHT:
                    await self._wait_for_room()
                size = request.ByteSize()
                self._bytes += size
                self._in_flight.append((size, asyncio.create_task(self._result(index, append))))
                self._changed.set()
                index += 1
        finally:
            self._ended = True
            self._changed.set()

    async def _wait_for_room(self) -> None:
        # Both sides share one event, so look again soon even if the other side has taken the wake-up.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.05):
                await self._changed.wait()

    async def _result(self, index: int, append: pb.AppendEventsRequest) -> pb.AppendStreamResult:
        try:
            if not append.events:
                raise InvalidField("append.events", "must not be empty")
            return pb.AppendStreamResult(index=index, appended=await self._append(append))
        except Exception as exc:  # told in its result; the stream goes on
            error = as_domain_error(exc)
            failure = pb.AppendError(code=error.kind.value, message=error.message, reason=error.reason, metadata=error.metadata)
            return pb.AppendStreamResult(index=index, error=failure)
