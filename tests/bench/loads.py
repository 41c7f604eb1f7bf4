"""How load is made: closed loops of unary calls, windowed streams, bulk loading and reading."""

import asyncio
import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any, cast

import grpc

from tests.bench import payloads
from threadkeep.v1 import event_service_pb2, search_service_pb2, server_service_pb2

OPTIONS = (
    ("grpc.max_receive_message_length", 64 << 20),
    ("grpc.max_send_message_length", 64 << 20),
    ("grpc.use_local_subchannel_pool", 1),
)
CALL_SECONDS = 60.0
MOST_CALLS = 10_000_000
Job = dict[str, Any]
Unary = Callable[..., Any]


def connect(target: str) -> grpc.aio.Channel:
    """A connection of its own."""
    return grpc.aio.insecure_channel(target, options=OPTIONS)


def unary(channel: grpc.aio.Channel, method: str, tokens: Sequence[str] = ()) -> Unary:
    """A call that takes and gives bytes, with these tokens in turn."""
    call = cast("Unary", channel.unary_unary(method))
    if not any(tokens):
        return call
    metadata = itertools.cycle([(("authorization", f"Bearer {token}"),) for token in tokens])
    return lambda request, **options: call(request, metadata=next(metadata), **options)


def streamed(channel: grpc.aio.Channel, method: str, request: bytes) -> Any:
    """A call that takes bytes and is read message by message, as bytes."""
    multicallable: Any = channel.unary_stream(method)
    return multicallable(request)


