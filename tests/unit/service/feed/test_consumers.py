"""Members of a consumer: what they are given, and what becomes of what they do with it. In simulated time."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from tests.support.sessions import TENANT
from tests.unit.service.feed.group import (
    CALLER,
    LEASE_S,
    NAME,
    Group,
    Working,
    filled,
    kinds,
    parked,
    places,
    seconds,
    simulated,
)
from threadkeep_server.domain.errors import (
    ServerDraining,
    WatchTooSlow,
)
from threadkeep_server.domain.feed import ChangeKind
from threadkeep_server.domain.model import SECOND_NS, Caller
from threadkeep_server.store.contract.consumers import LOST, ConsumerKey

ALICE = Caller(TENANT, "alice")
KEY = ConsumerKey(TENANT, "", NAME)


@simulated
async def test_changes_are_delivered_in_order_and_never_after_acknowledgement() -> None:
    group = await filled("a", "b")
    async with group.member() as member:
        got = await member.handle(3)
        assert kinds(got) == [ChangeKind.CREATED, ChangeKind.APPENDED, ChangeKind.APPENDED]
        assert [each.delivery_id for each in got] == [1, 2, 3]
        assert {each.attempt for each in got} == {1}
        await group.write("c")
        assert places(await member.handle(1)) == [4]
    async with group.member() as member:
        await member.nothing(30)
        await group.write("d")
        assert places(await member.handle(1)) == [5]


@simulated
async def test_a_consumer_starts_with_new_changes_unless_all_are_requested() -> None:
    group = await filled("a")
    async with group.member(from_beginning=False) as member:
        await member.nothing(5)
        await group.write("b")
        assert places(await member.handle(1)) == [3]


@simulated
async def test_unacknowledged_changes_are_redelivered_with_all_later_ones() -> None:
    group = await filled("a", "b")
    async with group.member() as member:
        first = await member.deliveries(3)
        member.membership.acknowledge([first[0].delivery_id, first[2].delivery_id])
        member.membership.leave()
        assert await member.ended() is None
        assert member.confirmed == {1}, "a later acknowledgement waits for the earlier ones"
    async with group.member() as member:
        again = await member.handle(2)
        assert [(each.change.position.change, each.attempt) for each in again] == [(2, 2), (3, 1)]


@simulated
async def test_two_members_share_the_sessions_within_a_few_ticks() -> None:
    group = Group()
    for number in range(8):
        await group.session(f"s{number}")
    async with group.member(partitions=8) as one:
        assert len(await one.handle(8)) == 8
        async with group.member(partitions=8) as two:
            await asyncio.sleep(2 * LEASE_S)
            for number in range(8):
                await group.write("x", session=f"s{number}")
            mine, others = await one.handle(4), await two.handle(4)
            assert not {each.partition for each in mine} & {each.partition for each in others}
        # And back, when the other is gone.
        await asyncio.sleep(LEASE_S)
        for number in range(8):
            await group.write("y", session=f"s{number}")
        assert len(await one.handle(8)) == 8


@simulated
async def test_a_partition_is_released_only_without_outstanding_deliveries() -> None:
    group = Group()
    for number in range(4):
        await group.session(f"s{number}")
    async with group.member(partitions=4) as one:
        held = await one.deliveries(4)
        async with group.member(partitions=4) as two:
            await two.nothing(20)
            one.membership.acknowledge([each.delivery_id for each in held])
            await asyncio.sleep(LEASE_S)
            for number in range(4):
                await group.write("x", session=f"s{number}")
            assert len(await two.handle(2)) == 2


@simulated
async def test_a_rejected_change_is_redelivered_with_all_later_ones_after_doubling_pauses() -> None:
    group = await filled("poison", "after")
    async with group.member(max_attempts=4) as member:
        created, poison, after = await member.deliveries(3)
        await member.acknowledge(created)
        pauses = []
        for attempt in (1, 2, 3):
            assert (poison.attempt, poison.change.position.change) == (attempt, 2)
            rejected_at = seconds()
            member.membership.reject(poison.delivery_id, f"no {attempt}")
            member.membership.acknowledge([after.delivery_id])  # void: it comes again
            poison, after = await member.deliveries(2)
            pauses.append(round(seconds() - rejected_at))
        assert pauses == [1, 2, 4]
        assert member.confirmed == {1}
        # The last attempt: the change is parked, and the ones after it continue.
        member.membership.reject(poison.delivery_id, "no 4")
        await member.acknowledge(after)
        await member.nothing(60)
    [each] = await parked(group)
    assert (each.change.position.change, each.attempts, each.reason, each.replaying) == (2, 4, "no 4", False)


@simulated
async def test_a_rejection_counts_when_everything_before_it_is_acknowledged() -> None:
    group = await filled("a", "b", "c")
    async with group.member() as member:
        deliveries = await member.deliveries(4)
        member.membership.reject(deliveries[2].delivery_id, "no")
        await member.nothing(10)
        await member.acknowledge(*deliveries[:2])
        again = await member.handle(2)
        assert [(each.change.position.change, each.attempt) for each in again] == [(3, 2), (4, 1)]
    assert not await parked(group)


@simulated
async def test_parking_at_once() -> None:
    group = await filled("a", "b")
    async with group.member() as member:
        created, a, b = await member.deliveries(3)
        member.membership.reject(a.delivery_id, "cannot be", park=True)
        member.membership.acknowledge([created.delivery_id])
        await member.acknowledge(b)
        assert member.confirmed == {1, 3}
    assert [(each.attempts, each.reason) for each in await parked(group)] == [(1, "cannot be")]
    async with group.member() as member:
        await member.nothing(30)


@simulated
async def test_replaying_what_was_parked() -> None:
    group = await filled("a")
    async with group.member() as member:
        created, a = await member.deliveries(2)
        await member.acknowledge(created)
        member.membership.reject(a.delivery_id, "no", park=True)
        await asyncio.sleep(1)
        [each] = await parked(group)
        for attempt, ending in ((2, "still no"), (3, "")):
            assert await group.service.replay_parked(CALLER, NAME, [each.parked_id, 4711]) == 1
            [replay] = await member.deliveries(1)
            assert (replay.parked_id, replay.attempt, replay.change.position.change) == (each.parked_id, attempt, 2)
            assert [event.seq for event in replay.events] == [1]
            if ending:
                member.membership.reject(replay.delivery_id, ending)
                await asyncio.sleep(1)
                [again] = await parked(group)
                assert (again.attempts, again.reason, again.replaying) == (2, ending, False)
            else:
                await member.acknowledge(replay)
        assert not await parked(group)
        await member.nothing(30)


@simulated
async def test_a_replay_abandoned_by_its_member_is_parked_again() -> None:
    group = await filled("a")
    async with group.member() as member:
        created, a = await member.deliveries(2)
        await member.acknowledge(created)
        member.membership.reject(a.delivery_id, "no", park=True)
        await asyncio.sleep(1)
        await group.service.replay_parked(CALLER, NAME, None)
        await member.deliveries(1)
    await asyncio.sleep(1)
    assert [(each.attempts, each.reason, each.replaying) for each in await parked(group)] == [
        (2, "its member left or died", False)
    ]


@simulated
async def test_a_member_that_stalls_loses_its_work() -> None:
    group = await filled("a")
    async with group.member(ack_timeout=5 * SECOND_NS) as stalled:
        await stalled.deliveries(2)
        async with group.member() as other:
            got = await other.handle(2)
            assert 5 <= seconds() < 5 + LEASE_S
            assert [each.attempt for each in got] == [2, 1]
            assert isinstance(await stalled.ended(), WatchTooSlow)
    state = (await group.service.get(CALLER, NAME)).state
    assert {each.attempts for each in state.partitions} == {0}


@simulated
async def test_a_change_that_kills_its_members_is_parked() -> None:
    group = await filled("deadly", "harmless")
    async with group.member(max_attempts=3) as member:
        await member.acknowledge((await member.deliveries(3))[0])
        for attempt in (2, 3):
            group.crash()
            await asyncio.sleep(LEASE_S + 1)
            async with group.member() as next_one:
                (deadly,) = await next_one.deliveries(1)
                assert (deadly.attempt, deadly.change.position.change) == (attempt, 2)
                group.crash()
        await asyncio.sleep(LEASE_S + 1)
        async with group.member() as survivor:
            assert places(await survivor.handle(1)) == [3]
    assert [(each.change.position.change, each.attempts, each.reason) for each in await parked(group)] == [(2, 3, LOST)]


async def dies_of(deadly: int, member: Working) -> bool:
    """Works until it is handed this change; or, for a while, until there is nothing to do."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(60):
            while True:
                handed = (await member.hear()).deliveries
                if deadly in places(handed):
                    return True
                member.membership.acknowledge([each.delivery_id for each in handed])
    return False


