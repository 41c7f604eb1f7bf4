"""Changes that cannot be handled: parked with the reason after a number of attempts; other changes are not affected."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

import threadkeep
from tests.support.servers.server_process import ServerProcess, url_settings
from threadkeep import ParkedChange, errors

from .conftest import ServerMaker
from .harness.consumer_group import NAME, Group, connect
from .harness.group_journal import number_of
from .harness.group_member import KILLS, PARKS, RAISES

MEMBERS = 2
ATTEMPTS = 3
SESSIONS = 8


@pytest.fixture
def server(make_server: ServerMaker, database_url: str | None) -> ServerProcess:
    return make_server(consumer_lease="3s", **url_settings(database_url)).start()


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Group]:
    group = Group(tmp_path, max_attempts=ATTEMPTS, ack_timeout=60.0)  # no attempt fails because the machine is slow
    yield group
    group.close()


@contextlib.asynccontextmanager
async def kept_up(group: Group, address: str) -> AsyncIterator[None]:
    """Members that are restarted whenever they die."""

    async def look_after() -> None:
        while True:
            for _ in group.died():
                group.join(address)
            await asyncio.sleep(0.05)

    for _ in range(MEMBERS):
        group.join(address)
    care = asyncio.create_task(look_after())
    try:
        yield
    finally:
        care.cancel()


async def write(client: threadkeep.AsyncClient, *poisons: str) -> None:
    """Appends one event to each session, the poisonous one if the session has one, and one more."""
    for number in range(SESSIONS):
        name = f"s{number}"
        await client.append(name, threadkeep.user("before"), create_if_missing=True)
        if number < len(poisons):
            await client.append(name, threadkeep.user("poison", event_id=f"{poisons[number]}-{number}"))
        await client.append(name, threadkeep.user("after"))


def expected(poisoned: int, *, cured: bool = False) -> dict[str, set[int]]:
    """Returns the handled changes of `write` by session: 0 is the creation, 2 the poisonous one."""
    wanted = {f"s{number}": {0, 1, 2} | ({3} if number < poisoned else set()) for number in range(SESSIONS)}
    for number in range(0 if cured else poisoned):
        wanted[f"s{number}"].remove(2)
    return wanted


async def until_done(group: Group, wanted: dict[str, set[int]], seconds: float = 90) -> None:
    def handled() -> dict[str, set[int]]:
        return {name: set(done) for name, done in group.look().done.items()}

    with contextlib.suppress(TimeoutError):
        await group.until(lambda _: handled() == wanted, seconds)
    assert handled() == wanted


async def until_parked(
    group: Group, client: threadkeep.AsyncClient, number: int, *, attempts: int = 0, seconds: float = 90
) -> dict[str, ParkedChange]:
    """Waits until this number of changes is parked, none is being replayed, and all had this number of attempts. Returns them
    by the prefix of their event id."""
    parked = None
    async with asyncio.timeout(seconds):
        while parked is None or len(parked) != number or any(each.replaying or each.attempts < attempts for each in parked):
            await asyncio.sleep(0.05)
            with contextlib.suppress(errors.ConsumerNotFound):  # no member has joined yet
                parked = [each async for each in client.consumer(NAME).parked(page_size=2)]
    group.invariants.parked |= {(each.change.session.session_id, number_of(each.change)) for each in parked}
    return {each.change.batch.events[0].event_id.split("-")[0]: each for each in parked}


async def restarted(server: ServerProcess) -> None:
    server.kill()
    await asyncio.to_thread(server.start)


async def test_a_poisonous_change_is_parked_and_handled_after_a_fix(server: ServerProcess, group: Group) -> None:
    async with connect(server.address) as client:
        await write(client, RAISES, KILLS, PARKS)
        async with kept_up(group, server.address):
            parked = await until_parked(group, client, 3)
            await until_done(group, expected(3))
            assert {each: found.attempts for each, found in parked.items()} == {RAISES: ATTEMPTS, KILLS: ATTEMPTS, PARKS: 1}
            assert parked[RAISES].reason == f"PoisonError: {RAISES}-0"
            assert "member" in parked[KILLS].reason, "it was lost, or left, as the server saw it"
            assert parked[PARKS].reason == f"no use: {PARKS}-2"
            await restarted(server)
            assert await until_parked(group, client, 3) == parked
            group.cure.touch()
            assert await client.consumer(NAME).replay_parked() == 3
            await until_done(group, expected(3, cured=True))
            await until_parked(group, client, 0)
            assert (await client.consumer(NAME).get()).parked_changes == 0


async def test_a_poisonous_change_replayed_without_a_fix_is_parked_again(server: ServerProcess, group: Group) -> None:
    async with connect(server.address) as client:
        await write(client, PARKS)
        async with kept_up(group, server.address):
            (first,) = (await until_parked(group, client, 1)).values()
            assert await client.consumer(NAME).replay_parked([first.parked_id]) == 1
            (again,) = (await until_parked(group, client, 1, attempts=first.attempts + 1)).values()
            assert again.attempts == first.attempts + 1
            assert again.park_time.ToNanoseconds() > first.park_time.ToNanoseconds()
            await until_done(group, expected(1))


async def test_parked_changes_can_be_deleted(server: ServerProcess, group: Group) -> None:
    async with connect(server.address) as client:
        await write(client, PARKS, PARKS)
        async with kept_up(group, server.address):
            await until_parked(group, client, 2)
            parked = [each async for each in client.consumer(NAME).parked()]
            await restarted(server)
            assert await client.consumer(NAME).delete_parked([parked[0].parked_id]) == 1
            assert [each.parked_id async for each in client.consumer(NAME).parked()] == [parked[1].parked_id]
            assert await client.consumer(NAME).delete_parked() == 1
            await until_parked(group, client, 0)
            group.cure.touch()
            assert await client.consumer(NAME).replay_parked() == 0
            await client.append("s7", threadkeep.user("one more"))
            wanted = expected(2)
            wanted["s7"].add(3)
            await until_done(group, wanted)
