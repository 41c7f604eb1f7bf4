"""Policies that leave compaction to a named consumer: which deliveries request it, and what happens without an answer."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import urllib.request
from collections.abc import AsyncIterator, Callable

import pytest

import threadkeep
from threadkeep import Change, Delivery, assistant, compaction, user
from threadkeep.errors import InvalidField

from ..conftest import ServerFactory

NAME = "compactor"
POLICY = compaction.policy(compaction.events(4), compaction.compacted_by(NAME))
KEEP_ONE_TURN = compaction.turn_window(1)


@pytest.fixture(params=["sqlite", "memory", pytest.param("postgresql", marks=pytest.mark.postgres)])
def address(request: pytest.FixtureRequest, start_server: ServerFactory) -> str:
    urls = {"memory": lambda: "memory://", "postgresql": lambda: request.getfixturevalue("postgres_url")}
    url = urls[request.param]() if request.param in urls else ""
    return f"127.0.0.1:{start_server(**({'database_url': url} if url else {})).grpc_port}"


@pytest.fixture
async def client(address: str) -> AsyncIterator[threadkeep.AsyncClient]:
    async with threadkeep.AsyncClient(address, app="shop", user_id="alice") as opened:
        yield opened


class Worker:
    """A member of a consumer that compacts what is requested; `fails` makes it reject."""

    def __init__(self, client: threadkeep.AsyncClient, name: str = NAME) -> None:
        self._client = client
        self._name = name
        self.changes: list[Change] = []
        self.compacted: list[str] = []
        self.stale = 0
        self.fails = 0

    @property
    def due(self) -> list[Change]:
        return [change for change in self.changes if change.HasField("compaction_due")]

    async def handle(self, delivery: Delivery) -> None:
        change = delivery.change
        self.changes.append(change)
        if not change.HasField("compaction_due"):
            return
        if self.fails:
            self.fails -= 1
            raise RuntimeError("the model is away")
        planned = await self._client.plan_compaction(change.session, KEEP_ONE_TURN)
        if planned.window_version != change.versions.window_version or not planned.plan.archive_event_ids:
            self.stale += 1
            return
        done = await self._client.apply_compaction(change.session, planned, actor=self._name, report_mismatch=True)
        if done.applied:
            self.compacted.append(change.session.session_id)

    @contextlib.asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        stop = asyncio.Event()
        task = asyncio.create_task(self._client.consumer(self._name).run(self.handle, stop=stop, from_beginning=True))
        try:
            yield
        finally:
            stop.set()
            await task


async def eventually(done: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not done():  # noqa: ASYNC110 - the condition depends on a server
            await asyncio.sleep(0.02)


async def turns(client: threadkeep.AsyncClient, session: str, *numbers: int) -> None:
    for number in numbers:
        await client.append(session, user(f"question {number}"), assistant(f"answer {number}"), create_if_missing=True)


def metrics(port: int | None) -> dict[str, float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as page:
        lines = [line.rsplit(" ", 1) for line in page.read().decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in lines}


async def test_a_consumer_compacts_what_the_policy_leaves_to_it(client: threadkeep.AsyncClient) -> None:
    await client.app_policy("shop").set(POLICY)
    worker, watching = Worker(client), Worker(client, "watching")
    async with worker.working(), watching.working():
        await turns(client, "s1", 1, 2)
        await turns(client, "s2", 1)
        await eventually(lambda: worker.compacted == ["s1"] and any(c.HasField("compaction") for c in watching.changes))
        [due] = worker.due
        assert due.compaction_due.trigger == POLICY.trigger
        assert (due.session.session_id, due.versions.window.events) == ("s1", 4)
        assert not watching.due, "only the named consumer is requested"
        await turns(client, "s1", 3)
        await eventually(lambda: worker.compacted == ["s1", "s1"])
    [newest, oldest] = [each async for each in client.compactions("s1")]
    assert (newest.actor, oldest.archived_events) == (NAME, 2)
    assert not [each async for each in client.compactions("s2")]
    assert len([event async for event in client.events("s1")]) == 6, "nothing is lost"


async def test_requests_wait_for_a_member_and_are_answered_once(client: threadkeep.AsyncClient) -> None:
    """Several appends beyond the trigger make several requests; the first answer makes the others stale."""
    await client.app_policy("shop").set(POLICY)
    await turns(client, "s1", 1, 2, 3, 4)
    worker = Worker(client)
    worker.fails = 1
    async with worker.working():
        await eventually(lambda: len(worker.due) >= 4 and worker.stale + len(worker.compacted) >= 3)
    assert [each.archived_events async for each in client.compactions("s1")] == [6]
    assert worker.compacted == ["s1"]


async def test_a_policy_that_changes_ends_the_requests(client: threadkeep.AsyncClient) -> None:
    await client.app_policy("shop").set(POLICY)
    worker = Worker(client)
    async with worker.working():
        await client.session(await client.create_session("s1")).policy().set(compaction.disabled())
        await turns(client, "s1", 1, 2)
        await turns(client, "s2", 1, 2)
        await eventually(lambda: worker.compacted == ["s2"])
    assert {change.session.session_id for change in worker.due} == {"s2"}


async def test_the_server_does_not_run_a_consumer_on_request(client: threadkeep.AsyncClient) -> None:
    await turns(client, "s1", 1, 2)
    await client.app_policy("shop").set(POLICY)
    for strategy in (None, POLICY.strategy):
        with pytest.raises(InvalidField) as caught:
            await client.compact("s1", strategy)
        assert caught.value.field == "strategy"
    with pytest.raises(InvalidField):
        await client.plan_compaction("s1")
    assert (await client.compact("s1", KEEP_ONE_TURN)).compacted


async def test_a_request_that_nobody_answers_is_counted_and_logged(
    start_server: ServerFactory, caplog: pytest.LogCaptureFixture
) -> None:
    server = start_server(compaction_answer_time="1s")
    async with threadkeep.AsyncClient(f"127.0.0.1:{server.grpc_port}", app="shop", user_id="alice") as client:
        await client.app_policy("shop").set(POLICY)
        await turns(client, "s1", 1, 2, 3)
        await turns(client, "s2", 1, 2)
        await client.compact("s2", KEEP_ONE_TURN)

        async def counted(name: str, value: float) -> None:
            async with asyncio.timeout(60):
                while (await asyncio.to_thread(metrics, server.http_port))[name] != value:  # noqa: ASYNC110
                    await asyncio.sleep(0.2)

        with caplog.at_level(logging.WARNING):
            await counted("threadkeep_compaction_requests_unanswered_total", 1)
            await counted("threadkeep_compaction_requests_waiting", 0)
        assert any("'compactor' has not compacted 1 sessions" in record.getMessage() for record in caplog.records)
        await turns(client, "s1", 4)
        await counted("threadkeep_compaction_requests_unanswered_total", 2)
        worker = Worker(client)
        async with worker.working():
            await eventually(lambda: worker.compacted == ["s1"])
