"""Which host of a PostgreSQL cluster is the primary, by what each of them answers and when."""

from __future__ import annotations

import asyncio

import pytest

from threadkeep_server.store.sql.engine.postgres_hosts import Host, PostgresHosts

ONE, TWO, THREE = (Host(name, 5432) for name in ("one", "two", "three"))
SOON = 5.0
"""Seconds; a host that vanished answers much later here."""


class Cluster:
    """`answers`: the timeline of each host that answers; it is empty for replicas."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answers: dict[Host, str] = {}
        self.hosts = PostgresHosts("postgresql+asyncpg://nobody@/none?host=one:5432&host=two:5432&host=three:5432")
        monkeypatch.setattr(self.hosts, "_timeline", self._timeline)

    async def _timeline(self, host: Host) -> str:
        if host not in self.answers:
            await asyncio.sleep(SOON * 3)
        return self.answers.get(host, "")

    async def primary(self) -> Host | None:
        async with asyncio.timeout(SOON):
            return await self.hosts._primary()


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    return Cluster(monkeypatch)


async def test_of_two_primaries_the_one_promoted_last_is_taken(cluster: Cluster) -> None:
    cluster.answers = {ONE: "00000003", TWO: "0000000A", THREE: ""}
    assert await cluster.primary() == TWO


async def test_no_primary_is_found_among_replicas(cluster: Cluster) -> None:
    cluster.answers = dict.fromkeys((ONE, TWO, THREE), "")
    assert await cluster.primary() is None


async def test_a_new_primary_is_found_without_waiting_for_a_host_that_vanished(cluster: Cluster) -> None:
    cluster.answers = {ONE: "00000001", TWO: "", THREE: ""}
    assert await cluster.primary() == ONE
    cluster.answers = {TWO: "00000002", THREE: ""}
    assert await cluster.primary() == TWO


async def test_a_primary_of_before_is_taken_after_every_host_had_the_time_to_answer(cluster: Cluster) -> None:
    """Another one may have been promoted, and answer slowly."""
    cluster.answers = {ONE: "00000001", TWO: "", THREE: ""}
    assert await cluster.primary() == ONE
    cluster.answers = {ONE: "00000001", TWO: ""}
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(cluster.hosts._primary(), 0.1)


async def test_the_primary_is_known_from_the_start_so_that_the_next_one_is_found_at_once(cluster: Cluster) -> None:
    dropped: list[set[Host]] = []
    cluster.answers = {ONE: "00000001", TWO: "", THREE: ""}
    cluster.hosts.drop = lambda hosts: dropped.append(set(hosts))  # type: ignore[method-assign]
    watching = asyncio.create_task(cluster.hosts.watch(lambda: True))
    async with asyncio.timeout(SOON):
        while not dropped:  # noqa: ASYNC110 - the watch sets it
            await asyncio.sleep(0.01)
        cluster.answers = {TWO: "00000002", THREE: ""}
        while dropped[-1] != {ONE, THREE}:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    watching.cancel()
    await asyncio.wait([watching])
