"""`python -m tests.bench.sdk_python ADDRESS SECONDS`: the overhead of the Python SDK over bare stubs, as JSON."""

import asyncio
import json
import statistics
import sys
import time
import uuid
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, cast

import grpc.aio

import threadkeep
from threadkeep._channel import channel_options
from threadkeep.v1 import event_service_pb2 as es
from threadkeep.v1 import subscription_service_pb2 as su
from threadkeep.v1.event_service_pb2_grpc import EventServiceStub
from threadkeep.v1.session_pb2 import SessionRef
from threadkeep.v1.subscription_service_pb2_grpc import SubscriptionServiceStub

if TYPE_CHECKING:  # they exist in the stub files alone
    from threadkeep.v1.event_service_pb2_grpc import EventServiceAsyncStub
    from threadkeep.v1.subscription_service_pb2_grpc import SubscriptionServiceAsyncStub

TEXT = "x" * 1024
BLOCK = 50
FOLLOWED, BATCH, ROUNDS = 20_000, 10, 3
Call = Callable[[], Awaitable[Any]]


def _ref(name: str) -> SessionRef:
    return SessionRef(app="bench", user_id="python", session_id=name)


async def _unary(channel: grpc.aio.Channel, client: threadkeep.AsyncClient, seconds: float) -> dict[str, Any]:
    """Appends of one event: blocks of either kind in turn, so that both see the same server and the same disk."""
    stub = cast("EventServiceAsyncStub", EventServiceStub(channel))
    run = uuid.uuid4().hex
    refs = {name: _ref(f"{run}-{name}") for name in ("stub", "sdk")}
    for ref in refs.values():
        await client.create_session(ref.session_id)

    async def bare() -> None:
        event = threadkeep.user(TEXT, event_id=str(uuid.uuid4()))
        await stub.AppendEvents(es.AppendEventsRequest(session=refs["stub"], events=[event]), timeout=30)

    async def sdk() -> None:
        await client.append(refs["sdk"], threadkeep.user(TEXT))

    calls: dict[str, Call] = {"stub": bare, "sdk": sdk}
    took: dict[str, list[float]] = {name: [] for name in calls}
    begin, warm = time.perf_counter(), min(1.0, seconds / 4)
    while time.perf_counter() - begin < seconds + warm:
        for name, call in calls.items():
            for _ in range(BLOCK):
                started = time.perf_counter()
                await call()
                if started - begin > warm:
                    took[name].append(time.perf_counter() - started)
        calls = dict(reversed(calls.items()))
    return {name: _latency(times) for name, times in took.items()}


def _latency(times: list[float]) -> dict[str, float]:
    return {
        "median_us": statistics.median(times) * 1e6,
        "p99_us": statistics.quantiles(times, n=100)[98] * 1e6,
        "calls": len(times),
    }


async def _stream(channel: grpc.aio.Channel, client: threadkeep.AsyncClient) -> dict[str, float]:
    """Following a session from its beginning."""
    ref = _ref(uuid.uuid4().hex)
    for _ in range(FOLLOWED // BATCH):
        await client.append(ref, *(threadkeep.user(TEXT) for _ in range(BATCH)), create_if_missing=True)
    stub = cast("SubscriptionServiceAsyncStub", SubscriptionServiceStub(channel))

    async def bare() -> None:
        call, seen = stub.WatchSession(su.WatchSessionRequest(session=ref, after_seq=0)), 0
        async for response in call:
            seen += sum(len(change.batch.events) for change in response.changes)
            if seen >= FOLLOWED:
                break
        call.cancel()

    async def sdk() -> None:
        seen = 0
        changes = client.watch(ref, after_seq=0)
        async for change in changes:
            seen += len(change.batch.events)
            if seen >= FOLLOWED:
                break
        await changes.aclose()

    best = {"stub_per_s": 0.0, "sdk_per_s": 0.0}
    for _ in range(ROUNDS):
        for name, follow in (("stub_per_s", bare), ("sdk_per_s", sdk)):
            started = time.perf_counter()
            await follow()
            best[name] = max(best[name], FOLLOWED / (time.perf_counter() - started))
    return best | {"events": FOLLOWED}


async def main(address: str, seconds: float) -> None:
    """Measures and prints."""
    async with (
        grpc.aio.insecure_channel(address, channel_options()) as channel,
        threadkeep.AsyncClient(address, app="bench", user_id="python") as client,
    ):
        unary = await _unary(channel, client, seconds)
        print(json.dumps({"language": "python", "unary": unary, "stream": await _stream(channel, client)}))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], float(sys.argv[2])))
