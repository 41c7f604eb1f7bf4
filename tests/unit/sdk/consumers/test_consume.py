from __future__ import annotations

import asyncio
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import grpc
import pytest

import threadkeep
from threadkeep import errors
from threadkeep._streams import backoff, deliveries
from threadkeep.v1 import consumer_service_pb2 as ns
from threadkeep.v1.subscription_service_pb2 import ChangeScope

from ..fake import Fail, FakeServer, first_stream_breaks_after
from .consuming import END, GONE, Consuming, Stream, delivery, leave


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff, "FIRST", 0.001)
    monkeypatch.setattr(backoff, "LONGEST", 0.01)
    monkeypatch.setattr(deliveries, "FAREWELL", 30.0)


@pytest.fixture
def consume(client: Any, flavor: str) -> Callable[..., Consuming]:
    return lambda handler, **options: Consuming(client, flavor, handler, **options)


async def test_consuming_joins_with_the_given_options(consume: Callable[..., Consuming], fake: FakeServer) -> None:
    plain, full = Stream(fake), Stream(fake)
    consuming = consume(print)
    assert await plain.joined() == ns.JoinConsumer(name="indexer", scope=ChangeScope(app="shop", user_id="alice"))
    await leave(consuming, plain)
    only = threadkeep.event_filter(roles=["user"])
    options = {"from_beginning": True, "member_id": "m1", "max_outstanding": 9, "max_attempts": 3, "partitions": 4}
    consuming = consume(
        print, any_user=True, app="", labels={"a": "b"}, filter=only, ack_timeout=timedelta(seconds=1.5), **options
    )
    join = await full.joined()
    assert (join.scope.HasField("app"), join.scope.app, join.scope.user_id, dict(join.scope.labels)) == (
        True,
        "",
        "",
        {"a": "b"},
    )
    assert {name: getattr(join, name) for name in options} == options
    assert join.filter == only
    assert join.ack_timeout.ToTimedelta() == timedelta(seconds=1.5)
    await leave(consuming, full)


async def test_changes_are_acknowledged_only_after_handling(consume: Callable[..., Consuming], fake: FakeServer) -> None:
    stream, finish = Stream(fake), threading.Event()
    consuming = consume(lambda change: finish.wait(60))
    await stream.joined()
    stream.deliver(delivery(1))
    await asyncio.sleep(0.2)
    assert stream.received.empty()
    finish.set()
    assert await stream.acknowledged(1) == [1]
    await leave(consuming, stream)


async def test_each_partition_in_order_and_several_at_a_time(consume: Callable[..., Consuming], fake: FakeServer) -> None:
    running: set[int] = set()
    most, mixed = 0, False
    lock, together = threading.Lock(), threading.Barrier(3)
    seen: dict[int, list[int]] = defaultdict(list)

    def handle(change: threadkeep.Change) -> None:
        nonlocal most, mixed
        number = change.versions.log_version
        partition = number % 5
        with lock:
            mixed = mixed or partition in running
            running.add(partition)
            most = max(most, len(running))
            seen[partition].append(number)
            early = sum(map(len, seen.values())) <= 3
        if early:
            together.wait(60)  # three run at once on the slowest machine too
        time.sleep(0.005)
        with lock:
            running.discard(partition)

    stream = Stream(fake)
    consuming = consume(handle, concurrency=3)
    await stream.joined()
    numbers = list(range(100))
    for start in range(0, 100, 20):
        stream.deliver(*(delivery(n, n % 5) for n in numbers[start : start + 20]))
    acknowledged = await stream.acknowledged(100)
    assert sorted(acknowledged) == numbers
    for partition in range(5):
        assert seen[partition] == numbers[partition::5]
        assert [n for n in acknowledged if n % 5 == partition] == numbers[partition::5]
    assert (most, mixed) == (3, False)
    await leave(consuming, stream)


async def test_a_waiting_partition_does_not_block_the_others(consume: Callable[..., Consuming], fake: FakeServer) -> None:
    stream, finish = Stream(fake), threading.Event()
    consuming = consume(lambda change: change.versions.log_version != 1 or finish.wait(60), concurrency=2)
    await stream.joined()
    stream.deliver(delivery(1, 0), delivery(2, 0), delivery(3, 1), delivery(4, 2))
    assert sorted(await stream.acknowledged(2)) == [3, 4]
    finish.set()
    assert await stream.acknowledged(2) == [1, 2]
    await leave(consuming, stream)


