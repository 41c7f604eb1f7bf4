"""Plans of webhooks and of consumers on a database with row-level security: each tenant's own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

import threadkeep
from tests.support.databases.postgres import PostgresCluster
from tests.support.models.model_endpoint import ModelEndpoint
from tests.support.models.webhooks import SUMMARY, keep_last, plans, webhook, webhooks_file
from threadkeep import Change, assistant, compaction, text_of, user

from ..conftest import running

pytestmark = pytest.mark.postgres

TENANTS = ("acme", "other")
TOKENS = {f"token-of-the-tenant-{tenant}": {"tenant": tenant} for tenant in TENANTS}


@pytest.fixture
def hook() -> Iterator[ModelEndpoint]:
    with webhook() as opened:
        opened.does(plans(opened, keep_last(2)))
        yield opened


@pytest.fixture
def address(postgres: PostgresCluster, hook: ModelEndpoint, tmp_path: Path) -> Iterator[str]:
    """Of a server whose database user is bound by row-level security."""
    postgres.execute("CREATE ROLE planned LOGIN", "CREATE DATABASE planned OWNER planned")
    settings = {
        "auth_tokens": TOKENS,
        "row_security": True,
        "compaction_webhooks_file": webhooks_file(tmp_path, plans=hook.url),
    }
    try:
        url = postgres.url("planned").replace("test@", "planned@")
        with running(data_dir=tmp_path, database_url=url, **settings) as opened:
            yield f"127.0.0.1:{opened.grpc_port}"
    finally:
        postgres.drop_database("planned")
        postgres.execute("DROP ROLE planned")


def _client(address: str, tenant: str) -> threadkeep.AsyncClient:
    return threadkeep.AsyncClient(address, token=f"token-of-the-tenant-{tenant}", app="shop", user_id="alice")


async def _eventually_compacted(client: threadkeep.AsyncClient) -> str:
    async with asyncio.timeout(60):
        while not (found := [each async for each in client.compactions("s1")]):  # noqa: ASYNC110 - it depends on a server
            await asyncio.sleep(0.02)
    return found[0].actor


async def _converse(client: threadkeep.AsyncClient, name: str) -> None:
    for turn in range(2):
        await client.append("s1", user(f"{name} {turn}"), assistant(f"to {name} {turn}"), create_if_missing=True)


async def test_a_webhook_is_sent_and_changes_the_events_of_one_tenant(address: str, hook: ModelEndpoint) -> None:
    for tenant in TENANTS:
        async with _client(address, tenant) as client:
            policy = compaction.policy(compaction.events(4), compaction.webhook("plans"))
            await client.app_policy("shop").set(policy)
            await _converse(client, tenant)
            assert await _eventually_compacted(client) == "policy"
            seen = [text_of(event.pb) for event in (await client.get_context("s1")).events]
            assert seen == [SUMMARY, f"{tenant} 1", f"to {tenant} 1"]
            sent = hook.requests[-1].json
            assert (sent["tenant"], sent["session"]["sessionId"]) == (tenant, "s1")
            assert sent["events"][0]["message"]["parts"] == [{"text": f"{tenant} 0"}]
    assert len(hook.requests) == len(TENANTS)


async def test_a_consumer_is_requested_for_the_sessions_of_its_tenant(address: str) -> None:
    clients = [_client(address, tenant) for tenant in TENANTS]
    due: dict[str, list[Change]] = {tenant: [] for tenant in TENANTS}
    stop = asyncio.Event()
    for client in clients:
        await client.app_policy("shop").set(compaction.policy(compaction.events(4), compaction.compacted_by("c")))

    async def work(client: threadkeep.AsyncClient, tenant: str) -> None:
        async def handle(delivery: threadkeep.Delivery) -> None:
            change = delivery.change
            if change.HasField("compaction_due"):
                due[tenant].append(change)
                planned = await client.plan_compaction(change.session, compaction.turn_window(1))
                await client.apply_compaction(change.session, planned, actor=tenant, report_mismatch=True)

        await client.consumer("c").run(handle, stop=stop, from_beginning=True)

    async with asyncio.TaskGroup() as tasks:
        for client, tenant in zip(clients, TENANTS, strict=True):
            tasks.create_task(work(client, tenant))
        await _converse(clients[0], "acme")
        assert await _eventually_compacted(clients[0]) == "acme"
        assert due["other"] == []
        await _converse(clients[1], "other")
        assert await _eventually_compacted(clients[1]) == "other"
        stop.set()
    for client in clients:
        await client.close()
    assert {tenant: len(changes) for tenant, changes in due.items()} == dict.fromkeys(TENANTS, 1)
