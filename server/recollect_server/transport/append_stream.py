"""The pipelined append: requests go on while earlier ones wait for their commit; results come in request order, grouped."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from recollect.v1 import event_service_pb2 as pb

from ..store.base import Appended
from .convert import appended_to
from .errors import as_domain_error

Append = Callable[[pb.AppendEventsRequest], Awaitable[Appended]]

# What one stream may have in flight before its requests are no longer read; gRPC's flow control then holds the client.
_MOST_IN_FLIGHT = 256
_MOST_BYTES_IN_FLIGHT = 16 << 20
_RESULTS_AT_ONCE = 64


@dataclass(slots=True)
class _Pending:
    """A request that was taken in, or the error with which it was not."""

    index: int
    size: int
    outcome: asyncio.Future[Appended] | Exception

    @property
    def ready(self) -> bool:
        return isinstance(self.outcome, Exception) or self.outcome.done()

    async def result(self) -> pb.AppendStreamResult:
        try:
            if isinstance(self.outcome, Exception):
                raise self.outcome
            return pb.AppendStreamResult(index=self.index, appended=appended_to(await self.outcome))
        except Exception as exc:  # told in its result; the stream goes on
            error = as_domain_error(exc)
            failure = pb.AppendError(code=error.kind.value, message=error.message, reason=error.reason, metadata=error.metadata)
            return pb.AppendStreamResult(index=self.index, error=failure)


class AppendStream:
    """One stream. `append` takes a request in: it raises what is wrong with it, and what it returns ends when it is done."""

    def __init__(self, append: Append) -> None:
        self._append = append
        self._in_flight: deque[_Pending] = deque()
        self._bytes = 0
        # Each has one waiter, which clears it before it waits: the responses wait for arrivals, the reader for room.
        self._arrived = asyncio.Event()
        self._room = asyncio.Event()
        self._ended = False

    async def responses(self, requests: AsyncIterator[pb.AppendStreamRequest]) -> AsyncIterator[pb.AppendStreamResponse]:
        reader = asyncio.create_task(self._read(requests))
        try:
            while (first := await self._next()) is not None:
                results = [await first.result()]
                while self._in_flight and len(results) < _RESULTS_AT_ONCE and self._in_flight[0].ready:
                    results.append(await self._take().result())
                yield pb.AppendStreamResponse(results=results)
            await reader
        finally:
            # The client is gone, or the stream is at its end: what is not committed yet is of no use to anybody.
            reader.cancel()
            for pending in self._in_flight:
                if not isinstance(pending.outcome, Exception):
                    pending.outcome.cancel()
            await asyncio.gather(reader, return_exceptions=True)

    async def _next(self) -> _Pending | None:
        while not self._in_flight:
            if self._ended:
                return None
            self._arrived.clear()
            await self._arrived.wait()
        return self._take()

    def _take(self) -> _Pending:
        pending = self._in_flight.popleft()
        self._bytes -= pending.size
        self._room.set()
        return pending

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
                    self._room.clear()
                    await self._room.wait()
                size = request.ByteSize()
                self._bytes += size
                self._in_flight.append(_Pending(index, size, self._begin(append)))
                self._arrived.set()
                index += 1
        finally:
            self._ended = True
            self._arrived.set()

    def _begin(self, append: pb.AppendEventsRequest) -> asyncio.Future[Appended] | Exception:
        try:
            return asyncio.ensure_future(self._append(append))
        except Exception as exc:  # told in its result
            return exc
