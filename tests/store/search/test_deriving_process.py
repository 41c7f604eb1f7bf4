"""The process that analyzes events for an index that is far behind."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Connection

from tests.support.codec import CODEC, as_draft, draft, event
from tests.support.sessions import TENANT, append, create, search
from threadkeep.v1 import message_pb2
from threadkeep_server.domain.scopes import UserScope
from threadkeep_server.store.sql.engine.base import SqlOptions
from threadkeep_server.store.sql.search import deriver
from threadkeep_server.store.sql.search.derivation import Sealed, derive
from threadkeep_server.store.sql.search.deriver import Deriver
from threadkeep_server.store.sql.search.deriving_process import DerivingProcess
from threadkeep_server.store.sql.store import SqlStore, open_store

EVENTS = 400
WITHIN_S = 60.0

KILLED_SERVER = """
import os, time
from tests.support.codec import CODEC
from threadkeep_server.store.sql.search.deriving_process import DerivingProcess
process = DerivingProcess(CODEC, with_words=True)
print(process._process.pid, flush=True)
time.sleep(600)
"""


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(WITHIN_S):
        while not holds():  # noqa: ASYNC110 - nothing signals it
            await asyncio.sleep(0.02)


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def sealed(*texts: str) -> list[Sealed]:
    return [Sealed(draft(text).body, number) for number, text in enumerate(texts)]


async def filled(url: str) -> None:
    """Appends events to a store without an index."""
    async with open_store(url, CODEC, options=SqlOptions(search_index=False)) as store:
        await create(store)
        for start in range(0, EVENTS, 100):
            await append(store, *(draft(f"needle {number}") for number in range(start, start + 100)))


async def indexed(store: SqlStore) -> None:
    async with asyncio.timeout(WITHIN_S):
        while (await store.info(TENANT, totals=False)).index_lag:  # noqa: ASYNC110 - nothing signals it
            await asyncio.sleep(0.02)
    assert len(await search(store, "needle", UserScope("alice"), limit=EVENTS + 1)) == EVENTS


def started(monkeypatch: pytest.MonkeyPatch) -> list[DerivingProcess]:
    """Returns the processes that will be started, on a machine of two cores."""
    every: list[DerivingProcess] = []

    class Recorded(DerivingProcess):
        def __init__(self, *args: object, **kwargs: object) -> None:
            super().__init__(*args, **kwargs)  # type: ignore[arg-type]
            every.append(self)

    monkeypatch.setattr(deriver, "DerivingProcess", Recorded)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    return every


@pytest.mark.parametrize("with_words", [True, False])
def test_a_process_derives_the_same_as_the_server(with_words: bool) -> None:
    call = message_pb2.Part(tool_call=message_pb2.ToolCallPart(id="1", name="getUser", arguments_json='{"name": "Ada"}'))
    events = sealed("Next Friday, in Zürich", "漢字検索", "", "\x00 odd " + "x" * 100)
    events.append(Sealed(as_draft(event(None, parts=[call])).body, 5))
    process = DerivingProcess(CODEC, with_words=with_words)
    try:
        assert process.receive(process.send(events)) == derive(CODEC, events, with_words)
    finally:
        process.close()
    assert not runs(process._process.pid)


def test_results_that_a_failed_transaction_left_are_dropped() -> None:
    process = DerivingProcess(CODEC, with_words=True)
    try:
        process.send(sealed("one"))
        process.send(sealed("two"))
        wanted = sealed("three")
        assert process.receive(process.send(wanted)) == derive(CODEC, wanted, True)
    finally:
        process.close()


async def test_a_process_ends_with_a_server_that_is_killed() -> None:
    server = await asyncio.create_subprocess_exec(sys.executable, "-c", KILLED_SERVER, stdout=subprocess.PIPE)
    assert server.stdout is not None
    pid = int(await server.stdout.readline())
    assert runs(pid)
    server.kill()
    await server.wait()
    await until(lambda: not runs(pid))


async def test_events_far_behind_are_analyzed_by_a_process_that_ends_when_idle(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deriver, "_IDLE_S", 0.0)
    processes = started(monkeypatch)
    await filled(url)
    async with open_store(url, CODEC) as store:
        await indexed(store)
        assert len(processes) == 1
        await until(lambda: not runs(processes[0]._process.pid))


async def test_a_closed_store_leaves_no_process(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    processes = started(monkeypatch)
    await filled(url)
    async with open_store(url, CODEC):
        await until(lambda: bool(processes))
    assert not runs(processes[0]._process.pid)
    async with open_store(url, CODEC) as store:
        await indexed(store)


async def test_a_closed_deriver_starts_no_process(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A transaction may still run while its store closes."""
    processes = started(monkeypatch)
    async with open_store(url, CODEC) as store:
        closed = Deriver(store._engine, CODEC, with_words=True)
        closed.close()

        def derive(_: Connection) -> None:
            next(closed.derive([Sealed(b"", 1)], by_process=True))  # type: ignore[list-item]

        with pytest.raises(EOFError):
            await store._engine.index(derive)
    assert not processes


async def test_one_core_derives_in_the_server(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    processes = started(monkeypatch)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    await filled(url)
    async with open_store(url, CODEC) as store:
        await indexed(store)
    assert not processes


async def test_a_process_that_is_killed_loses_nothing(
    url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    processes = started(monkeypatch)
    opened = Deriver._open

    def killed(self: Deriver) -> DerivingProcess:
        process = opened(self)
        os.kill(process._process.pid, signal.SIGKILL)
        process._process.wait()
        return process

    monkeypatch.setattr(Deriver, "_open", killed)
    monkeypatch.setattr("threadkeep_server.store.sql.search.indexer._RETRY_S", 0.1)
    await filled(url)
    async with open_store(url, CODEC) as store:
        await indexed(store)
    assert len(processes) == 1
    assert "the server does it from now on" in caplog.text
