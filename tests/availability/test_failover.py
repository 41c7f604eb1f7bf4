"""A cluster fails over under load: nothing acknowledged is lost or stored twice, and watchers see every change once, in order.

One server knows all nodes, the other one HAProxy. THREADKEEP_FAILOVERS sets the number of fail-overs.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from itertools import cycle, islice

import pytest

import threadkeep
from tests.faults.harness.background_tasks import BackgroundTasks, background
from tests.faults.harness.followers import Follower, logged, until_received
from tests.faults.harness.ledger import Ledger, append_until_acknowledged, connect
from tests.support.runs.printed import Say
from tests.support.runs.thoroughness import FAILOVERS
from tests.support.servers.server_process import ServerProcess

from .conftest import ServerMaker
from .harness.beats import Beat, Reading, more, percentile
from .harness.cluster import Cluster
from .harness.node import Node

SESSIONS = ("through the nodes", "through the proxy", "through both")
ALLOWED = {"STORE_UNAVAILABLE", "UNAVAILABLE", "DEADLINE_EXCEEDED"}
_WITHIN = 240.0


Mend = Callable[[], None]
Fault = Callable[[Cluster, Node], Mend]


def kill(cluster: Cluster, primary: Node) -> Mend:
    """The machine is gone."""
    primary.kill()

    def mend() -> None:
        primary.await_end()
        primary.start()

    return mend


def crash(cluster: Cluster, primary: Node) -> Mend:
    """PostgreSQL is killed, Patroni is not."""
    primary.kill_postgres()
    return lambda: None


def cut_off(cluster: Cluster, primary: Node) -> Mend:
    """The network drops all traffic of the node."""
    primary.cut_off()
    return primary.connect


def switch_over(cluster: Cluster, primary: Node) -> Mend:
    cluster.switch_over(primary)
    return lambda: None


FAULTS = (kill, cut_off, switch_over, crash)


@pytest.mark.postgres
@pytest.mark.timeout(600 + 120 * FAILOVERS)
async def test_failovers_lose_and_duplicate_nothing_acknowledged(make_server: ServerMaker, cluster: Cluster, say: Say) -> None:
    urls = {cluster.url: cluster.replicas_url, cluster.haproxy_url: cluster.haproxy_replicas_url}
    made = [make_server(database_url=url, database_read_url=replicas) for url, replicas in urls.items()]
    servers = [await asyncio.to_thread(each.start) for each in made]
    ledger, faults = Ledger(), list(islice(cycle(FAULTS), FAILOVERS))
    async with connect(servers[0].address) as first, connect(servers[1].address) as second:
        for session in SESSIONS:
            await first.create_session(session, never_expires=True)
        beats = [Beat(ledger, client, session, name) for client, session, name in _writers(first, second)]
        watching = [
            Follower(f"{kind} of {number}", {"from_beginning": True, **options})
            for number in range(2)
            for kind, options in (("all", {}), ("one", {"session": SESSIONS[1 - number]}))
        ]
        follows = (each.follow(servers[place // 2].address) for place, each in enumerate(watching))
        async with background(*follows) as following:
            readings = [Reading(ledger, client, session) for client in (first, second) for session in SESSIONS]
            async with background(*(beat.run() for beat in beats), *(each.run() for each in readings)) as writing:
                await writing.until(more(beats, 5))
                pauses = [await _fail_over(cluster, fault, beats, (writing, following)) for fault in faults]
            for session in SESSIONS:
                last = [threadkeep.user("the last", event_id=f"last {session}")]
                ledger.requested[session].append(last)
                await append_until_acknowledged(ledger, first, session, last)
                everyone = [each for each in watching if each.options.get("session", session) == session]
                await until_received(everyone, session, f"last {session}")
        received = {each.name: await _check(first, each) for each in watching}
        stored = await ledger.check(servers[1].address)
    _say(say, ledger, stored, sum(each.reads for each in readings), faults, pauses)
    assert stored >= ledger.acknowledged
    assert received["all of 0"] == received["all of 1"] == stored
    assert set(ledger.problems) <= ALLOWED, f"{ledger.problems}\n{unhandled(servers)}"


def _writers(
    first: threadkeep.AsyncClient, second: threadkeep.AsyncClient
) -> Sequence[tuple[threadkeep.AsyncClient, str, str]]:
    nodes, proxy, both = SESSIONS
    return [(first, nodes, "n0"), (first, both, "n1"), (second, proxy, "p0"), (second, both, "p1")]


async def _fail_over(
    cluster: Cluster, fault: Fault, beats: Sequence[Beat], tasks: Sequence[BackgroundTasks]
) -> tuple[float, float]:
    """Returns the longest pause of the writers of each server."""
    primary = await asyncio.to_thread(cluster.primary)
    began = time.monotonic()
    mend = await asyncio.to_thread(fault, cluster, primary)
    await asyncio.to_thread(cluster.await_other_primary, primary)
    await tasks[0].until(more(beats, 10), _WITHIN)
    await asyncio.to_thread(mend)
    await asyncio.to_thread(cluster.await_healthy)
    for each in tasks:
        each.check()
    return max(beat.pause(began) for beat in beats[:2]), max(beat.pause(began) for beat in beats[2:])


async def _check(client: threadkeep.AsyncClient, follower: Follower) -> int:
    """Returns the number of received events of all its sessions."""
    wanted = [follower.options["session"]] if "session" in follower.options else SESSIONS
    return sum([follower.check(session, await logged(client, session)) for session in wanted])


def unhandled(servers: Sequence[ServerProcess]) -> str:
    """Returns the beginnings of what the servers logged about errors that they do not know."""
    return "\n".join(server.log[at : at + 6000] for server in servers if (at := server.log.find("unhandled")) >= 0)


def _say(
    say: Say, ledger: Ledger, stored: int, reads: int, faults: Sequence[Fault], pauses: Sequence[tuple[float, float]]
) -> None:
    nodes, proxy = zip(*pauses, strict=True)
    kills = sum(fault in (kill, crash) for fault in faults)
    told = [
        f"postgresql: kills={kills} partitions={faults.count(cut_off)} switchovers={faults.count(switch_over)}",
        f"acknowledged={ledger.acknowledged} stored={stored} replays={ledger.replays} lost=0 duplicated=0 reads={reads}",
    ]
    for name, values in (("several hosts", nodes), ("haproxy", proxy)):
        p50, p99 = percentile(values, 50), percentile(values, 99)
        told.append(f"time to write again, {name}: p50={p50:.1f}s p99={p99:.1f}s")
    say(" ".join(told))
    say("  each: " + " ".join(f"{fault.__name__}={a:.1f}/{b:.1f}" for fault, (a, b) in zip(faults, pauses, strict=True)))
