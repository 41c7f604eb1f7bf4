"""Pipelined appends: order, grouping, and limits in flight."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator

import pytest

from threadkeep.v1 import event_service_pb2 as pb
from threadkeep.v1 import session_pb2
from threadkeep_server.domain.errors import RateLimited, ServerDraining
from threadkeep_server.domain.model import Counters
from threadkeep_server.store.contract.events import Appended, AppendedEvent
from threadkeep_server.transport.convert.events import set_appended
from threadkeep_server.transport.servicers.append_stream import AppendStream, AppendStreams

MOST_IN_FLIGHT = 256


class SlowStore:
    """Commits in groups, like the writer: at the next cycle of the loop, or on request."""

    def __init__(self, *, held: bool = False) -> None:
        self.taken = 0
        self.waiting: list[asyncio.Future[Appended]] = []
        self.most = 0
        self.held = held

    def append(self, request: pb.AppendEventsRequest, _session: session_pb2.SessionRef) -> asyncio.Future[Appended]:
        self.taken += 1
        if request.events[0].event_id == "refused":
            raise RateLimited("pending_appends")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Appended] = loop.create_future()
        self.waiting.append(future)
        self.most = max(self.most, len(self.waiting))
        if not self.held and len(self.waiting) == 1:
            loop.call_later(0.001, self.commit)
        return future

    def commit(self) -> None:
        group, self.waiting = self.waiting, []
        for number, future in enumerate(group):
            if not future.done():
                future.set_result(Appended([AppendedEvent(str(number), 1, False)], 1, 1, Counters()))


async def _requests(*ids: str) -> AsyncIterator[pb.AppendStreamRequest]:
    for event_id in ids:
        request = pb.AppendStreamRequest()
        request.append.session.session_id = "s1"
        request.append.events.add(event_id=event_id)
        yield request


async def _results(store: SlowStore, *ids: str) -> list[pb.AppendStreamResult]:
    stream = AppendStream(store.append).responses(_requests(*ids))
    return [result async for response in stream for result in response.results]


@pytest.mark.timeout(120)
async def test_more_requests_than_the_limit_in_flight_get_results_in_order() -> None:
    store = SlowStore()
    results = await _results(store, *map(str, range(5000)))
    assert [result.index for result in results] == list(range(5000))
    # One more has been taken out, as the next response.
    assert store.most <= MOST_IN_FLIGHT + 1


@pytest.mark.timeout(120)
async def test_requests_are_not_read_while_the_store_is_blocked() -> None:
    store = SlowStore(held=True)
    reading = asyncio.create_task(_results(store, *map(str, range(1000))))
    await asyncio.sleep(0.1)
    assert store.taken <= MOST_IN_FLIGHT + 1
    store.held = False
    store.commit()
    assert len(await reading) == 1000


async def test_a_rejected_request_has_an_error_in_order() -> None:
    results = await _results(SlowStore(), "a", "refused", "b")
    assert [result.WhichOneof("outcome") for result in results] == ["appended", "error", "appended"]
    assert results[1].error.reason == "RATE_LIMITED"


async def test_a_disconnect_cancels_requests_in_flight() -> None:
    store = SlowStore(held=True)
    stream = AppendStream(store.append).responses(_requests("a", "b"))
    assert isinstance(stream, AsyncGenerator)
    first = asyncio.create_task(anext(stream))
    await asyncio.sleep(0.05)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    await stream.aclose()
    assert all(future.cancelled() for future in store.waiting)


@pytest.mark.parametrize("created", [False, True])
@pytest.mark.parametrize("counters", [Counters(), Counters(3, 2, 1 << 40, 77)])
def test_a_result_contains_everything_that_the_append_did(counters: Counters, created: bool) -> None:
    events = [AppendedEvent("a", 1 << 33, False), AppendedEvent("b", 2, True)]
    response = pb.AppendEventsResponse()
    set_appended(response, Appended(events, 7, 9, counters, created))
    assert [(event.event_id, event.seq, event.replayed) for event in response.events] == [("a", 1 << 33, False), ("b", 2, True)]
    assert (response.log_version, response.last_seq, response.session_created) == (7, 9, created)
    assert response.HasField("window")
    window = response.window
    assert (window.events, window.turns, window.bytes, window.tokens) == (
        counters.events,
        counters.turns,
        counters.bytes,
        counters.tokens,
    )


async def test_a_request_without_a_session_uses_the_previous_one() -> None:
    named: list[str] = []
    store = SlowStore()

    def append(request: pb.AppendEventsRequest, session: session_pb2.SessionRef) -> asyncio.Future[Appended]:
        named.append(session.session_id)
        return store.append(request, session)

    async def requests() -> AsyncIterator[pb.AppendStreamRequest]:
        for session_id in ("", "s1", "", "s2", ""):
            request = pb.AppendStreamRequest()
            if session_id:
                request.append.session.session_id = session_id
            request.append.events.add(event_id="e")
            yield request

    async for _ in AppendStream(append).responses(requests()):
        pass
    assert named == ["", "s1", "s1", "s2", "s2"]


async def test_drain_ends_an_open_stream_after_the_results_of_its_requests() -> None:
    store, streams, half_close = SlowStore(held=True), AppendStreams(), asyncio.Event()

    async def requests() -> AsyncIterator[pb.AppendStreamRequest]:
        async for request in _requests("a", "b"):
            yield request
        await half_close.wait()

    results: list[pb.AppendStreamResult] = []

    async def read() -> None:
        async for response in streams.open(store.append).responses(requests()):
            results.extend(response.results)

    reading = asyncio.create_task(read())
    async with asyncio.timeout(60):
        while store.taken < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        streams.drain()
        store.commit()
        with pytest.raises(ServerDraining):
            await reading
    assert [result.index for result in results] == [0, 1]
    assert not streams.running


async def test_a_stream_that_was_opened_before_the_drain_and_begins_after_it_ends_at_once() -> None:
    store, streams = SlowStore(), AppendStreams()
    responses = streams.open(store.append).responses(_requests("a"))
    streams.drain()
    with pytest.raises(ServerDraining):
        await anext(responses)
    assert not store.taken
    assert not streams.running


async def test_a_stream_that_is_drained_before_it_reads_ends_at_once() -> None:
    store, streams = SlowStore(), AppendStreams()
    first = asyncio.ensure_future(anext(streams.open(store.append).responses(_requests("a"))))
    await asyncio.sleep(0)  # it has begun; the task that reads its requests has not
    streams.drain()
    async with asyncio.timeout(10):
        with pytest.raises(ServerDraining):
            await first
    assert not store.taken
    assert not streams.running


async def test_drain_lets_a_stream_that_its_client_ended_complete() -> None:
    store, streams = SlowStore(held=True), AppendStreams()

    async def read() -> int:
        return sum([len(response.results) async for response in streams.open(store.append).responses(_requests("a", "b"))])

    reading = asyncio.create_task(read())
    async with asyncio.timeout(60):
        while store.taken < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        await asyncio.sleep(0)
        streams.drain()
        store.commit()
        assert await reading == 2
