"""Kill -9 while others plan a compaction: nothing is lost, and nothing is applied twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import threadkeep
from tests.support.models.model_endpoint import endpoint, hangs, replies
from tests.support.models.webhooks import keep_last, plans, webhooks_file
from tests.support.servers.server_process import url_settings
from threadkeep import Change, Delivery, assistant, compaction, user

from ..conftest import ServerMaker
from ..harness.ledger import connect
from ..harness.policy import leases_of
from ..harness.window_invariants import check_records, still
from ..harness.wire import wire

SESSION = "planned"
WEBHOOK = compaction.policy(compaction.events(4), compaction.webhook("summaries"))
CONSUMER = compaction.policy(compaction.events(4), compaction.compacted_by("compactor"))


async def turns(client: threadkeep.AsyncClient, *numbers: int) -> None:
    for number in numbers:
        ids = (f"U{number}", f"A{number}")
        await client.append(
            SESSION, user("question", event_id=ids[0]), assistant("answer", event_id=ids[1]), create_if_missing=True
        )


async def eventually(done: Callable[[], bool]) -> None:
    async with asyncio.timeout(90):
        while not done():  # noqa: ASYNC110 - the condition depends on other processes
            await asyncio.sleep(0.02)


async def check(address: str, said: Sequence[int], compactions: int) -> None:
    """Checks that the session has all turns once, and the compactions that add up to its window."""
    async with wire(address) as to:
        state, records, events = await still(to, SESSION)
        check_records(state, records, events)
        stored = [event.event_id for event in events if not event.synthetic]
    assert stored == [f"{letter}{number}" for number in said for letter in "UA"]
    assert len(records) == compactions


async def version(address: str) -> int:
    async with connect(address) as client:
        return (await client.get_session(SESSION)).window_version


async def compacted(address: str, before: int) -> None:
    async with asyncio.timeout(90):
        while await version(address) == before:  # noqa: ASYNC110 - the condition depends on other processes
            await asyncio.sleep(0.05)


@pytest.mark.timeout(300)
async def test_a_server_killed_before_a_webhook_answers_has_changed_nothing(
    make_server: ServerMaker, database_url: str | None, tmp_path: Path
) -> None:
    """The plan of the killed server is lost; the next append after its lease requests another."""
    async with endpoint("webhook") as hook:
        hook.does(hangs)
        settings = {**url_settings(database_url), "compaction_webhooks_file": webhooks_file(tmp_path, summaries=hook.url)}
        server = await asyncio.to_thread(make_server(prelude=leases_of(2), **settings).start)
        async with connect(server.address) as client:
            await client.server_policy().set(WEBHOOK)
            await turns(client, 1, 2)
            await asyncio.wait_for(hook.requested.wait(), 60)
            await asyncio.to_thread(server.kill)
        hook.does(plans(hook, keep_last(2)))
        await asyncio.to_thread(server.start)
        await check(server.address, [1, 2], compactions=0)
        async with connect(server.address) as client:
            await turns(client, 3)
        await compacted(server.address, 0)
        await check(server.address, [1, 2, 3], compactions=1)


@pytest.mark.timeout(300)
async def test_a_plan_that_was_committed_before_the_kill_is_not_applied_again(
    make_server: ServerMaker, database_url: str | None, tmp_path: Path
) -> None:
    """The webhook repeats its plan of the old window; the server refuses it, because those events are not in the request."""
    async with endpoint("webhook") as hook:
        first: list[object] = []

        def remember(request: object) -> object:
            first.append(keep_last(2)(request))
            return first[0]

        hook.does(plans(hook, remember))
        settings = {**url_settings(database_url), "compaction_webhooks_file": webhooks_file(tmp_path, summaries=hook.url)}
        server = await asyncio.to_thread(make_server(prelude=leases_of(2), **settings).start)
        async with connect(server.address) as client:
            await client.server_policy().set(WEBHOOK)
            await turns(client, 1, 2)
        await compacted(server.address, 0)
        await asyncio.to_thread(server.kill)
        await asyncio.to_thread(server.start)
        async with connect(server.address) as client:
            await turns(client, 3)
        await eventually(lambda: len(hook.requests) >= 2)
        hook.does(replies({}))
        await eventually(lambda: len(hook.requests) >= 3)
        await check(server.address, [1, 2, 3], compactions=1)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("moment", ["before the answer", "after the answer"])
async def test_a_request_to_a_consumer_survives_a_kill_and_is_answered_once(
    make_server: ServerMaker, database_url: str | None, moment: str
) -> None:
    """The server is killed while the member handles the delivery, which is then delivered again."""
    server = await asyncio.to_thread(make_server(**url_settings(database_url)).start)
    deliveries: list[int] = []
    applied: list[bool] = []
    stop, killed = asyncio.Event(), asyncio.Event()

    async def kill() -> None:
        await asyncio.to_thread(server.kill)
        killed.set()

    async with connect(server.address) as client:

        async def handle(delivery: Delivery) -> None:
            change = delivery.change
            if not change.HasField("compaction_due"):
                return
            deliveries.append(change.versions.window_version)
            if len(deliveries) == 1 and moment == "before the answer":
                await kill()
            applied.append(await answer(change))
            if len(deliveries) == 1:
                await kill()
                raise RuntimeError("killed before the acknowledgement")
            stop.set()

        async def answer(change: Change) -> bool:
            planned = await client.plan_compaction(change.session, compaction.turn_window(1))
            if planned.window_version != change.versions.window_version:
                return False
            done = await client.apply_compaction(change.session, planned, report_mismatch=True)
            return done.applied

        await client.server_policy().set(CONSUMER)
        await turns(client, 1, 2)
        working = asyncio.create_task(client.consumer("compactor").run(handle, from_beginning=True, stop=stop))
        await asyncio.wait_for(killed.wait(), 90)
        await asyncio.to_thread(server.start)
        await asyncio.wait_for(working, 120)
    assert deliveries == [0, 0], "the same request is delivered again"
    assert applied == ([True] if moment == "before the answer" else [True, False])
    await check(server.address, [1, 2], compactions=1)