async def test_a_failed_change_is_rejected_and_later_ones_wait(consume: Callable[..., Consuming], fake: FakeServer) -> None:
    failures = 1
    seen: list[int] = []

    def handle(change: threadkeep.Change) -> None:
        nonlocal failures
        seen.append(change.versions.log_version)
        if change.versions.log_version == 1 and failures:
            failures -= 1
            raise ValueError("no such index")

    stream = Stream(fake)
    consuming = consume(handle)
    await stream.joined()
    stream.deliver(delivery(1), delivery(2))
    assert (await stream.hear()).reject == ns.Reject(delivery_id=1, reason="ValueError: no such index")
    # The third was on its way when the first failed; all three come again.
    stream.deliver(delivery(3))
    stream.deliver(delivery(1, attempt=2), delivery(2), delivery(3))
    assert await stream.acknowledged(3) == [1, 2, 3]
    assert seen == [1, 1, 2, 3]
    await leave(consuming, stream)


async def test_after_the_last_attempt_the_partition_continues(consume: Callable[..., Consuming], fake: FakeServer) -> None:
    def handle(change: threadkeep.Change) -> None:
        if change.versions.log_version == 1:
            raise KeyError("k")

    stream = Stream(fake, max_attempts=3)
    consuming = consume(handle)
    await stream.joined()
    stream.deliver(delivery(1, attempt=3), delivery(2))
    assert (await stream.hear()).reject.delivery_id == 1
    assert await stream.acknowledged(1) == [2]
    await leave(consuming, stream)


async def test_a_failing_replay_blocks_no_delivery(consume: Callable[..., Consuming], fake: FakeServer) -> None:
    def handle(change: threadkeep.Change) -> None:
        if change.versions.log_version == 1:
            raise OSError

    stream = Stream(fake)
    consuming = consume(handle)
    await stream.joined()
    stream.deliver(delivery(1, parked_id="7"), delivery(2))
    assert (await stream.hear()).reject.delivery_id == 1
    assert await stream.acknowledged(1) == [2]
    await leave(consuming, stream)


@pytest.mark.parametrize(
    "failure",
    [
        GONE,
        Fail(grpc.StatusCode.UNAVAILABLE, "SERVER_DRAINING", retry_after=0.01),
        Fail(grpc.StatusCode.RESOURCE_EXHAUSTED, "WATCH_TOO_SLOW", retry_after=0.01, ack_timeout_s="1.5"),
        END,
    ],
)
async def test_consuming_joins_again_when_the_stream_breaks(
    consume: Callable[..., Consuming], fake: FakeServer, failure: Any
) -> None:
    """Running handlers continue, waiting deliveries are dropped, and a partition's next delivery waits for its handler."""
    finish, entered = threading.Event(), threading.Semaphore(0)
    seen: list[int] = []

    def handle(change: threadkeep.Change) -> None:
        seen.append(change.versions.log_version)
        entered.release()
        if len(seen) == 1:
            finish.wait(60)

    first, second = Stream(fake), Stream(fake)
    consuming = consume(handle)
    await first.joined()
    first.deliver(delivery(1), delivery(2))
    await asyncio.to_thread(entered.acquire, timeout=60)
    first.say(failure)
    assert (await second.joined()).name == "indexer"
    second.deliver(delivery(1, attempt=2), delivery(2), delivery(3, 1))
    assert await second.acknowledged(1) == [3]
    assert seen == [1, 3]
    finish.set()
    assert await second.acknowledged(2) == [1, 2]
    assert seen == [1, 3, 1, 2]
    await leave(consuming, second)


async def test_a_silent_stream_is_closed(
    consume: Callable[..., Consuming], fake: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = Stream(fake), Stream(fake)
    first_stream_breaks_after(2.5, monkeypatch)
    consuming = consume(print)
    await first.joined()
    await second.joined()
    assert await asyncio.to_thread(first.broken.wait, 60)
    await leave(consuming, second)


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (grpc.StatusCode.FAILED_PRECONDITION, "CONSUMER_MISMATCH", errors.ConsumerMismatch),
        (grpc.StatusCode.NOT_FOUND, "CONSUMER_NOT_FOUND", errors.ConsumerNotFound),
        (grpc.StatusCode.OUT_OF_RANGE, "RESUME_POSITION_EXPIRED", errors.ResumePositionExpired),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, "QUOTA_EXCEEDED", errors.QuotaExceeded),
    ],
)
async def test_permanent_errors_are_raised(
    consume: Callable[..., Consuming], fake: FakeServer, code: grpc.StatusCode, reason: str, kind: type[errors.ThreadkeepError]
) -> None:
    stream = Stream(fake)
    consuming = consume(print)
    await stream.joined()
    stream.say(Fail(code, reason, name="indexer", field="filter"))
    with pytest.raises(kind):
        await consuming.task


