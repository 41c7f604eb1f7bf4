"""Calls that end before or after the commit, by deadline or cancellation: a retry with the same ids returns the stored
result."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, TypeVar

import grpc
import pytest

import threadkeep
from threadkeep import errors
from threadkeep_server.app.fronts import serve
from threadkeep_server.app.server import Running
from threadkeep_server.config.settings import load_settings
from threadkeep_server.store.sql.engine.base import Unit
from threadkeep_server.store.sql.engine.sqlite import SqliteEngine
from threadkeep_server.store.sql.log.group_commit import Writer
from threadkeep_server.store.sql.log.group_unit import Request

from .harness.ledger import connect

T = TypeVar("T")

SHORT = 5.0
"""Seconds. A deadline that a call meets if it is not blocked."""


class Gate:
    """Blocks the writer before a unit of work or after its commit, while `closed`. `accepted`: the outcomes of the appends that
    the server has accepted since then, in order."""

    def __init__(self) -> None:
        self.accepted: list[asyncio.Future[Any]] = []
        self._before, self._after = threading.Event(), threading.Event()
        self.open()

    def open(self) -> None:
        self._before.set()
        self._after.set()

    def close_before(self) -> None:
        self.accepted.clear()
        self._before.clear()

    def close_after(self) -> None:
        self._after.clear()

    async def until_accepted(self, number: int) -> None:
        await until(lambda: len(self.accepted) == number)

    async def pass_through(self, write: Callable[[], Any]) -> Any:
        await asyncio.to_thread(self._before.wait)
        result = await write()
        await asyncio.to_thread(self._after.wait)
        return result


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Gate:
    gate = Gate()
    write = SqliteEngine.write

    async def gated(self: SqliteEngine, unit: Unit[T], **how: Any) -> T:
        return await gate.pass_through(lambda: write(self, unit, **how))

    accept = Writer.write

    def recorded(self: Writer, request: Request) -> asyncio.Future[Any]:
        gate.accepted.append(accept(self, request))
        return gate.accepted[-1]

    monkeypatch.setattr(SqliteEngine, "write", gated)
    monkeypatch.setattr(Writer, "write", recorded)
    return gate


@pytest.fixture
async def server(gate: Gate, tmp_path: Path) -> AsyncIterator[Running]:
    settings = load_settings(grpc_address="127.0.0.1:0", http_address="", data_dir=tmp_path, drain_grace="1s")
    async with serve(settings) as running:
        yield running
        gate.open()


@pytest.fixture
async def client(server: Running) -> AsyncIterator[threadkeep.AsyncClient]:
    async with connect(f"127.0.0.1:{server.grpc_port}", timeout=20) as opened:
        await opened.create_session("s")
        yield opened


async def until(happened: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not happened():  # noqa: ASYNC110 - the server does it
            await asyncio.sleep(0.005)


async def _ids(client: threadkeep.AsyncClient) -> list[str]:
    return [event.event_id async for event in client.events("s")]


async def test_a_deadline_before_the_commit_stores_nothing(client: threadkeep.AsyncClient, gate: Gate) -> None:
    """A call that ends before its turn is dropped, and its retry is a new append."""
    gate.close_before()
    first = asyncio.create_task(client.append("s", threadkeep.user("first", event_id="e1")))
    await gate.until_accepted(1)  # later calls wait for it
    late = threadkeep.user("late", event_id="e2")
    with pytest.raises(errors.DeadlineExceeded):
        await client.append("s", late, timeout=SHORT)
    assert await _ids(client) == []
    await until(lambda: gate.accepted[1].cancelled())
    gate.open()
    assert (await first).last_seq == 1
    assert await _ids(client) == ["e1"], "a caller that gave up before its turn stored nothing"
    retried = await client.append("s", late)
    assert [(event.seq, event.replayed) for event in retried.events] == [(2, False)]
    assert await _ids(client) == ["e1", "e2"]


async def test_a_deadline_after_the_commit_stores_once(client: threadkeep.AsyncClient, gate: Gate) -> None:
    """The response is lost and the events are stored: the retry returns their seqs."""
    gate.close_after()
    event = threadkeep.user("once", event_id="e1")
    with pytest.raises(errors.DeadlineExceeded) as outcome:
        await client.append("s", event, timeout=SHORT)
    assert outcome.value.code is grpc.StatusCode.DEADLINE_EXCEEDED
    assert await _ids(client) == ["e1"]
    gate.open()
    retried = await client.append("s", event)
    assert [(item.seq, item.replayed) for item in retried.events] == [(1, True)]
    assert (await client.get_session("s")).log_version == 1
    assert await _ids(client) == ["e1"]


async def test_a_cancel_before_the_commit_stores_nothing(client: threadkeep.AsyncClient, gate: Gate) -> None:
    gate.close_before()
    first = asyncio.create_task(client.append("s", threadkeep.user("first", event_id="e1")))
    await gate.until_accepted(1)
    second = asyncio.create_task(client.append("s", threadkeep.user("gone", event_id="e2")))
    await gate.until_accepted(2)
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)
    await until(lambda: gate.accepted[1].cancelled())
    gate.open()
    await first
    assert await _ids(client) == ["e1"]
    assert not (await client.append("s", threadkeep.user("gone", event_id="e2"))).events[0].replayed


async def test_a_disconnect_during_the_commit_stores_once(client: threadkeep.AsyncClient, gate: Gate) -> None:
    """A started commit is completed: the batch is stored completely, and other calls continue."""
    gate.close_after()
    batch = [threadkeep.user(str(n), event_id=f"e{n}") for n in range(3)]
    call = asyncio.create_task(client.append("s", *batch))
    async with asyncio.timeout(60):
        while not await _ids(client):  # noqa: ASYNC110 - the server commits
            await asyncio.sleep(0.005)
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    gate.open()
    assert (await client.append("s", threadkeep.user("next", event_id="next"))).last_seq == 4
    assert await _ids(client) == ["e0", "e1", "e2", "next"]
    retried = await client.append("s", *batch)
    assert [(event.seq, event.replayed) for event in retried.events] == [(1, True), (2, True), (3, True)]


async def test_a_broken_append_stream_is_repeated_without_duplicates(client: threadkeep.AsyncClient, gate: Gate) -> None:
    batches = [("s", [threadkeep.user(str(n), event_id=f"e{n}")]) for n in range(20)]
    answered = 0
    async for _ in client.append_stream(batches, max_outstanding=4):
        answered += 1
        if answered == 7:
            break
    seqs = [result.appended.events[0].seq async for result in client.append_stream(batches)]
    assert seqs == list(range(1, 21))
    assert await _ids(client) == [f"e{n}" for n in range(20)]


async def test_a_retry_after_any_deadline_stores_once(client: threadkeep.AsyncClient, gate: Gate) -> None:
    gave_up = 0
    for n in range(60):
        event = threadkeep.user(str(n), event_id=f"e{n}")
        try:
            answer = await client.append("s", event, timeout=n * 0.0002)
        except errors.DeadlineExceeded:
            gave_up += 1
            answer = await client.append("s", event)
        assert answer.events[0].seq == n + 1
    assert gave_up
    assert await _ids(client) == [f"e{n}" for n in range(60)]
