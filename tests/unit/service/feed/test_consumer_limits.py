"""What bounds members of a consumer: room, silence, retention, outages, access. In simulated time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.support.sessions import TENANT
from tests.support.simulated import clock
from tests.unit.service.feed.group import CALLER, LEASE_S, NAME, Group, filled, parked, places, seconds, simulated
from threadkeep_server.domain.errors import (
    ConsumerMismatch,
    ConsumerNotFound,
    InvalidField,
    PermissionDenied,
    QuotaExceeded,
    ResumePositionExpired,
    StoreUnavailable,
)
from threadkeep_server.domain.feed import FeedScope
from threadkeep_server.domain.filters import EventFilter
from threadkeep_server.domain.model import Caller
from threadkeep_server.feed.consumers.partition import Delivery
from threadkeep_server.feed.limits import MOST_FRAME_BYTES
from threadkeep_server.store.contract.consumers import ConsumerKey

ALICE = Caller(TENANT, "alice")
KEY = ConsumerKey(TENANT, "", NAME)


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
            reported = await member.hear()
            sizes.append(sum(each.change.size for each in reported.deliveries))
            got += reported.deliveries
            member.membership.acknowledge([each.delivery_id for each in reported.deliveries])
        assert places(got) == list(range(1, 322))
        assert max(sizes) <= MOST_FRAME_BYTES


@simulated
async def test_appends_without_matching_events_are_skipped() -> None:
    group = await filled("apple", "pear", "apple pie", "plum")
    async with group.member(wanted=EventFilter(keyword="apple"), filter=b"apple") as member:
        assert places(await member.handle(3)) == [1, 2, 4]
        await asyncio.sleep(LEASE_S)
        assert set((await group.service.get(CALLER, NAME)).lags.values()) == {0}


@simulated
async def test_an_idle_stream_has_heartbeats() -> None:
    group = await filled()
    async with group.member() as member:
        await member.handle(1)
        before = seconds()
        await member.hear()
        assert (member.beats, seconds() - before) == (1, 15.0)


@simulated
async def test_an_idle_consumer_is_not_overtaken_by_the_retention() -> None:
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
async def test_trimmed_changes_are_not_skipped_silently() -> None:
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
async def test_a_short_outage_of_the_store_is_survived() -> None:
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
async def test_a_member_with_an_expired_lease_confirms_nothing_of_the_new_holder() -> None:
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
async def test_two_streams_with_one_member_id_do_not_share_their_work() -> None:
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
async def test_lag_counts_the_changes_ahead_of_each_partition() -> None:
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