def summary(times: list[float], seconds: float, weight: int, size: int) -> dict[str, Any]:
    """Rate and latencies of the calls that were measured; `weight` events each."""
    if not times:
        raise ValueError("no call ended while it was measured")
    times.sort()
    return {
        "count": len(times) * weight,
        "seconds": seconds,
        "rate": len(times) * weight / seconds,
        "p50": times[len(times) // 2],
        "p95": times[min(len(times) - 1, len(times) * 95 // 100)],
        "p99": times[min(len(times) - 1, len(times) * 99 // 100)],
        "slowest": times[-1],
        "bytes": size,
    }


async def closed_loop(call: Unary, job: Job, request: Callable[[], bytes]) -> dict[str, Any]:
    """`in_flight` workers that each send the next request once the last is answered.

    Calls that began during the warm-up are not counted. `min_count` calls are made however long they take, and no more
    than `max_count` are counted.
    """
    begin = time.perf_counter() + job["warmup"]
    end = begin + job["seconds"]
    least, most = int(job.get("min_count", 1)), int(job.get("max_count", MOST_CALLS))
    times: list[float] = []
    size = 0
    last = begin

    async def worker() -> None:
        nonlocal size, last
        before = time.perf_counter()
        while (before < end or len(times) < least) and len(times) < most:
            answer = await call(request(), timeout=CALL_SECONDS)
            after = time.perf_counter()
            if before >= begin:
                times.append(after - before)
                last = after
            size = len(answer)
            before = after

    async with asyncio.TaskGroup() as group:
        for _ in range(job["in_flight"]):
            group.create_task(worker())
    return summary(times, last - begin, int(job.get("batch", 1)), size)


def count_results(answer: bytes) -> int:
    """Acknowledged appends in one message of an append stream."""
    results = event_service_pb2.AppendStreamResponse.FromString(answer).results
    for result in results:
        if result.HasField("error"):
            raise ValueError(f"append {result.index} failed: {result.error.reason} {result.error.message}")
    return len(results)


async def streams(channel: grpc.aio.Channel, method: str, job: Job, acknowledged: Callable[[bytes], int]) -> dict[str, Any]:
    """One stream per session, each with at most `window` messages that are not acknowledged yet, and `max_count` in all."""
    most = int(job.get("max_count", MOST_CALLS))
    # All before the clock runs: they take longer than a round of --quick.
    templates = {name: payloads.stream_templates(name, job["batch"]) for name in job["sessions"]}
    begin = time.perf_counter()
    end = begin + job["seconds"]
    total = 0

    async def sender(call: Any, name: str, room: asyncio.Semaphore) -> int:
        first, rest = templates[name]
        message, sent = first.fill(), 0
        while time.perf_counter() < end and sent < most:
            await room.acquire()
            await call.write(message)
            sent += 1
            message = rest.fill()
        await call.done_writing()
        return sent

    async def receiver(call: Any, room: asyncio.Semaphore) -> int:
        received = 0
        while (answer := await call.read()) is not grpc.aio.EOF:
            count = acknowledged(answer)
            received += count
            for _ in range(count):
                room.release()
        return received

    async def stream(name: str) -> None:
        nonlocal total
        call: Any = channel.stream_stream(method)()
        room = asyncio.Semaphore(job["window"])
        async with asyncio.TaskGroup() as group:
            sent, received = group.create_task(sender(call, name, room)), group.create_task(receiver(call, room))
        if sent.result() != received.result():
            raise ValueError(f"{sent.result()} messages sent, {received.result()} acknowledged")
        total += received.result()

    async with asyncio.TaskGroup() as group:
        for name in job["sessions"]:
            group.create_task(stream(name))
    seconds = time.perf_counter() - begin
    return summary([seconds / max(total, 1)] * total, seconds, job["batch"], 0)


async def load(channel: grpc.aio.Channel, job: Job) -> dict[str, Any]:
    """Fills `sessions` (name, user, first, count) with events, several sessions at a time."""
    append, create = unary(channel, payloads.APPEND), unary(channel, payloads.CREATE)
    waiting = list(reversed(job["sessions"]))
    begin = time.perf_counter()
    total = 0

    async def worker() -> None:
        nonlocal total
        while waiting:
            name, user, first, count = waiting.pop()
            await create(payloads.create(name, user), timeout=CALL_SECONDS)
            requests = payloads.load(
                name, user, first, count, job["per_user"], size=job["size"], batch=job["batch"], plant=job["plant"]
            )
            for request in requests:
                await append(request, timeout=CALL_SECONDS)
            total += count

    async with asyncio.TaskGroup() as group:
        for _ in range(job["in_flight"]):
            group.create_task(worker())
    seconds = time.perf_counter() - begin
    return {"count": total, "seconds": seconds, "rate": total / seconds}


async def drain(channel: grpc.aio.Channel, job: Job) -> dict[str, Any]:
    """Reads every event of the sessions, a page at a time, and counts them."""
    call = unary(channel, payloads.LIST)
    begin = time.perf_counter()
    total = 0
    for name, user in job["sessions"]:
        token = ""
        while True:
            answer = event_service_pb2.ListEventsResponse.FromString(
                await call(payloads.page(name, token, user=user), timeout=CALL_SECONDS)
            )
            total += len(answer.events)
            token = answer.next_page_token
            if not token:
                break
    seconds = time.perf_counter() - begin
    return {"count": total, "seconds": seconds, "rate": total / seconds}


async def count_hits(call: Unary, request: bytes) -> int:
    """Hits on the first page of a search."""
    return len(search_service_pb2.SearchEventsResponse.FromString(await call(request, timeout=CALL_SECONDS)).hits)


async def info(channel: grpc.aio.Channel) -> dict[str, Any]:
    """The server's version, engine, durability and index position."""
    call = unary(channel, payloads.INFO)
    request = server_service_pb2.GetServerInfoRequest().SerializeToString()
    answer = server_service_pb2.GetServerInfoResponse.FromString(await call(request, timeout=CALL_SECONDS, wait_for_ready=True))
    return {
        "version": answer.version,
        "engine": answer.engine,
        "durability": answer.durability,
        "index": answer.search_index.enabled,
        "lag": answer.search_index.lag_batches,
        "max_batch": answer.limits.max_batch_events,
        "max_page": answer.limits.max_page_size,
    }
