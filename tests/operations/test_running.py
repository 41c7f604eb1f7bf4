"""A backup of a server that is written to, restored elsewhere: sessions, subscribers and searches continue from it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

import threadkeep
from tests.api.conftest import running
from threadkeep import errors

from .conftest import Command, EmptyUrl

WRITERS = 4
WITHIN = 120.0


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of the database of a server."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/threadkeep.db"
    return str(request.getfixturevalue("another_postgres_url"))


@contextmanager
def _connected(url: str, **flags: Any) -> Any:
    with running(database_url=url, http_address="", **flags) as server:
        yield threadkeep.AsyncClient(f"127.0.0.1:{server.grpc_port}", app="shop", user_id="ann")


class _Writers:
    """Each appends to a session of its own, one event after the other."""

    def __init__(self, client: threadkeep.AsyncClient) -> None:
        self._client = client
        self.acknowledged = [0] * WRITERS
        self.slowest = 0.0

    async def _write(self, number: int) -> None:
        while True:
            began = time.monotonic()
            text = f"event {self.acknowledged[number]}"
            await self._client.append(f"s{number}", threadkeep.user(text), create_if_missing=True)
            self.acknowledged[number] += 1
            self.slowest = max(self.slowest, time.monotonic() - began)

    @asynccontextmanager
    async def run(self) -> AsyncIterator[_Writers]:
        tasks = [asyncio.create_task(self._write(number)) for number in range(WRITERS)]
        try:
            yield self
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            assert not [task for task in tasks if not task.cancelled() and task.exception()]

    async def reach(self, count: int) -> None:
        async with asyncio.timeout(WITHIN):
            while min(self.acknowledged) < count:  # noqa: ASYNC110 - the writers set it
                await asyncio.sleep(0.01)


async def test_what_is_backed_up_under_load_continues_elsewhere(
    place: str, empty_url: EmptyUrl, db: Command, tmp_path: Path
) -> None:
    backup = tmp_path / "backup"
    with _connected(place) as client:
        async with client, _Writers(client).run() as writers, aclosing(client.watch("s0", after_seq=0)) as changes:
            await writers.reach(20)
            await anext(changes)  # the creation
            kept = (await anext(changes)).resume_token
            before = list(writers.acknowledged)
            made = await asyncio.to_thread(db, "backup", "--database-url", place, "-o", backup)
            assert (made["status"], made["shown"]) == (0, [])
            after = list(writers.acknowledged)
            assert sum(after) > sum(before), "nobody wrote meanwhile"
            await writers.reach(max(after) + 2)
            async for change in changes:
                lost = change.resume_token
                if change.events[-1].seq > after[0]:
                    break
    restored = empty_url(place)
    assert (await asyncio.to_thread(db, "restore", backup, "--database-url", restored))["shown"] == []
    with _connected(restored) as client:
        async with client:
            for number in range(WRITERS):
                events = [event.text async for event in client.events(f"s{number}")]
                assert events == [f"event {each}" for each in range(len(events))]
                assert before[number] <= len(events) <= after[number] + 1
            await client.append("s0", threadkeep.user("a walrus"))
            async with asyncio.timeout(WITHIN), aclosing(client.watch("s0", resume_token=kept)) as changes:
                seqs = [(await anext(changes)).events[-1].seq for _ in range(before[0])]
            assert seqs == list(range(2, before[0] + 2))
            with pytest.raises(errors.InvalidResumeToken):
                async with asyncio.timeout(WITHIN), aclosing(client.watch("s0", resume_token=lost)) as changes:
                    await anext(changes)
            async with asyncio.timeout(WITHIN):
                found = [hit.event.text async for hit in client.search("walrus")]
            assert found == ["a walrus"]
