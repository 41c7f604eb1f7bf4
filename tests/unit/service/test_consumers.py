"""Members of a consumer: what they are given, and what becomes of what they do with it. In simulated time."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from recollect_server.domain.errors import (
    ConsumerMismatch,
    ConsumerNotFound,
    InvalidField,
    PermissionDenied,
    QuotaExceeded,
    ResumePositionExpired,
    ServerDraining,
    StoreUnavailable,
    WatchTooSlow,
)
from recollect_server.domain.feed import ChangeKind, FeedScope
from recollect_server.domain.filters import EventFilter
from recollect_server.domain.model import SECOND_NS, Caller
from recollect_server.feed.frames import MOST_FRAME_BYTES
from recollect_server.feed.partitions import Delivery
from recollect_server.store.consumers import LOST, ConsumerKey, Parked
from tests.support.sessions import TENANT
from tests.support.simulated import clock, simulate
from tests.unit.service.group import CALLER, LEASE_S, NAME, Group, Working

ALICE = Caller(TENANT, "alice")
KEY = ConsumerKey(TENANT, "", NAME)


def simulated(test: Callable[[], Awaitable[None]]) -> Callable[[], None]:
    """Runs the test in simulated time."""

    @functools.wraps(test)
    def run() -> None:
        async def scenario() -> None:
            await test()

        simulate(scenario())

    del run.__wrapped__  # or pytest takes it for asynchronous
    return run


def seconds() -> float:
    return asyncio.get_running_loop().time()


def kinds(deliveries: Sequence[Delivery]) -> list[ChangeKind]:
    return [each.change.kind for each in deliveries]


def places(deliveries: Sequence[Delivery]) -> list[int]:
    """Which changes of the feed they are."""
    return [each.change.position.change for each in deliveries]


async def parked(group: Group) -> list[Parked]:
    page = await group.service.parked(CALLER, NAME, 100, 1 << 20, 0, lambda _: EventFilter())
    return [each for each, _ in page.parked]


async def filled(*texts: str, **options: Any) -> Group:
    """One session with an append for each text: changes 1 (its creation), 2, 3, ..."""
    group = Group(**options)
    await group.session()
    await group.write(*texts)
    return group


@simulated
async def test_changes_come_in_order_and_once_acknowledged_never_again() -> None:
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
async def test_a_consumer_starts_with_what_comes_from_now_on_unless_it_asks_for_all() -> None:
    group = await filled("a")
    async with group.member(from_beginning=False) as member:
        await member.nothing(5)
        await group.write("b")
        assert places(await member.handle(1)) == [3]


@simulated
async def test_what_was_not_acknowledged_comes_again_with_everything_after_it() -> None:
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
async def test_a_partition_is_given_up_only_when_nothing_of_it_is_outstanding() -> None:
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
async def test_a_rejected_change_comes_again_after_pauses_that_double_with_everything_after_it() -> None:
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
        # The last attempt: it is parked, and what comes after it goes on.
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
async def test_a_replay_that_its_member_leaves_behind_is_parked_again() -> None:
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
async def test_what_its_members_keep_dying_of_is_parked_without_them() -> None:
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
        async with asyncio.timeout(5):
            while True:
                handed = (await member.hear()).deliveries
                if deadly in places(handed):
                    return True
                member.membership.acknowledge([each.delivery_id for each in handed])
    return False


@simulated
async def test_what_a_member_had_beside_what_it_died_of_is_not_parked_with_it() -> None:
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
async def test_a_crash_with_nothing_outstanding_does_not_count_against_what_comes_next() -> None:
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


@simulated
async def test_no_more_is_outstanding_than_the_member_can_take() -> None:
    group = await filled(*"abcdefgh")
    async with group.member(max_outstanding=3) as member:
        first = await member.deliveries(3)
        await member.nothing(10)
        member.membership.acknowledge([first[0].delivery_id])
        assert len(await member.deliveries(1)) == 1
        await member.nothing(10)


@simulated
async def test_more_than_fits_is_read_in_parts() -> None:
    group = await filled(*(str(number) for number in range(300)))
    await group.write(*("x" * (MOST_FRAME_BYTES // 3) for _ in range(20)), session="s1")
    async with group.member(max_outstanding=10_000, partitions=1) as member:
        sizes: list[int] = []
        got: list[Delivery] = []
        while len(got) < 321:
            told = await member.hear()
            sizes.append(sum(each.change.size for each in told.deliveries))
            got += told.deliveries
            member.membership.acknowledge([each.delivery_id for each in told.deliveries])
        assert places(got) == list(range(1, 322))
        assert max(sizes) <= MOST_FRAME_BYTES


@simulated
async def test_appends_of_which_the_filter_leaves_nothing_are_passed_over() -> None:
    group = await filled("apple", "pear", "apple pie", "plum")
    async with group.member(wanted=EventFilter(keyword="apple"), filter=b"apple") as member:
        assert places(await member.handle(3)) == [1, 2, 4]
        await asyncio.sleep(LEASE_S)
        assert set((await group.service.get(CALLER, NAME)).lags.values()) == {0}


@simulated
async def test_silence_is_broken_by_signs_of_life() -> None:
    group = await filled()
    async with group.member() as member:
        await member.handle(1)
        before = seconds()
        await member.hear()
        assert (member.beats, seconds() - before) == (1, 15.0)


@simulated
async def test_a_consumer_with_nothing_to_do_is_not_overtaken_by_the_retention() -> None:
    group = await filled("a")
    async with group.member(scope=FeedScope("", app="other")) as member:
        await asyncio.sleep(LEASE_S)
        await group.write("b")
        await asyncio.sleep(LEASE_S)
        await group.store.trim_feed(clock() + 1, 100)
        await group.session("s2", app="other")
        assert len(await member.handle(1)) == 1
    async with group.member(scope=FeedScope("", app="other")) as member:
        await group.store.trim_feed(clock() + 1, 100)
        await member.nothing(30)


@simulated
async def test_what_the_feed_has_forgotten_is_not_skipped_silently() -> None:
    group = await filled("a")
    async with group.member() as member:
        await member.deliveries(2)
    await asyncio.sleep(1)
    await group.store.trim_feed(clock() + 1, 100)
    async with group.member() as member:
        assert isinstance(await member.ended(), ResumePositionExpired)


class Outage:
    """For some time, every call of these methods fails."""

    def __init__(self, group: Group, length: float, *names: str) -> None:
        self.until = seconds() + length
        for name in names:
            setattr(group.store, name, self._failing(getattr(group.store, name)))

    def _failing(self, method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def call(*args: Any, **kwargs: Any) -> Any:
            if seconds() < self.until:
                raise StoreUnavailable("out")
            return await method(*args, **kwargs)

        return call


METHODS = ("balance", "acknowledge", "reject", "park", "changes", "change_events", "release_partitions", "leave")


@simulated
async def test_a_short_outage_of_the_store_is_sat_out() -> None:
    group = await filled("a", "b", "c")
    async with group.member() as member:
        got = await member.deliveries(4)
        Outage(group, LEASE_S / 3, *METHODS)
        member.membership.acknowledge([each.delivery_id for each in got[:2]])
        member.membership.reject(got[2].delivery_id, "no", park=True)
        await member.acknowledge(got[3])
        assert member.confirmed == {1, 2, 4}
    assert len(await parked(group)) == 1


@simulated
async def test_an_outage_that_outlasts_the_lease_ends_the_member() -> None:
    group = await filled("a")
    async with group.member() as member:
        got = await member.deliveries(2)
        Outage(group, 10 * LEASE_S, *METHODS)
        member.membership.acknowledge([each.delivery_id for each in got])
        assert isinstance(await member.ended(), StoreUnavailable)
        assert seconds() < 2 * LEASE_S
        assert not member.confirmed


@simulated
async def test_a_member_whose_lease_ran_out_confirms_nothing_that_is_anothers() -> None:
    group = await filled("a")
    async with group.member() as slow:
        got = await slow.deliveries(2)
        Outage(group, LEASE_S / 2, "balance")
        await asyncio.sleep(1)
        await group.store.leave(KEY, slow.membership.member_id)  # as if its lease had run out by another server's clock
        async with group.member() as other:
            assert places(await other.deliveries(2)) == [1, 2]
            slow.membership.acknowledge([each.delivery_id for each in got])
            await slow.nothing(10)
            assert not slow.confirmed


@simulated
async def test_two_streams_that_call_themselves_the_same_do_not_share_their_work() -> None:
    group = Group()
    for number in range(4):
        await group.session(f"s{number}")
    async with group.member(member_id="worker", partitions=4) as one, group.member(member_id="worker") as two:
        await asyncio.sleep(1)
        got = {each.partition for each in await one.handle(2)} | {each.partition for each in await two.handle(2)}
        assert len(got) == 4
        members = (await group.service.get(CALLER, NAME)).state.members
        assert [each.member_id for each in members] == ["worker", "worker"]


@simulated
async def test_deleting_a_consumer_ends_its_members() -> None:
    group = await filled("a")
    async with group.member() as member:
        await member.deliveries(2)
        assert await group.service.delete(CALLER, NAME)
        assert isinstance(await member.ended(), ConsumerNotFound)
    assert not await group.service.delete(CALLER, NAME)
    with pytest.raises(ConsumerNotFound):
        await group.service.get(CALLER, NAME)


@simulated
async def test_lag_counts_what_lies_before_each_partition() -> None:
    group = Group()
    await group.session("s1")
    await group.session("s2")
    async with group.member(partitions=2) as member:
        await member.handle(2)
    await asyncio.sleep(1)
    await group.write("a", "b", "c", session="s1")
    await group.write("d", session="s2")
    assert sorted((await group.service.get(CALLER, NAME)).lags.values()) == [1, 3]


@simulated
async def test_a_callers_consumers_are_its_own() -> None:
    group = await filled("a")
    await group.session("s9", user="bob")
    async with group.member(ALICE) as member:
        assert {each.change.ref.user_id for each in await member.handle(2)} == {"alice"}
        assert [each.key.name for each in (await group.service.list(ALICE, 10, ""))[0]] == [NAME]
        assert not (await group.service.list(CALLER, 10, ""))[0]
        for caller in (CALLER, Caller(TENANT, "bob"), Caller("other", "alice")):
            with pytest.raises(ConsumerNotFound):
                await group.service.get(caller, NAME)
            with pytest.raises(ConsumerNotFound):
                await group.service.replay_parked(caller, NAME, None)
            assert not await group.service.delete(caller, NAME)
    with pytest.raises(PermissionDenied):
        async with group.member(ALICE, scope=FeedScope("", user_id="bob")):
            pass


@simulated
async def test_joins_that_are_refused() -> None:
    group = await filled()
    differing: dict[str, Any]
    for differing in ({"scope": FeedScope("", app="other")}, {"filter": b"other"}):
        async with group.member():
            with pytest.raises(ConsumerMismatch):
                async with group.member(**differing):
                    pass


@simulated
async def test_no_more_members_than_the_quota_at_once() -> None:
    group = await filled(most_members=1)
    async with group.member():
        with pytest.raises(QuotaExceeded):
            async with group.member():
                pass
    async with group.member():
        pass


@simulated
async def test_only_what_was_delivered_can_be_settled() -> None:
    group = await filled("a")
    async with group.member() as member:
        await member.deliveries(2)
        for delivery_id in (0, -1, 3):
            with pytest.raises(InvalidField):
                member.membership.acknowledge([delivery_id])
            with pytest.raises(InvalidField):
                member.membership.reject(delivery_id, "no")
