"""The window calls of the load generator: contexts, compactions, and appends while a summary is made."""

import asyncio
import contextlib
import time
import uuid
from typing import Any

import grpc

from tests.bench import loads, payloads
from tests.support.models.model_endpoint import ModelEndpoint, endpoint, replies
from threadkeep.v1 import (
    compaction_pb2,
    compaction_service_pb2,
    context_pb2,
    event_service_pb2,
    memory_service_pb2,
    search_pb2,
    search_service_pb2,
    session_service_pb2,
)

CONTEXT = "/threadkeep.v1.EventService/GetContext"
GET_SESSION = "/threadkeep.v1.SessionService/GetSession"
COMPACT = "/threadkeep.v1.CompactionService/CompactSession"
FORK = "/threadkeep.v1.SessionService/ForkSession"
DELETE = "/threadkeep.v1.SessionService/DeleteSession"
APPLY = "/threadkeep.v1.CompactionService/ApplyCompaction"
INGEST = "/threadkeep.v1.MemoryService/AddSessionToMemory"
_BATCH = 500
AFTER_SECONDS = 3.0
SEARCHES = 8
Job = dict[str, Any]


def context(name: str, count: int = 50) -> bytes:
    """A request for the newest events that an agent should see."""
    spec = context_pb2.ContextSpec(last_n=count)
    return event_service_pb2.GetContextRequest(session=payloads.session(name), spec=spec).SerializeToString()


async def archive(channel: grpc.aio.Channel, job: Job) -> None:
    """Leaves the newest `keep` events of each session active."""
    get, apply = loads.unary(channel, GET_SESSION), loads.unary(channel, APPLY)
    for name in job["sessions"]:
        ref = payloads.session(name)
        found = await get(session_service_pb2.GetSessionRequest(session=ref).SerializeToString(), timeout=loads.CALL_SECONDS)
        session = session_service_pb2.GetSessionResponse.FromString(found).session
        if session.last_seq <= job["keep"]:
            continue
        request = compaction_service_pb2.ApplyCompactionRequest(
            session=ref, expected_window_version=session.window_version, through_seq=session.last_seq - job["keep"]
        )
        await apply(request.SerializeToString(), timeout=10 * loads.CALL_SECONDS)


async def compact(channel: grpc.aio.Channel, job: Job) -> dict[str, Any]:
    """Compacts each session, whose newest 1,000 events are active, down to 20; fills it up again off the clock."""
    call, append = loads.unary(channel, COMPACT), loads.unary(channel, payloads.APPEND)
    times: list[float] = []
    for name in job["sessions"]:
        strategy = compaction_pb2.CompactionStrategy(sliding_window=compaction_pb2.SlidingWindow(max_events=20))
        request = compaction_service_pb2.CompactSessionRequest(session=payloads.session(name), strategy=strategy)
        before = time.perf_counter()
        answer = await call(request.SerializeToString(), timeout=loads.CALL_SECONDS)
        times.append(time.perf_counter() - before)
        archived = compaction_service_pb2.CompactSessionResponse.FromString(answer).compaction.archived_events
        template = payloads.append_template(name, _BATCH)
        while archived > 0:
            await append(template.fill(), timeout=loads.CALL_SECONDS)
            archived -= _BATCH
    return loads.summary(times, sum(times), 1, 0)


async def fork(channel: grpc.aio.Channel, job: Job) -> dict[str, Any]:
    """Forks a session some times, one after the other, and deletes the forks off the clock."""
    call, delete = loads.unary(channel, FORK), loads.unary(channel, DELETE)
    times: list[float] = []
    events = 0
    for _ in range(job["times"]):
        request = session_service_pb2.ForkSessionRequest(
            session=payloads.session(job["session"]), operation_id=uuid.uuid4().hex
        )
        before = time.perf_counter()
        answer = await call(request.SerializeToString(), timeout=10 * loads.CALL_SECONDS)
        times.append(time.perf_counter() - before)
        made = session_service_pb2.ForkSessionResponse.FromString(answer).session
        events = made.last_seq
        gone = session_service_pb2.DeleteSessionRequest(session=made.ref)
        await delete(gone.SerializeToString(), timeout=10 * loads.CALL_SECONDS)
    return loads.summary(times, sum(times), events, 0)


