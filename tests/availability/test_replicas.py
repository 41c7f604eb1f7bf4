"""Reads on replicas miss nothing that was acknowledged before, by any server, however far the replicas are behind."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

import threadkeep
from tests.faults.harness.ledger import connect
from tests.support.servers.server_process import ServerProcess

from .conftest import ServerMaker
from .harness.cluster import DATABASE, USER, Cluster
from .harness.node import Node

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(600)]
AT_PRIMARY, AT_REPLICA = "reads are served by the primary", "reads are served by a replica again"
_BEHIND = "SELECT pg_last_wal_replay_lsn() < pg_last_wal_receive_lsn()"
# The statements of reads of events that a replica has run last.
_SERVED = f"SELECT count(*) FROM pg_stat_activity WHERE usename = '{USER}' AND query ~ 'FROM events'"


@dataclass
class Pair:
    """The clients of a server without replicas, and of `server`, which has them."""

    writer: threadkeep.AsyncClient
    reader: threadkeep.AsyncClient
    server: ServerProcess


@pytest.fixture
async def pair(make_server: ServerMaker, cluster: Cluster) -> AsyncIterator[Pair]:
    await asyncio.to_thread(cluster.await_healthy)
    writing = make_server(database_url=cluster.url)
    reading = make_server(database_url=cluster.url, database_read_url=cluster.replicas_url, database_read_wait="500ms")
    for server in (writing, reading):
        await asyncio.to_thread(server.start)
    async with connect(writing.address) as writer, connect(reading.address) as reader:
        yield Pair(writer, reader, reading)
    assert "unhandled" not in reading.log


async def write_and_read(pair: Pair, session: str, rounds: int) -> None:
    """Reads through another server what was acknowledged just before."""
    for number in range(rounds):
        await pair.writer.append(session, threadkeep.user(f"number {number}"))
        page = await pair.reader.events_page(session, page_size=1000)
        assert [event.text for event in page.events] == [f"number {each}" for each in range(number + 1)]
        found = [hit.event.text async for hit in pair.reader.search(f"number {number}", session=session)]
        assert f"number {number}" in found


def replicas_of(cluster: Cluster) -> list[Node]:
    primary = cluster.primary()
    return [node for node in cluster.nodes if node is not primary]


def served(cluster: Cluster) -> int:
    return sum(int(cluster.execute(node, _SERVED, database=DATABASE)) for node in replicas_of(cluster))


def behind(cluster: Cluster) -> int:
    """Returns how many replicas have received what they have not replayed."""
    return [cluster.execute(node, _BEHIND) for node in replicas_of(cluster)].count("t")


@contextmanager
def frozen(cluster: Cluster) -> Iterator[None]:
    """The replicas receive, and replay nothing. Patroni would resume a replay that is paused by PostgreSQL's own means."""
    replicas = replicas_of(cluster)
    for node in replicas:
        node.signal_replay(signal.SIGSTOP)
    try:
        yield
    finally:
        for node in replicas:
            node.signal_replay(signal.SIGCONT)


async def test_replicas_serve_reads_of_what_another_server_has_just_acknowledged(pair: Pair, cluster: Cluster) -> None:
    sessions = [f"replicas {number}" for number in range(3)]
    for session in sessions:
        await pair.writer.create_session(session, never_expires=True)
    await asyncio.gather(*(write_and_read(pair, session, 30) for session in sessions))
    assert await asyncio.to_thread(served, cluster) > 0


async def test_replicas_that_are_behind_serve_no_read(pair: Pair, cluster: Cluster) -> None:
    await pair.writer.create_session("behind", never_expires=True)
    assert AT_PRIMARY not in pair.server.log
    with frozen(cluster):
        await write_and_read(pair, "behind", 30)
        assert AT_PRIMARY in pair.server.log
        assert await asyncio.to_thread(behind, cluster) == 2
    async with asyncio.timeout(60):
        while pair.server.log.rfind(AT_REPLICA) < pair.server.log.rfind(AT_PRIMARY):
            await pair.reader.events_page("behind", page_size=1000)
            await asyncio.sleep(0.1)
