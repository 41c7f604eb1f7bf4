"""Consumer members and servers that come and go: every change is handled in order, by one member at a time.

THREADKEEP_KILLS sets how often a process is killed, stalled or stopped on each engine.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, cycle
from pathlib import Path

import pytest

from tests.support.runs.printed import Say
from tests.support.runs.thoroughness import KILLS, with_long
from tests.support.servers.server_process import ServerProcess, url_settings

from .conftest import ServerMaker
from .harness.consumer_group import NAME, Facts, Group, Writers, connect

LEASE, LONG_LEASE = "8s", "60s"
STALL = 10.0
"""Longer than the acknowledgement timeout of the members."""
# The last is for a session whose server died before it was created.
HARMLESS = {"UNAVAILABLE", "DEADLINE_EXCEEDED", "SESSION_NOT_FOUND"}
StartAll = Callable[[str], Sequence[ServerProcess]]
ROUND = ("kill", "leave", "server", "stall", "kill")


@pytest.fixture(
    params=with_long([("sqlite", 1), ("postgresql", 2)], ("postgresql", 1)), ids=lambda param: f"{param[0]}-{param[1]}"
)
def start(request: pytest.FixtureRequest, make_server: ServerMaker) -> StartAll:
    """Starts one or two servers on an empty database, with this lease."""
    engine, number = request.param
    url = None if engine == "sqlite" else str(request.getfixturevalue("durable_url"))
    return lambda lease: [make_server(consumer_lease=lease, **url_settings(url)).start() for _ in range(number)]


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Group]:
    group = Group(tmp_path)
    yield group
    group.close()


async def until_all_handled(group: Group, facts: Facts, seconds: float = 90) -> None:
    try:
        await group.until(facts.all_handled, seconds)
    except TimeoutError:
        pytest.fail(f"not handled: {facts.missing(group.look())}")
    facts.check(group.look())


async def test_members_share_the_work_and_handle_every_change_once(start: StartAll, group: Group) -> None:
    """Nothing fails here, so no change may be handled twice, although members join and leave."""
    running = start(LONG_LEASE)
    addresses = cycle(server.address for server in running)
    patient = {"ack_timeout": 60.0}  # no member seems lost because the machine is slow
    steady = [group.join(next(addresses), on_stub=n == 0, **patient) for n in range(3)]
    writers = Writers()
    async with writers.at_work([server.address for server in running]):
        await group.until(lambda invariants: invariants.handled.keys() == set(steady))
        late = group.join(next(addresses), **patient)
        await group.until(lambda invariants: late in invariants.handled)
        await group.leave(steady[1])
        before = group.look().handled.copy()
        others = {steady[0], steady[2], late}
        await group.until(lambda invariants: all(invariants.handled[each] > before[each] for each in others))
    await until_all_handled(group, await writers.facts(running[0].address))
    await group.until(lambda invariants: len(invariants.confirmed) == invariants.handled[steady[0]])
    assert group.invariants.repeats == 0
    assert group.invariants.handled[steady[1]] == group.look().handled[steady[1]], "who has left does nothing"
    assert not writers.problems


@pytest.mark.timeout(600 + 20 * KILLS)
async def test_kills_lose_reorder_or_repeat_no_confirmed_change(
    start: StartAll, group: Group, say: Say, request: pytest.FixtureRequest
) -> None:
    running = start(LEASE)
    addresses = cycle(server.address for server in running)
    kinds = cycle((False, True))

    def join() -> str:
        return group.join(next(addresses), on_stub=next(kinds), longest=0.04)

    async def kill(member: str) -> None:
        group.kill(member)
        join()

    async def leave(member: str) -> None:
        join()
        await group.leave(member)

    async def stall(member: str) -> None:
        await group.stall(member, STALL)

    async def server(_: str) -> None:
        victim = random.choice(running)
        victim.kill()
        await asyncio.to_thread(victim.start)

    faults = {"kill": kill, "leave": leave, "stall": stall, "server": server}
    writers = Writers()
    for _ in range(4):
        join()
    async with writers.at_work([each.address for each in running]):
        await group.until_handled(30)
        for fault in chosen_faults():
            await faults[fault](random.choice(group.at_work))
            await group.until_handled(30)
            await asyncio.sleep(random.uniform(0, 0.3))
    await until_all_handled(group, await writers.facts(running[0].address))
    async with connect(running[0].address) as client:
        assert not (await client.consumer(NAME).get()).parked_changes
    invariants = group.look()
    counts = f"handled={invariants.handled.total()} again={invariants.repeats} confirmed={len(invariants.confirmed)}"
    say(f"{request.node.callspec.id}: kills={KILLS} members={len(invariants.handled)} {counts}")
    assert len(invariants.confirmed) > 30
    assert KILLS < 10 or invariants.repeats, "nothing was under way when they died"
    assert set(writers.problems) <= HARMLESS, writers.problems


def chosen_faults() -> Sequence[str]:
    """Each kind in each round, in random order."""
    rounds = (random.sample(ROUND, len(ROUND)) for _ in range(-(-KILLS // len(ROUND))))
    return list(chain.from_iterable(rounds))[:KILLS]
