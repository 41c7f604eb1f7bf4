"""Named consumers: who has joined, who holds which partition, how far each has come, and what was given up on."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.clock import NOW
from tests.support.sessions import TENANT, ref
from threadkeep_server.domain.errors import ConsumerMismatch, ConsumerNotFound
from threadkeep_server.domain.feed import BEGINNING, Change, ChangeKind, FeedScope, Position
from threadkeep_server.domain.model import SECOND_NS
from threadkeep_server.store.contract.consumers import LOST, Consumer, ConsumerKey, Parked, Partition, Share, partition_of
from threadkeep_server.store.contract.store import Store

KEY = ConsumerKey(TENANT, "", "indexer")
START = Position(3, 30)
LEASE = 10 * SECOND_NS
LATER = NOW + LEASE
"""When what was leased now has run out."""
OTHERS = [KEY._replace(tenant="other"), KEY._replace(owner="alice"), KEY._replace(name="tailer")]


def named(key: ConsumerKey = KEY, **fields: Any) -> Consumer:
    wanted: dict[str, Any] = {"scope": FeedScope(key.tenant), "filter": b"", "partitions": 4, "max_attempts": 5}
    return Consumer(key, **wanted | {"ack_timeout": 60 * SECOND_NS, "create_time": NOW} | fields)


async def join(store: Store, *members: str, key: ConsumerKey = KEY, now: int = NOW, **fields: Any) -> Consumer:
    for member_id in members:
        joined = await store.join_consumer(named(key, **fields), START, member_id, now, now + LEASE)
    return joined


async def balance(store: Store, member_id: str, *, key: ConsumerKey = KEY, now: int = NOW) -> Share:
    return await store.balance(key, member_id, now, now + LEASE)


async def held(store: Store, member_id: str, **options: Any) -> list[int]:
    """What the member holds after balancing."""
    return [partition.number for partition in (await balance(store, member_id, **options)).partitions]


async def working(store: Store, member_id: str = "m", *, key: ConsumerKey = KEY, **fields: Any) -> None:
    """A member that holds every partition."""
    joined = await join(store, member_id, key=key, **fields)
    assert await held(store, member_id, key=key) == list(range(joined.partitions))


async def give_back(store: Store, member_id: str, *, key: ConsumerKey = KEY, now: int = NOW) -> None:
    """Releases the surplus partitions of a member."""
    share = await balance(store, member_id, key=key, now=now)
    surplus = [partition.number for partition in share.partitions[: share.surplus]]
    await store.release_partitions(key, member_id, surplus, lost=False)


async def standing(store: Store, key: ConsumerKey = KEY) -> Mapping[int, Partition]:
    return {partition.number: partition for partition in (await store.consumer(key)).partitions}


async def parked(store: Store, key: ConsumerKey = KEY) -> list[Parked]:
    return list(await store.parked(key, 1000, 0))


_KEYS = [[key for key in range(1, 1000) if partition_of(key, 4) == number] for number in range(4)]


def key_of(session: int) -> int:
    """The store's key of a session that a consumer of four partitions has in partition session % 4."""
    return _KEYS[session % 4][session // 4]


def change(session: int, at: int = 40, **fields: Any) -> Change:
    """In a consumer of four partitions, one of partition session % 4."""
    return Change(Position(4, at), ChangeKind.APPENDED, TENANT, ref(f"s{session}"), key_of(session), NOW, **fields)


class JoiningRows:
    async def test_the_first_member_creates_the_consumer(self, store: Store) -> None:
        with pytest.raises(ConsumerNotFound):
            await store.consumer(KEY)
        scope = FeedScope(TENANT, "shop", "alice", labels=(("a", "b"), ("ä", '"')))
        wanted = named(scope=scope, filter=b"\x00\xff", partitions=3, max_attempts=7, ack_timeout=2, create_time=NOW - 1)
        assert await store.join_consumer(wanted, START, "m", NOW, LATER) == wanted
        state = await store.consumer(KEY)
        assert (state.consumer, state.parked) == (wanted, 0)
        assert list(state.partitions) == [Partition(number, START) for number in range(3)]
        assert [(each.member_id, each.join_time, list(each.partitions)) for each in state.members] == [("m", NOW, [])]

    async def test_later_members_get_the_stored_consumer(self, store: Store) -> None:
        first = await join(store, "m")
        other = named(partitions=9, max_attempts=1, ack_timeout=1, create_time=NOW + 1)
        assert await store.join_consumer(other, BEGINNING, "n", NOW, LATER) == first
        state = await store.consumer(KEY)
        assert {partition.position for partition in state.partitions} == {START}
        assert [member.member_id for member in state.members] == ["m", "n"]

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("scope", FeedScope(TENANT, "shop")),
            ("scope", FeedScope(TENANT, labels=(("a", "b"),))),
            ("filter", b"x"),
        ],
    )
    async def test_members_agree_on_scope_and_filter(self, store: Store, field: str, value: Any) -> None:
        await join(store, "m")
        with pytest.raises(ConsumerMismatch) as raised:
            await join(store, "n", **{field: value})
        assert raised.value.metadata == {"name": "indexer", "field": field}
        assert [member.member_id for member in (await store.consumer(KEY)).members] == ["m"]

    async def test_joining_again_extends_the_member(self, store: Store) -> None:
        await join(store, "m")
        await join(store, "m", now=NOW + 1)
        await join(store, "n", now=LATER)
        await balance(store, "n", now=LATER)
        (m, _) = (await store.consumer(KEY)).members
        assert (m.member_id, m.join_time) == ("m", NOW)

    @pytest.mark.parametrize("other", OTHERS)
    async def test_a_consumer_is_its_tenants_its_owners_and_its_names(self, store: Store, other: ConsumerKey) -> None:
        await working(store)
        with pytest.raises(ConsumerNotFound):
            await store.consumer(other)
        await working(store, key=other, scope=FeedScope(other.tenant, "shop"))
        before = await store.consumer(KEY)
        await store.acknowledge(other, "m", {0: Position(9, 9)})
        await store.reject(other, "m", 1, "no")
        await store.park(other, "m", change(2), "no", NOW)
        (stuck,) = await parked(store, other)
        await store.finish_replay(KEY, stuck.parked_id, failed=None, now=NOW)
        assert (await store.replay_parked(KEY, None), await store.delete_parked(KEY, [stuck.parked_id])) == (0, 0)
        assert await parked(store, other) == [stuck]
        await store.release_partitions(other, "m", [3], lost=True, reason="no")
        await store.leave(other, "m")
        assert await store.delete_consumer(other)
        assert await store.consumer(KEY) == before

    async def test_consumers_are_listed_by_name_and_owner(self, store: Store) -> None:
        names = ["b", "a", "B", "ä", "a1", "a-", "aB"]
        for name in names:
            await join(store, "m", key=KEY._replace(name=name))
        for key in OTHERS:
            await join(store, "m", key=key._replace(name="hidden") if key.name == KEY.name else key)
        in_order = sorted([*names, "tailer"])
        assert [each.key.name for each in await store.consumers(TENANT, "", 100, "")] == in_order
        assert [each.key.name for each in await store.consumers(TENANT, "", 3, in_order[1])] == in_order[2:5]
        assert list(await store.consumers(TENANT, "", 3, in_order[-1])) == []
        assert [each.key for each in await store.consumers(TENANT, "alice", 3, "")] == [ConsumerKey(TENANT, "alice", "hidden")]

    async def test_a_deleted_consumer_leaves_nothing(self, store: Store) -> None:
        await working(store)
        await store.park(KEY, "m", change(1), "no", NOW)
        assert await store.delete_consumer(KEY)
        assert not await store.delete_consumer(KEY)
        await join(store, "n", partitions=2)
        state = await store.consumer(KEY)
        assert (len(state.partitions), state.parked, [each.member_id for each in state.members]) == (2, 0, ["n"])
        assert await store.acknowledge(KEY, "m", {0: Position(9, 9)}) == {0}

    @pytest.mark.parametrize(
        ("method", "arguments"),
        [
            ("balance", ("m", NOW, LATER)),
            ("acknowledge", ("m", {})),
            ("acknowledge", ("m", {0: START})),
            ("reject", ("m", 0, "no")),
            ("park", ("m", change(0), "no", NOW)),
            ("release_partitions", ("m", [0])),
            ("leave", ("m",)),
            ("finish_replay", (1,)),
            ("consumer", ()),
            ("parked", (1, 0)),
            ("replay_parked", (None,)),
            ("delete_parked", ([1],)),
        ],
    )
    async def test_an_unknown_consumer_is_not_found(self, store: Store, method: str, arguments: tuple[Any, ...]) -> None:
        await working(store, key=OTHERS[2])
        options: dict[str, dict[str, Any]] = {
            "release_partitions": {"lost": False},
            "finish_replay": {"failed": None, "now": NOW},
        }
        with pytest.raises(ConsumerNotFound):
            await getattr(store, method)(KEY, *arguments, **options.get(method, {}))

    async def test_of_concurrent_joins_one_creates_the_consumer_and_none_is_lost(self, store: Store) -> None:
        members = [f"m{number}" for number in range(8)]
        wanted = [named(partitions=1 + number) for number in range(8)]
        joins = (store.join_consumer(each, START, name, NOW, LATER) for each, name in zip(wanted, members, strict=True))
        (made,) = set(await asyncio.gather(*joins))
        state = await store.consumer(KEY)
        assert len(state.partitions) == made.partitions
        assert {member.member_id for member in state.members} == set(members)


