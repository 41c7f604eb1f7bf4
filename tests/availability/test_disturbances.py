"""What a cluster survives without a fail-over: etcd is gone for a while, connections are lost, the disk is slow."""

from __future__ import annotations

import asyncio
import time

import pytest

from tests.faults.harness.background_tasks import background
from tests.faults.harness.followers import Follower, logged, until_received
from tests.faults.harness.ledger import Ledger, append_until_acknowledged, connect
from tests.support.runs.printed import Say
from tests.support.runs.thoroughness import LONG
from threadkeep import user

from .conftest import ServerMaker
from .harness.beats import Beat, more
from .harness.cluster import USER, Cluster

SESSION = "disturbed"
_WRITERS = 8
_WITHIN = 120.0
_RELOAD = "SELECT pg_reload_conf()"
_TERMINATE = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{USER}'"
# Every commit waits so long before it is flushed, as on a slow disk.
_SLOW_S = 0.1


@pytest.mark.postgres
@pytest.mark.timeout(600)
async def test_disturbances_lose_nothing(make_server: ServerMaker, cluster: Cluster, say: Say) -> None:
    await asyncio.to_thread(cluster.await_healthy)
    primary = await asyncio.to_thread(cluster.primary)
    server, ledger = make_server(database_url=cluster.url), Ledger()
    await asyncio.to_thread(server.start)
    watching = Follower("all", {"session": SESSION, "from_beginning": True})
    async with connect(server.address) as client:
        await client.create_session(SESSION, never_expires=True)
        beats = [Beat(ledger, client, SESSION, f"w{number}") for number in range(_WRITERS)]
        async with background(watching.follow(server.address)):
            async with background(*(beat.run() for beat in beats)) as writing:
                pauses: dict[str, float] = {}
                for disturb in (etcd_is_gone, connections_are_lost, the_disk_is_slow):
                    began = time.monotonic()
                    await disturb(cluster)
                    await writing.until(more(beats, 4), _WITHIN)
                    pauses[disturb.__name__] = max(beat.pause(began) for beat in beats)
            last = [user("the last", event_id="last")]
            ledger.requested[SESSION].append(last)
            await append_until_acknowledged(ledger, client, SESSION, last)
            await until_received([watching], SESSION, "last")
        stored = await ledger.check(server.address)
        assert watching.check(SESSION, await logged(client, SESSION)) == stored >= ledger.acknowledged
    stayed = await asyncio.to_thread(cluster.primary) is primary
    assert set(ledger.problems) <= {"STORE_UNAVAILABLE"}, ledger.problems
    assert "unhandled" not in server.log
    said = ", ".join(f"{name}: {seconds:.2f}s" for name, seconds in pauses.items())
    say(f"postgresql: the primary {'stayed' if stayed else 'changed'}; longest pause of a writer, {said}")
    # With the short ttl of the short form, a busy machine can cost the primary its lease.
    assert stayed or not LONG, "none of it needs another primary"


async def etcd_is_gone(cluster: Cluster) -> None:
    """For longer than Patroni retries."""
    await asyncio.to_thread(cluster.kill_etcd)
    await asyncio.sleep(6)
    await asyncio.to_thread(cluster.start_etcd)
    await asyncio.to_thread(cluster.await_healthy)


async def connections_are_lost(cluster: Cluster) -> None:
    primary = await asyncio.to_thread(cluster.primary)
    for _ in range(3):
        await asyncio.to_thread(cluster.execute, primary, _TERMINATE)
        await asyncio.sleep(0.5)


async def the_disk_is_slow(cluster: Cluster) -> None:
    primary = await asyncio.to_thread(cluster.primary)
    slow = f"ALTER SYSTEM SET commit_delay = {int(_SLOW_S * 1_000_000)}", "ALTER SYSTEM SET commit_siblings = 0", _RELOAD
    await asyncio.to_thread(cluster.execute, primary, *slow)
    await asyncio.sleep(3)
    normal = "ALTER SYSTEM RESET commit_delay", "ALTER SYSTEM RESET commit_siblings", _RELOAD
    await asyncio.to_thread(cluster.execute, primary, *normal)
