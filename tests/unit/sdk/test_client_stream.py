from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import grpc
import pytest

import threadkeep
from threadkeep import errors
from threadkeep.v1 import event_service_pb2 as es

from .fake import Fail, FakeServer


def batches(count: int) -> Iterator[tuple[str, list[threadkeep.SessionEvent]]]:
    for n in range(count):
        yield f"s{n}", [threadkeep.user(str(n))]


def echo(requests: Iterator[es.AppendStreamRequest], context: grpc.ServicerContext) -> Iterator[es.AppendStreamResponse]:
    for index, request in enumerate(requests):
        appended = es.AppendEventsResponse(events=[es.AppendedEvent(event_id=e.event_id) for e in request.append.events])
        yield es.AppendStreamResponse(results=[es.AppendStreamResult(index=index, appended=appended)])


async def test_results_are_returned_in_order_one_per_batch(client: Any, fake: FakeServer) -> None:
    fake.stream = echo
    results = [result async for result in client.append_stream(batches(200), max_outstanding=3)]
    assert [result.index for result in results] == list(range(200))
    assert len({result.appended.events[0].event_id for result in results} - {""}) == 200
    assert errors.error_of(results[0]) is None


async def test_the_asynchronous_client_takes_asynchronous_batches(fake: FakeServer) -> None:
    async def source() -> AsyncIterator[tuple[str, list[threadkeep.SessionEvent]]]:
        for batch in batches(3):
            yield batch

    fake.stream = echo
    async with threadkeep.AsyncClient(fake.address) as client:
        assert [result.index async for result in client.append_stream(source())] == [0, 1, 2]


async def test_no_more_than_the_bound_is_outstanding(client: Any, fake: FakeServer) -> None:
    seen: list[int] = []
    arrived = threading.Condition()

    def grudging(requests: Iterator[Any], context: grpc.ServicerContext) -> Iterator[es.AppendStreamResponse]:
        def read() -> None:
            for n, _ in enumerate(requests):
                with arrived:
                    seen.append(n)
                    arrived.notify()

        reader = threading.Thread(target=read)
        reader.start()
        with arrived:
            assert arrived.wait_for(lambda: len(seen) == 4, timeout=60)
        time.sleep(0.2)
        counts.append(len(seen))
        # one response may carry several results
        yield es.AppendStreamResponse(results=[es.AppendStreamResult(index=n) for n in range(4)])
        with arrived:
            assert arrived.wait_for(lambda: len(seen) == 6, timeout=60)
        yield es.AppendStreamResponse(results=[es.AppendStreamResult(index=n) for n in range(4, 6)])
        reader.join()

    counts: list[int] = []
    fake.stream = grudging
    results = [result.index async for result in client.append_stream(batches(6), max_outstanding=4)]
    assert (results, counts) == ([0, 1, 2, 3, 4, 5], [4])


async def test_a_failed_batch_is_reported_and_does_not_end_the_stream(client: Any, fake: FakeServer) -> None:
    metadata = {"expected": "1", "actual": "2"}

    def failing(requests: Iterator[Any], context: grpc.ServicerContext) -> Iterator[es.AppendStreamResponse]:
        refused = es.AppendError(code=10, message="moved", reason="VERSION_MISMATCH", metadata=metadata)
        for index, _ in enumerate(requests):
            yield es.AppendStreamResponse(results=[es.AppendStreamResult(index=index, error=refused)])

    fake.stream = failing
    found = [threadkeep.error_of(result) async for result in client.append_stream(batches(2))]
    assert [(type(e), e.code, e.message, e.metadata) for e in found if e] == [
        (errors.VersionMismatch, grpc.StatusCode.ABORTED, "moved", metadata)
    ] * 2


async def test_a_broken_stream_raises_even_while_the_source_waits_for_room(client: Any, fake: FakeServer) -> None:
    def breaking(requests: Iterator[Any], context: grpc.ServicerContext) -> Iterator[es.AppendStreamResponse]:
        # Reads both batches that may be outstanding, so that the source waits; during a send gRPC would report the error.
        next(requests)
        next(requests)
        Fail(grpc.StatusCode.UNAVAILABLE, "STORE_UNAVAILABLE", problem="disk full").abort(context)
        yield es.AppendStreamResponse()

    fake.stream = breaking
    left = threading.Event()

    def source() -> Iterator[tuple[str, list[threadkeep.SessionEvent]]]:
        try:
            yield from batches(100)
        finally:
            left.set()

    with pytest.raises(errors.StoreUnavailable) as caught:
        [result async for result in client.append_stream(source(), max_outstanding=2)]
    assert caught.value.problem == "disk full"
    del caught
    deadline = time.monotonic() + 60
    while not left.is_set() and time.monotonic() < deadline:
        gc.collect()  # tracebacks hold on to the source; what sends must not
        await asyncio.sleep(0.01)
    assert left.is_set(), "what sends is left behind"


async def test_an_error_of_the_source_is_raised_after_the_results(client: Any, fake: FakeServer) -> None:
    def source() -> Iterator[tuple[str, list[threadkeep.SessionEvent]]]:
        yield from batches(2)
        raise LookupError("no more")

    fake.stream = echo
    stream = client.append_stream(source())
    assert [(await anext(stream)).index, (await anext(stream)).index] == [0, 1]
    with pytest.raises(LookupError, match="no more"):
        await anext(stream)


async def test_a_wrong_batch_raises_type_error(client: Any, fake: FakeServer) -> None:
    fake.stream = echo
    with pytest.raises(TypeError, match=r"events\[0\] must be str, Event, .*, not int"):
        [result async for result in client.append_stream([("s1", [7])])]


async def test_leaving_early_ends_the_call(client: Any, fake: FakeServer) -> None:
    ended = threading.Event()

    def endless(requests: Iterator[Any], context: grpc.ServicerContext) -> Iterator[es.AppendStreamResponse]:
        context.add_callback(ended.set)
        yield from echo(requests, context)

    fake.stream = endless
    results = client.append_stream(batches(1_000_000), max_outstanding=2)
    assert (await anext(results)).index == 0
    await results.aclose()
    assert ended.wait(60)


async def test_a_stream_has_no_deadline_by_default(connect: Callable[..., Any], fake: FakeServer) -> None:
    def slow(requests: Iterator[Any], context: grpc.ServicerContext) -> Iterator[es.AppendStreamResponse]:
        over = threading.Event()
        context.add_callback(over.set)
        over.wait(delays.pop(0))
        yield from echo(requests, context)

    delays = [0.3, 60.0]
    fake.stream = slow
    client = connect(timeout=0.1)
    assert [result.index async for result in client.append_stream(batches(1))] == [0]
    with pytest.raises(errors.DeadlineExceeded):
        [result async for result in client.append_stream(batches(1), timeout=0.1)]


async def test_room_for_at_least_one_batch(client: Any) -> None:
    with pytest.raises(ValueError, match="max_outstanding must be at least 1"):
        [result async for result in client.append_stream([], max_outstanding=0)]
