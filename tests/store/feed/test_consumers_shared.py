"""Two servers on one PostgreSQL database that work for the same consumers."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
import sqlalchemy as sa
from sqlalchemy.util import await_only

from tests.store.rows.consumers import (
    KEY,
    LATER,
    LEASE,
    START,
    balance,
    change,
    give_back,
    held,
    join,
    named,
    parked,
    standing,
    working,
)
from tests.support.clock import NOW
from tests.support.codec import CODEC
from tests.support.runs.thoroughness import size
from threadkeep_server.domain.errors import ConsumerNotFound
from threadkeep_server.domain.feed import Position
from threadkeep_server.store.contract.consumers import MOST_REPLAYS
from threadkeep_server.store.sql.consumers import consumer_queries
from threadkeep_server.store.sql.engine import postgres
from threadkeep_server.store.sql.schema.tables import consumer_partitions
from threadkeep_server.store.sql.store import SqlStore, open_store

pytestmark = pytest.mark.postgres


@pytest.fixture
async def stores(postgres_url: str) -> AsyncIterator[tuple[SqlStore, SqlStore]]:
    async with open_store(postgres_url, CODEC) as one, open_store(postgres_url, CODEC) as other:
        yield one, other


@pytest.fixture
def no_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """A deadlock raises instead of being retried."""
    monkeypatch.setattr(postgres, "_RETRYABLE", ())


Stores = tuple[SqlStore, SqlStore]


async def test_of_two_servers_that_create_a_consumer_one_does(stores: Stores) -> None:
    wanted = [(store, number) for number, store in enumerate(stores * 6)]
    joins = (store.join_consumer(named(partitions=1 + n), START, f"m{n}", NOW, LATER) for store, n in wanted)
    (made,) = set(await asyncio.gather(*joins))
    states = [await store.consumer(KEY) for store in stores]
    assert states[0] == states[1]
    assert (len(states[0].partitions), len(states[0].members)) == (made.partitions, 12)


async def test_members_of_two_servers_that_balance_at_once_share(stores: Stores) -> None:
    members = [f"m{number}" for number in range(8)]
    await join(stores[0], *members, partitions=30)
    for _ in range(4):
        turns = (held(stores[number % 2], name) for number, name in enumerate(members))
        shares = await asyncio.gather(*turns)
        taken = [number for numbers in shares for number in numbers]
        assert len(taken) == len(set(taken))
    assert sorted(taken) == list(range(30))
    assert {len(numbers) for numbers in shares} == {3, 4}


async def test_a_lost_members_partitions_are_taken_over_once(stores: Stores) -> None:
    await working(stores[0], partitions=8)
    await join(stores[0], "a", "b", now=LATER - 1)
    one, other = await asyncio.gather(*(held(store, name, now=LATER) for store, name in zip(stores, "ab", strict=True)))
    assert sorted(one + other) == list(range(8))
    assert {part.attempts for part in (await standing(stores[0])).values()} == {1}


async def test_of_a_holder_and_its_successor_one_advances_the_partition(stores: Stores) -> None:
    """Either the position moved before the partition was taken over, or it did not move."""
    for number in range(10):
        key = KEY._replace(name=f"c{number}")
        await working(stores[0], "old", key=key)
        await join(stores[1], "new", key=key, now=LATER)
        ahead = dict.fromkeys(range(4), Position(9, 9))
        refused, share = await asyncio.gather(
            stores[0].acknowledge(key, "old", ahead), balance(stores[1], "new", key=key, now=LATER)
        )
        assert {part.number for part in share.partitions if part.position == START} == set(refused)
        assert {part.position for part in share.partitions if part.number not in refused} <= {Position(9, 9)}
        assert list((await standing(stores[0], key)).values()) == list(share.partitions)


@asynccontextmanager
async def holding(store: SqlStore, locks: Callable[[sa.Connection], object]) -> AsyncIterator[None]:
    """A transaction that takes locks and keeps them for the time of the block."""
    held_up, go_on = asyncio.Event(), asyncio.Event()

    def unit(connection: sa.Connection) -> None:
        locks(connection)
        held_up.set()
        await_only(go_on.wait())

    transaction = asyncio.create_task(store._engine.write(unit))
    await held_up.wait()
    try:
        yield
    finally:
        go_on.set()
        await transaction


async def test_working_members_do_not_wait_for_balancing_ones(stores: Stores) -> None:
    one, other = stores
    await working(one)
    async with holding(other, lambda connection: consumer_queries.hold(connection, KEY)):
        async with asyncio.timeout(60):
            assert not await one.acknowledge(KEY, "m", {0: Position(9, 9)})
            assert await one.reject(KEY, "m", 1, "no") == 1
            assert await one.park(KEY, "m", change(2), "no", NOW)
            await one.release_partitions(KEY, "m", [3], lost=True)
            (stuck,) = await parked(one)
            await one.finish_replay(KEY, stuck.parked_id, failed="no", now=NOW)
        balancing = asyncio.create_task(balance(one, "m"))
        await asyncio.sleep(0.1)
        assert not balancing.done()
    assert len((await balancing).partitions) == 4


@pytest.mark.parametrize("first", ["acknowledge", "balance", "release", "leave"])
async def test_partitions_are_locked_in_their_order(stores: Stores, first: str, no_retries: None) -> None:
    """While another transaction holds one of them, locking them in another order would deadlock."""
    one, other = stores
    await working(one)
    ahead = {number: Position(9, 9) for number in (3, 1, 0, 2)}
    calls: dict[str, Callable[[], Awaitable[object]]] = {
        "acknowledge": lambda: other.acknowledge(KEY, "m", ahead),
        "balance": lambda: balance(one, "m"),
        "release": lambda: other.release_partitions(KEY, "m", [3, 2, 1, 0], lost=False),
        "leave": lambda: one.leave(KEY, "m"),
    }
    second = sa.select(consumer_partitions).where(consumer_partitions.c.number == 2).with_for_update()
    async with holding(other, lambda connection: connection.execute(second).all()):
        started = [asyncio.ensure_future(calls.pop(first)())]
        await asyncio.sleep(0.05)
        started += [asyncio.ensure_future(call()) for call in calls.values()]
        await asyncio.sleep(0.05)
    await asyncio.gather(*started)


async def test_out_of_order_acknowledgements_move_nothing_back(stores: Stores) -> None:
    await working(stores[0])
    positions = [Position(9, number) for number in range(1, 41)]
    random.Random(4).shuffle(positions)
    acks = (
        stores[number % 2].acknowledge(KEY, "m", dict.fromkeys(range(4), position)) for number, position in enumerate(positions)
    )
    assert {tuple(refused) for refused in await asyncio.gather(*acks)} == {()}
    assert {part.position for part in (await standing(stores[0])).values()} == {Position(9, 40)}


async def test_a_change_parked_repeatedly_is_parked_once(stores: Stores) -> None:
    await working(stores[0])
    assert all(await asyncio.gather(*(store.park(KEY, "m", change(2), "no", NOW) for store in stores * 4)))
    assert len(await parked(stores[0])) == 1


async def test_concurrent_members_never_deadlock(stores: Stores, no_retries: None) -> None:
    """Everything at once, again and again."""
    members = [f"m{number}" for number in range(4)]
    await join(stores[0], *members, partitions=16)

    async def member(store: SqlStore, name: str, dice: random.Random) -> None:
        for step in range(size(25, 10)):
            numbers = await held(store, name, now=NOW + step)
            ahead = {number: Position(9, step + 1) for number in dice.sample(numbers, len(numbers))}
            await asyncio.gather(
                store.acknowledge(KEY, name, ahead),
                balance(store, name, now=NOW + step),
                store.release_partitions(KEY, name, dice.sample(numbers, len(numbers) // 2), lost=False),
                *(store.park(KEY, name, change(number, 50 + step), "no", NOW) for number in numbers[:2]),
                store.replay_parked(KEY, None),
                give_back(store, name, now=NOW + step),
            )

    async with asyncio.timeout(60):
        await asyncio.gather(*(member(stores[n % 2], name, random.Random(n)) for n, name in enumerate(members)))


async def test_a_consumer_can_be_deleted_while_it_works(stores: Stores, no_retries: None) -> None:
    one, other = stores
    for number in range(8):
        key = KEY._replace(name=f"c{number}")
        await working(one, key=key)
        done = await asyncio.gather(
            *(one.park(key, "m", change(session), "no", NOW) for session in range(4)),
            one.acknowledge(key, "m", dict.fromkeys(range(4), Position(9, 9))),
            other.delete_consumer(key),
            balance(one, "m", key=key),
            one.leave(key, "n"),
            return_exceptions=True,
        )
        assert {type(each) for each in done if isinstance(each, BaseException)} <= {ConsumerNotFound}
        with pytest.raises(ConsumerNotFound):
            await one.consumer(key)


async def test_replays_are_delivered_a_hundred_at_a_time(stores: Stores) -> None:
    store = stores[0]
    await working(store, partitions=1)
    for at in range(MOST_REPLAYS + 3):
        await store.park(KEY, "m", change(1, 40 + at), "no", NOW)
    assert await store.replay_parked(KEY, None) == MOST_REPLAYS + 3
    first = [each.parked_id for each in (await balance(store, "m")).replays]
    assert len(first) == MOST_REPLAYS
    for parked_id in first:
        await store.finish_replay(KEY, parked_id, failed=None, now=NOW)
    assert len((await balance(store, "m", now=NOW + LEASE - 1)).replays) == 3