async def test_a_clean_stop_finishes_running_handlers_and_waits_for_the_server(
    consume: Callable[..., Consuming], fake: FakeServer
) -> None:
    finish, entered = threading.Event(), threading.Event()
    seen: list[int] = []

    def handle(change: threadkeep.Change) -> None:
        seen.append(change.versions.log_version)
        entered.set()
        finish.wait(60)

    stream = Stream(fake)
    consuming = consume(handle)
    await stream.joined()
    stream.deliver(delivery(1), delivery(2))
    await asyncio.to_thread(entered.wait, 60)
    consuming.stop.set()
    await asyncio.sleep(0.3)
    stream.deliver(delivery(3, 1))
    assert stream.received.empty()
    finish.set()
    assert await stream.acknowledged(1) == [1]
    assert await stream.hear() is END
    await asyncio.sleep(0.2)
    assert not consuming.task.done(), "it did not wait for the confirmation"
    stream.say(ns.ConsumeResponse(acknowledged_ids=[1]))
    stream.say(END)
    await consuming.end()
    assert seen == [1]


async def test_a_server_that_confirms_nothing_is_disconnected_after_a_while(
    consume: Callable[..., Consuming], fake: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliveries, "FAREWELL", 0.3)
    stream = Stream(fake)
    consuming = consume(print)
    await stream.joined()
    await consuming.end()
    assert stream.broken.wait(60)


async def test_consuming_can_be_stopped_without_a_server(
    consume: Callable[..., Consuming], fake: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.answers["Consume"] = [lambda requests, context: GONE.abort(context)] * 100
    monkeypatch.setattr(backoff, "FIRST", 60.0)
    monkeypatch.setattr(backoff, "LONGEST", 60.0)
    consuming = consume(print)
    await asyncio.sleep(0.3)
    await consuming.end()


async def test_a_consumer_that_is_stopped_already_does_not_join(client: Any, fake: FakeServer, flavor: str) -> None:
    stop: Any = asyncio.Event() if flavor == "async" else threading.Event()
    stop.set()
    await client.consumer("indexer").run(print, stop=stop)
    assert fake.requests("Consume") == []


async def test_canceling_cancels_the_handlers_and_the_call(fake: FakeServer) -> None:
    ended: list[str] = []
    entered = asyncio.Event()

    async def handle(delivery: threadkeep.Delivery) -> None:
        entered.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("handler")

    stream = Stream(fake)
    async with threadkeep.AsyncClient(fake.address) as client:
        task = asyncio.create_task(client.consumer("indexer").run(handle))
        await stream.joined()
        stream.deliver(delivery(1))
        await entered.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended == ["handler"]
        assert await asyncio.to_thread(stream.broken.wait, 60)


@pytest.mark.parametrize("error", [asyncio.CancelledError(), SystemExit(3)])
async def test_no_exception_of_a_handler_is_lost(fake: FakeServer, error: BaseException) -> None:
    """Neither of a pool's thread, nor of a task that was not canceled itself."""

    def handle(delivery: threadkeep.Delivery) -> None:
        raise error

    async def asynchronous(delivery: threadkeep.Delivery) -> None:
        handle(delivery)

    streams = [Stream(fake)]
    with threadkeep.Client(fake.address) as client:
        stop = threading.Event()
        task = asyncio.create_task(asyncio.to_thread(client.consumer("indexer").run, handle, stop=stop))
        await streams[0].joined()
        streams[0].deliver(delivery(1))
        assert (await streams[0].hear()).reject.reason.startswith(type(error).__name__)
        stop.set()
        streams[0].say(END)
        await task
    if isinstance(error, SystemExit):
        return
    stream, ending = Stream(fake), asyncio.Event()
    async with threadkeep.AsyncClient(fake.address) as aclient:
        task = asyncio.create_task(aclient.consumer("indexer").run(asynchronous, stop=ending))
        await stream.joined()
        stream.deliver(delivery(1))
        assert (await stream.hear()).reject.reason.startswith("CancelledError")
        ending.set()
        stream.say(END)
        await task


def test_the_synchronous_client_refuses_an_asynchronous_handler() -> None:
    async def handle(delivery: threadkeep.Delivery) -> None: ...

    with pytest.raises(TypeError, match="AsyncClient"):
        threadkeep.Client("nowhere:1").consumer("indexer").run(handle)


async def test_at_least_one_handler(client: Any) -> None:
    with pytest.raises(ValueError, match="concurrency must be at least 1"):
        await client.consumer("indexer").run(print, concurrency=0)


async def test_closing_the_client_ends_it(consume: Callable[..., Consuming], client: Any, fake: FakeServer) -> None:
    stream = Stream(fake)
    consuming = consume(print)
    await stream.joined()
    await client.close()
    with pytest.raises(threadkeep.ThreadkeepError) as caught:
        await consuming.task
    assert caught.value.code is grpc.StatusCode.CANCELLED
