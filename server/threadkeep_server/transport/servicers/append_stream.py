"""Pipelined appends: requests are read while earlier ones wait for their commit. Results are returned in order, in groups."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable

from threadkeep.v1 import event_service_pb2 as pb
from threadkeep.v1 import session_pb2

from ...domain.errors import ServerDraining
from ...store.contract.events import Appended
from ..convert.events import set_appended
from ..errors import as_domain_error, release

# Receives the session of the request; the same object until the stream changes the session.
Append = Callable[[pb.AppendEventsRequest, session_pb2.SessionRef], Awaitable[Appended]]

# The size of a request, and its append or the error that rejected it. Not a class: there is one per event.
_Pending = tuple[int, asyncio.Future[Appended] | Exception]

# Limits per stream. Beyond them, requests are not read, and the flow control of gRPC blocks the client.
_MOST_IN_FLIGHT = 256
_MOST_BYTES_IN_FLIGHT = 16 << 20
_RESULTS_AT_ONCE = 64


class AppendStreams:
    """The open streams of a server."""

    def __init__(self) -> None:
        self.running: set[AppendStream] = set()
        self.draining = False

    def open(self, append: Append) -> AppendStream:
        return AppendStream(append, self)

    def drain(self) -> None:
        """Ends every stream with SERVER_DRAINING, after the results of the requests that it has read. One that was admitted
        before and begins later ends at once."""
        self.draining = True
        for stream in self.running:
            stream.drain()


class AppendStream:
    """One stream. `append` starts an append: it raises an error for an invalid request, or returns an awaitable result.
    `streams` contains it while it returns responses."""

    def __init__(self, append: Append, streams: AppendStreams | None = None) -> None:
        self._append = append
        self._streams = AppendStreams() if streams is None else streams
        # In request order; `_answered` is the index of the first.
        self._in_flight: deque[_Pending] = deque()
        self._answered = 0
        self._bytes = 0
        # Each has one waiter, which clears it before it waits: the responses wait for arrivals, the reader for room.
        self._arrived = asyncio.Event()
        self._room = asyncio.Event()
        self._ended = False
        self._draining = False
        self._reader: asyncio.Task[None] | None = None

    def drain(self) -> None:
        """Reads no more requests. The stream ends with ServerDraining after the results of those that it has read."""
        self._draining = True
        if self._reader is not None:
            self._reader.cancel()

    async def responses(self, requests: AsyncIterator[pb.AppendStreamRequest]) -> AsyncIterator[pb.AppendStreamResponse]:
        if self._streams.draining:
            raise ServerDraining
        self._reader = reader = asyncio.create_task(self._read(requests))
        # Not in the task: one that is canceled before its first step runs nothing of its code.
        reader.add_done_callback(self._end)
        self._streams.running.add(self)
        try:
            while await self._first_is_done():
                yield self._response()
            try:
                await reader
            except asyncio.CancelledError:
                if self._draining:
                    raise ServerDraining from None
                raise
        finally:
            self._streams.running.discard(self)
            # The client is gone or the stream has ended: appends that are not committed are canceled.
            reader.cancel()
            for _, outcome in self._in_flight:
                if not isinstance(outcome, Exception):
                    outcome.cancel()
            await asyncio.gather(reader, return_exceptions=True)

    async def _first_is_done(self) -> bool:
        """Waits until the first append is done; returns False if there are no more."""
        while not self._in_flight:
            if self._ended:
                return False
            self._arrived.clear()
            await self._arrived.wait()
        _, outcome = self._in_flight[0]
        if not isinstance(outcome, Exception) and not outcome.done():
            with contextlib.suppress(Exception):  # reported in its result
                await outcome
        return True

    def _response(self) -> pb.AppendStreamResponse:
        """Returns the results of the appends that are done. Fills the message in place, which avoids copies at every level."""
        response = pb.AppendStreamResponse()
        results = response.results
        while self._in_flight and len(results) < _RESULTS_AT_ONCE and _is_done(self._in_flight[0][1]):
            size, outcome = self._in_flight.popleft()
            self._bytes -= size
            _set_outcome(results.add(index=self._answered), outcome)
            self._answered += 1
        self._room.set()
        return response

    async def _read(self, requests: AsyncIterator[pb.AppendStreamRequest]) -> None:
        """Starts an append for each request until the client half-closes or disconnects."""
        session = session_pb2.SessionRef()
        async for request in requests:
            append = request.append
            if append.HasField("session"):
                session = append.session
            while len(self._in_flight) >= _MOST_IN_FLIGHT or self._bytes > _MOST_BYTES_IN_FLIGHT:
                self._room.clear()
                await self._room.wait()
            size = request.ByteSize()
            self._bytes += size
            self._in_flight.append((size, self._begin(append, session)))
            self._arrived.set()

    def _end(self, _: asyncio.Task[None]) -> None:
        self._ended = True
        self._arrived.set()

    def _begin(self, append: pb.AppendEventsRequest, session: session_pb2.SessionRef) -> asyncio.Future[Appended] | Exception:
        try:
            return asyncio.ensure_future(self._append(append, session))
        except Exception as exc:  # reported in its result
            return exc


def _is_done(outcome: asyncio.Future[Appended] | Exception) -> bool:
    return isinstance(outcome, Exception) or outcome.done()


def _set_outcome(result: pb.AppendStreamResult, outcome: asyncio.Future[Appended] | Exception) -> None:
    try:
        if isinstance(outcome, Exception):
            raise outcome
        set_appended(result.appended, outcome.result())
    except Exception as exc:  # reported in its result; the stream continues
        error = as_domain_error(exc)
        release(exc)  # its traceback refers to this frame, which refers to it
        failure = pb.AppendError(code=error.kind.value, message=error.message, reason=error.reason, metadata=error.metadata)
        result.error.CopyFrom(failure)