class BalanceRows:
    async def test_a_single_member_gets_all_partitions(self, store: Store) -> None:
        await join(store, "m")
        share = await balance(store, "m")
        assert list(share.partitions) == [Partition(number, START, "m") for number in range(4)]
        assert (share.surplus, list(share.replays)) == (0, [])
        assert await balance(store, "m", now=NOW + 1) == share
        (member,) = (await store.consumer(KEY)).members
        assert list(member.partitions) == [0, 1, 2, 3]

    @pytest.mark.parametrize(
        ("partitions", "members", "shares"),
        [(1, 3, [1, 0, 0]), (2, 3, [1, 1, 0]), (4, 3, [1, 1, 2]), (6, 3, [2, 2, 2]), (8, 3, [2, 2, 3]), (5, 1, [5])],
    )
    async def test_members_that_join_together_share_the_partitions(
        self, store: Store, partitions: int, members: int, shares: list[int]
    ) -> None:
        """Rounded up, but nobody takes what another is short of; the last of these are taken when all have enough."""
        names = [f"m{number}" for number in range(members)]
        await join(store, *names, partitions=partitions)
        taken = [await held(store, name) for name in names]
        assert [len(numbers) for numbers in taken] == shares
        for name in names:
            await balance(store, name)
        everything = [part.owner for part in (await standing(store)).values()]
        assert "" not in everything
        assert max(map(everything.count, names)) - min(map(everything.count, names)) <= 1

    async def test_a_new_member_gets_released_partitions(self, store: Store) -> None:
        await working(store)
        await join(store, "n")
        assert await held(store, "n") == []
        assert (await balance(store, "m")).surplus == 2
        await give_back(store, "m")
        assert await held(store, "n") == [0, 1]
        assert [(await balance(store, name)).surplus for name in "mn"] == [0, 0]
        await join(store, "o")
        await balance(store, "o")
        for name in "mno":
            await give_back(store, name)
        assert [await held(store, name) for name in "mno"] == [[3], [1], [0, 2]]

    async def test_one_partition_stays_with_its_member(self, store: Store) -> None:
        await working(store, partitions=1)
        await join(store, "n", "o")
        assert [len((await balance(store, name)).partitions) for name in "mno"] == [1, 0, 0]
        assert (await balance(store, "m")).surplus == 0

    async def test_partitions_beyond_a_share_are_surplus_even_if_no_member_has_fewer(self, store: Store) -> None:
        await working(store, partitions=8)
        await join(store, "n")
        await give_back(store, "m")
        await balance(store, "n")
        await join(store, "o")
        await give_back(store, "m")
        assert [len(await held(store, name)) for name in "omn"] == [2, 2, 4]
        assert [(await balance(store, name)).surplus for name in "mno"] == [0, 1, 0]

    async def test_partitions_of_a_leaving_member_go_to_the_others(self, store: Store) -> None:
        await join(store, "m", "n")
        assert (await held(store, "m"), await held(store, "n")) == ([0, 1], [2, 3])
        await store.reject(KEY, "n", 2, "no")
        await store.leave(KEY, "n")
        assert [member.member_id for member in (await store.consumer(KEY)).members] == ["m"]
        assert list((await balance(store, "m")).partitions) == [
            Partition(number, START, "m", int(number == 2), "no" if number == 2 else "") for number in range(4)
        ]
        await store.leave(KEY, "nobody")
        await store.leave(KEY, "m")
        assert [part.owner for part in (await standing(store)).values()] == [""] * 4

    async def test_a_lease_holds_until_it_runs_out(self, store: Store) -> None:
        await working(store)
        await join(store, "n", now=LATER - 1)
        assert await held(store, "n", now=LATER - 1) == []
        share = await balance(store, "n", now=LATER)
        assert list(share.partitions) == [Partition(number, START, "n", 1, LOST) for number in range(4)]
        assert [member.member_id for member in (await store.consumer(KEY)).members] == ["n"]

    async def test_a_member_that_balances_in_time_keeps_its_leases(self, store: Store) -> None:
        await working(store)
        await join(store, "n", now=LATER - 1)
        assert await held(store, "m", now=LATER - 1) == [0, 1, 2, 3]
        assert await held(store, "n", now=LATER) == []
        assert {part.attempts for part in (await standing(store)).values()} == {0}

    async def test_an_expired_member_is_listed_until_another_balances(self, store: Store) -> None:
        await working(store)
        await join(store, "n", now=LATER + 1)
        assert [each.member_id for each in (await store.consumer(KEY)).members] == ["m", "n"]

    async def test_an_expired_member_loses_its_partitions_and_starts_again(self, store: Store) -> None:
        await working(store)
        assert await held(store, "m", now=LATER) == []
        (member,) = (await store.consumer(KEY)).members
        assert (member.join_time, list(member.partitions)) == (LATER, [])
        assert list((await balance(store, "m", now=LATER)).partitions) == [
            Partition(number, START, "m", 1, LOST) for number in range(4)
        ]

    async def test_a_member_that_never_joined_is_created_by_balancing(self, store: Store) -> None:
        await join(store, "m")
        assert await held(store, "new") == []
        assert await held(store, "new") == [0, 1]

    async def test_a_lost_member_counts_an_attempt_each_time(self, store: Store) -> None:
        await working(store)
        await store.reject(KEY, "m", 3, "no")
        for number in range(1, 3):
            now = NOW + number * LEASE
            await join(store, f"m{number}", now=now)
            await balance(store, f"m{number}", now=now)
        assert [part.attempts for part in (await standing(store)).values()] == [2, 2, 2, 3]

    async def test_concurrent_balancing_gives_each_partition_to_one_member(self, store: Store) -> None:
        members = [f"m{number}" for number in range(6)]
        await join(store, *members, partitions=32)
        shares = await asyncio.gather(*(held(store, name) for name in members))
        taken = sorted(number for numbers in shares for number in numbers)
        assert len(taken) == len(set(taken))
        await asyncio.gather(*(balance(store, name) for name in members))
        assert "" not in {part.owner for part in (await standing(store)).values()}