async def appends_while_summarizing(channel: grpc.aio.Channel, job: Job, appending: Any) -> dict[str, Any]:
    """A load of appends; with `summarize`, also a compaction of one of its sessions by a slow model."""
    if not job["summarize"]:
        return dict(await appending)
    summary = compaction_pb2.RecursiveSummary(max_events_to_keep=10)
    request = compaction_service_pb2.CompactSessionRequest(
        session=payloads.session(job["sessions"][0]),
        strategy=compaction_pb2.CompactionStrategy(recursive_summary=summary),
    )
    before = time.perf_counter()
    compacting = asyncio.ensure_future(loads.unary(channel, COMPACT)(request.SerializeToString(), timeout=60))
    result = dict(await appending)
    answer = compaction_service_pb2.CompactSessionResponse.FromString(await compacting)
    if not answer.compacted:
        raise ValueError("the compaction changed nothing")
    return result | {"compaction": time.perf_counter() - before, "lost_races": answer.lost_races}


async def appends_beside(channel: grpc.aio.Channel, job: Job) -> dict[str, Any]:
    """Appends to a session, one at a time, while the session named like the work is compacted, deleted, searched or ingested,
    and for `AFTER_SECONDS` more: what is left to do then is done behind the call."""
    append, template = loads.unary(channel, payloads.APPEND), payloads.append_template(job["sessions"][0], 1)
    before = time.perf_counter()
    ends: list[float] = []
    times: list[float] = []
    working = asyncio.ensure_future(_work(channel, job["work"], job["work"]))
    working.add_done_callback(lambda _: ends.append(time.perf_counter()))
    while not ends or time.perf_counter() < ends[0] + AFTER_SECONDS:
        began = time.perf_counter()
        await append(template.fill(), timeout=loads.CALL_SECONDS)
        times.append(time.perf_counter() - began)
    await working
    return loads.summary(times, time.perf_counter() - before, 1, 0) | {"work": ends[0] - before}


async def timed(channel: grpc.aio.Channel, job: Job) -> dict[str, Any]:
    """Does the work on a session while nobody else calls."""
    before = time.perf_counter()
    await _work(channel, job["work"], job["session"])
    return {"seconds": time.perf_counter() - before}


async def _work(channel: grpc.aio.Channel, work: str, session: str) -> None:
    ref, seconds = payloads.session(session), 10 * loads.CALL_SECONDS
    if work == "delete":
        await loads.unary(channel, DELETE)(
            session_service_pb2.DeleteSessionRequest(session=ref).SerializeToString(), timeout=seconds
        )
        return
    if work == "ingest":
        ingest = memory_service_pb2.AddSessionToMemoryRequest(session=ref)
        await loads.unary(channel, INGEST)(ingest.SerializeToString(), timeout=seconds)
        return
    if work == "search":
        # No event has this word, so a search reads until its budget is used up.
        found = search_service_pb2.SearchEventsRequest(session=ref, query="nowhere", mode=search_pb2.SEARCH_MODE_RANKED)
        call = loads.unary(channel, payloads.SEARCH)
        await asyncio.gather(*(call(found.SerializeToString(), timeout=seconds) for _ in range(SEARCHES)))
        return
    strategy = compaction_pb2.CompactionStrategy(sliding_window=compaction_pb2.SlidingWindow(max_events=20))
    request = compaction_service_pb2.CompactSessionRequest(session=ref, strategy=strategy)
    await loads.unary(channel, COMPACT)(request.SerializeToString(), timeout=seconds)


class SlowModel:
    """A model on loopback that takes some seconds for each summary."""

    def __init__(self) -> None:
        self._stack = contextlib.AsyncExitStack()
        self._model: ModelEndpoint | None = None

    async def url(self, seconds: float) -> str:
        """Where it is; started at first use."""
        if self._model is None:
            self._model = await self._stack.enter_async_context(endpoint("openai"))
        answer = replies(self._model.answer("They spoke of many things."))

        async def slowly(writer: asyncio.StreamWriter) -> None:
            await asyncio.sleep(seconds)
            await answer(writer)

        self._model.does(slowly)
        return self._model.url

    async def close(self) -> None:
        """Ends it."""
        await self._stack.aclose()
