"""Retention with kill -9 between any two of its steps: each session is in the database or in the archive, whole."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import gzip
import json
import random
import time
from pathlib import Path

import pytest

from tests.support.runs.thoroughness import LONG, size
from tests.support.servers.server_process import url_settings
from threadkeep import AsyncClient, SessionEvent, assistant, user
from threadkeep.errors import SessionNotFound, Unavailable
from threadkeep.v1.retention_pb2 import RETENTION_OUTCOME_DELETED

from ..conftest import ServerMaker
from ..harness.ledger import connect

POLICIES = """
[all]
action = "archive"
idle = "1ms"
keep = { hold = "*" }
"""
# Kills the process before or after a step, which the file names, once.
DYING = """
import os, signal
from pathlib import Path
from threadkeep_server.providers.archives.directory import Directory
from threadkeep_server.service.retention.archive import Archive
from threadkeep_server.store.sql.log.store import SqlSessions

def reached(step):
    file = Path("die")
    if file.exists() and file.read_text() == step:
        file.unlink()
        os.kill(os.getpid(), signal.SIGKILL)

def watched(owner, name):
    work = getattr(owner, name)
    async def step(*arguments, **options):
        reached("before " + name)
        result = await work(*arguments, **options)
        reached("after " + name)
        return result
    setattr(owner, name, step)

watched(Directory, "put")
watched(SqlSessions, "delete_unchanged")
for name in ("store", "begin", "end"):
    watched(Archive, name)
"""
STEPS = ("before store", "after put", "after store", "after begin", "after delete_unchanged", "after end")


def settings_of(root: Path, url: str | None) -> dict[str, object]:
    (root / "policies.toml").write_text(POLICIES)
    files: dict[str, object] = {"retention_policies_file": root / "policies.toml", "retention_archive": root / "archive"}
    return {**files, **url_settings(url)}


def bare(events: list[SessionEvent]) -> list[bytes]:
    for event in events:
        event.ClearField("record_time")
    return [event.SerializeToString(deterministic=True) for event in events]


async def log_of(client: AsyncClient, name: str) -> list[bytes]:
    return bare([event.pb async for event in client.events(name)])


async def test_a_kill_between_any_two_steps_loses_nothing(
    make_server: ServerMaker, database_url: str | None, tmp_path: Path
) -> None:
    server = make_server(prelude=DYING, **settings_of(tmp_path, database_url))
    await asyncio.to_thread(server.start)
    async with connect(server.address) as client:
        for number, step in enumerate(STEPS):
            name = f"s{number}"
            await client.append(name, user("hello"), assistant("hi"), create_if_missing={})
            await client.clear(name)
            await client.append(name, user("again"))
            before = await log_of(client, name)
            (tmp_path / "die").write_text(step)
            with pytest.raises(Unavailable):
                await client.run_retention()
            await asyncio.to_thread(server.kill)  # forgets the process, which is dead
            await asyncio.to_thread(server.start)
            assert not (tmp_path / "die").exists()
            there = [each.ref.session_id async for each in client.sessions()]
            assert (name in there) == (step not in ("after delete_unchanged", "after end"))
            assert await log_of(client, name) == (before if name in there else [])
            await client.run_retention()
            with pytest.raises(SessionNotFound):
                await client.get_session(name)
            receipts = [each async for each in client.retention_receipts(session_id=name)]
            assert [each.events for each in receipts if each.outcome == RETENTION_OUTCOME_DELETED] == [3]
            archives = list((tmp_path / "archive").glob(f"archives/*/*/*/session={name}/*.gz"))
            assert 1 <= len(archives) <= 2, "at most one duplicate"
            assert (await client.restore_session(name)).restored_events == 3
            assert await log_of(client, name) == before
            await client.update_session(name, labels={"hold": "yes"})
        assert not list((tmp_path / "archive").glob("pending/*/*"))


@pytest.mark.timeout(1800 if LONG else 300)
async def test_no_acknowledged_append_is_lost_while_policies_run_and_the_server_is_killed(
    make_server: ServerMaker, database_url: str | None, tmp_path: Path
) -> None:
    server = make_server(**settings_of(tmp_path, database_url))
    await asyncio.to_thread(server.start)
    acknowledged: set[str] = set()
    done = asyncio.Event()

    async def write(client: AsyncClient, name: str) -> None:
        number = 0
        while not done.is_set():
            number += 1
            with contextlib.suppress(Unavailable):
                answer = await client.append(name, user("x", event_id=f"{name}-{number}"), create_if_missing={})
                acknowledged.update(each.event_id for each in answer.events)
            await asyncio.sleep(random.choice((0.0, 0.0, 0.0, 0.5, 1.0)))  # long enough to be archived now and then

    async def archive(client: AsyncClient) -> None:
        while not done.is_set():
            with contextlib.suppress(Unavailable):
                await client.run_retention()
            await asyncio.sleep(0.1)

    async with connect(server.address) as client:
        archiver = asyncio.create_task(archive(client))
        writers = [asyncio.create_task(write(client, f"s{number}")) for number in range(4)]
        for _ in range(size(30, 2)):
            await asyncio.to_thread(_archiving, tmp_path)
            await asyncio.sleep(random.uniform(0.0, 0.1))
            await asyncio.to_thread(server.kill)
            await asyncio.to_thread(server.start)
        await asyncio.to_thread(_archiving, tmp_path)
        done.set()
        await asyncio.gather(archiver, *writers)
        kept = {event_id for number in range(4) for event_id in await _ids(client, f"s{number}")}
    await asyncio.to_thread(server.kill)
    archived = {event for path in (tmp_path / "archive").glob("archives/**/*.jsonl.gz") for event in _ids_in(path)}
    assert acknowledged
    assert archived
    assert acknowledged <= kept | archived


def _archiving(root: Path) -> None:
    """Returns when another session was archived."""
    before = len(list(root.glob("archive/archives/**/*.gz")))
    for _ in range(2000):
        if len(list(root.glob("archive/archives/**/*.gz"))) > before:
            return
        time.sleep(0.05)
    raise AssertionError("no session was archived within 100 s")


async def _ids(client: AsyncClient, name: str) -> list[str]:
    return [event.id async for event in client.events(name)]


def _ids_in(path: Path) -> list[str]:
    lines = map(json.loads, gzip.decompress(path.read_bytes()).splitlines())
    return [SessionEvent.FromString(base64.b64decode(each["event"])).event_id for each in lines if each["type"] == "event"]