@simulated
async def test_other_deliveries_of_a_crashed_member_are_not_parked() -> None:
    group = Group()
    for number in range(8):
        await group.session(f"s{number}")
    deaths = []
    for _ in range(5):
        async with group.member(max_attempts=3) as member:
            deaths.append(await dies_of(5, member))
    assert deaths == [True, True, True, False, False]
    assert [each.change.position.change for each in await parked(group)] == [5]


@simulated
async def test_a_crash_without_outstanding_deliveries_counts_no_attempt() -> None:
    group = await filled()
    async with group.member(max_attempts=2) as member:
        await member.handle(1)
        for _ in range(3):
            group.crash()
            await asyncio.sleep(LEASE_S + 1)
            async with group.member():
                await asyncio.sleep(1)
                group.crash()
        await asyncio.sleep(LEASE_S + 1)
        async with group.member() as last:
            await asyncio.sleep(1)
            await group.write("a")
            assert [each.attempt for each in await last.handle(1)] == [1]


@simulated
async def test_draining_settles_what_is_acknowledged_and_ends_the_streams() -> None:
    group = await filled("a")
    async with group.member() as member:
        got = await member.deliveries(2)
        member.membership.acknowledge([got[0].delivery_id])
        group.service.drain()
        assert isinstance(await member.ended(), ServerDraining)
        assert member.confirmed == {1}
        with pytest.raises(ServerDraining):
            async with group.member():
                pass
        await group.service.close()
    group.service = group.server()
    assert (await group.service.get(CALLER, NAME)).state.members == []
    async with group.member() as member:
        again = await member.handle(1)
        assert places(again) == [2]
        assert again[0].attempt == 1  # it was the server that left, not the member
