"""Consumers at work: positions that move on, attempts that are counted, and changes that were given up on."""

from __future__ import annotations

from typing import Any

import pytest

from tests.store.rows.consumers import KEY, LATER, START, balance, change, held, join, key_of, parked, standing, working
from tests.support.clock import NOW
from tests.support.sessions import ref
from threadkeep_server.domain.feed import ChangeKind, Position
from threadkeep_server.domain.model import Compaction, Counters, Session, Usage
from threadkeep_server.store.contract.consumers import LOST, Parked, Partition
from threadkeep_server.store.contract.store import Store


class ProgressRows:
    async def test_acknowledging_advances_partitions(self, store: Store) -> None:
        await working(store)
        await store.reject(KEY, "m", 1, "no")
        assert not await store.acknowledge(KEY, "m", {1: Position(3, 31), 3: Position(4, 1)})
        assert not await store.acknowledge(KEY, "m", {})
        stands = await standing(store)
        assert [stands[number].position for number in range(4)] == [START, Position(3, 31), START, Position(4, 1)]
        assert (stands[1].attempts, stands[1].reason) == (0, "")
        assert {each.owner for each in stands.values()} == {"m"}

    async def test_only_the_holder_of_a_lease_moves_a_partition(self, store: Store) -> None:
        await join(store, "m", "n")
        assert (await held(store, "m"), await held(store, "n")) == ([0, 1], [2, 3])
        ahead = {number: Position(9, 9) for number in (*range(4), 77)}
        assert set(await store.acknowledge(KEY, "m", ahead)) == {2, 3, 77}
        assert set(await store.acknowledge(KEY, "nobody", ahead)) == set(ahead)
        assert [part.position.xid for part in (await standing(store)).values()] == [9, 9, 3, 3]
        assert [await store.reject(KEY, "m", number, "no") for number in (1, 2, 77)] == [1, 0, 0]
        assert [await store.park(KEY, "m", change(each, 99), "no", NOW) for each in (2, 3)] == [False, False]
        await store.release_partitions(KEY, "m", [2, 77], lost=True, reason="no")
        stands = await standing(store)
        assert (stands[2], stands[3]) == (Partition(2, START, "n"), Partition(3, START, "n"))
        assert await parked(store) == []

    async def test_a_member_without_its_lease_advances_nothing(self, store: Store) -> None:
        await working(store)
        await join(store, "n", now=LATER)
        await balance(store, "n", now=LATER)
        assert set(await store.acknowledge(KEY, "m", {0: Position(9, 9)})) == {0}
        assert await store.reject(KEY, "m", 0, "no") == 0
        assert not await store.park(KEY, "m", change(0), "no", LATER)
        await store.release_partitions(KEY, "m", [0], lost=True)
        await store.leave(KEY, "m")
        assert (await standing(store))[0] == Partition(0, START, "n", 1, LOST)

    async def test_rejecting_counts_attempts(self, store: Store) -> None:
        await working(store)
        assert [await store.reject(KEY, "m", 2, reason) for reason in ("one", "two")] == [1, 2]
        stands = await standing(store)
        assert stands[2] == Partition(2, START, "m", 2, "two")
        assert stands[1] == Partition(1, START, "m")

    async def test_a_reason_may_be_any_text(self, store: Store) -> None:
        await working(store)
        assert await store.reject(KEY, "m", 0, "a\x00'ä🦀") == 1
        reason = (await standing(store))[0].reason
        assert (reason[0], reason[2:]) == ("a", "'ä🦀")

    @pytest.mark.parametrize("lost", [False, True])
    async def test_released_partitions_are_free(self, store: Store, lost: bool) -> None:
        await working(store)
        await store.reject(KEY, "m", 1, "no")
        await store.release_partitions(KEY, "m", [1, 2], lost=lost, reason="too slow")
        stands = await standing(store)
        reason, attempts = ("too slow", 1) if lost else ("", 0)
        assert stands[1] == Partition(1, START, "", 1 + attempts, reason or "no")
        assert stands[2] == Partition(2, START, "", attempts, reason)
        assert set(await store.acknowledge(KEY, "m", {1: Position(9, 9)})) == {1}
        await join(store, "n")
        assert await held(store, "n") == [1, 2]


class ParkingRows:
    async def test_parking_moves_the_partition_past_the_change(self, store: Store) -> None:
        await working(store)
        assert [await store.reject(KEY, "m", 1, "no") for _ in range(2)] == [1, 2]
        assert await store.park(KEY, "m", change(5), "never", NOW + 1)
        assert (await standing(store))[1] == Partition(1, Position(4, 40), "m")
        (stuck,) = await parked(store)
        assert stuck == Parked(stuck.parked_id, 1, change(5), 2, "never", NOW + 1)
        assert (await store.consumer(KEY)).parked == 1

    async def test_parked_changes_are_paged_oldest_first(self, store: Store) -> None:
        await working(store)
        for at in range(40, 47):
            await store.park(KEY, "m", change(at, at), "no", NOW)
        everything = await parked(store)
        assert [each.change.session for each in everything] == [key_of(at) for at in range(40, 47)]
        pages = [list(await store.parked(KEY, 3, 0))]
        while pages[-1]:
            pages.append(list(await store.parked(KEY, 3, pages[-1][-1].parked_id)))
        assert [len(page) for page in pages] == [3, 3, 1, 0]
        assert [each for page in pages for each in page] == everything

    async def test_a_replay_goes_to_the_holder_of_the_partition_until_it_is_finished(self, store: Store) -> None:
        await working(store)
        for session in (0, 1, 5):
            await store.park(KEY, "m", change(session, 40 + session), "no", NOW)
        zero, one, five = (each.parked_id for each in await parked(store))
        assert await store.replay_parked(KEY, [one, five, one, 10**9]) == 2
        assert [each.replaying for each in await parked(store)] == [False, True, True]
        assert [each.parked_id for each in (await balance(store, "m")).replays] == [one, five]
        await store.release_partitions(KEY, "m", [1], lost=False)
        await join(store, "n")
        share = await balance(store, "n")
        assert [(each.parked_id, each.replaying) for each in share.replays] == [(one, True), (five, True)]
        assert list((await balance(store, "m")).replays) == []
        await store.finish_replay(KEY, one, failed=None, now=NOW + 1)
        await store.finish_replay(KEY, five, failed="again", now=NOW + 2)
        await store.finish_replay(KEY, one, failed="gone", now=NOW + 3)
        assert list((await balance(store, "n")).replays) == []
        left = {each.parked_id: each for each in await parked(store)}
        assert set(left) == {zero, five}
        assert left[five] == Parked(five, 1, change(5, 45), 1, "again", NOW + 2)
        assert await store.replay_parked(KEY, None) == 2
        assert await store.replay_parked(KEY, [five]) == 1
        assert await store.replay_parked(KEY, []) == 0

    async def test_parked_changes_are_deleted_on_demand(self, store: Store) -> None:
        await working(store)
        for session in range(4):
            await store.park(KEY, "m", change(session), "no", NOW)
        first, *others = (each.parked_id for each in await parked(store))
        assert await store.delete_parked(KEY, [first, first, 10**9]) == 1
        assert await store.delete_parked(KEY, []) == 0
        assert [each.parked_id for each in await parked(store)] == others
        assert await store.delete_parked(KEY, None) == 3
        assert (await store.consumer(KEY)).parked == 0

    @pytest.mark.parametrize("whole", [1, 2, 3, 4, 5])
    async def test_a_parked_change_is_kept_whole(self, store: Store, whole: int) -> None:
        """Its session is none that the store has, as when it has been deleted."""
        session = Session(ref("s7"), "uid", NOW, NOW + 1, None, '{"a": 1}', {"x": "ä\x00"}, 3, 1, 2, Counters(1, 2, 3, 4))
        usage = Usage(1, 2, 3, 4, 5)
        record = Compaction("c", NOW, "s", "me", "b", 2, 1, 2, ("e1", "e2"), Counters(4, 3, 2, 1), Counters(1), 5, 6, usage)
        reported: dict[ChangeKind, dict[str, Any]] = {
            ChangeKind.APPENDED: {"first": 3, "last": 9, "size": 17},
            ChangeKind.DELETED: {"after": session, "expired": True, "first": 2, "last": 8},
            ChangeKind.COMPACTED: {"compaction": record, "first": 11, "last": 12},
            ChangeKind.CREATED: {"after": session},
            ChangeKind.UPDATED: {"after": session, "labels_before": {"x": "y"}},
        }
        kind = ChangeKind(whole)
        numbers = {"log_version": 7, "window_version": 6, "last_seq": 5, "window_events": 4, "window_turns": 3}
        stuck = change(7, labels={"x": "ä\x00"}, window_bytes=2, window_tokens=1, **numbers, **reported[kind])
        stuck.kind = kind
        await working(store)
        assert await store.park(KEY, "m", stuck, "no", NOW)
        assert [each.change for each in await parked(store)] == [stuck]
        assert (await standing(store))[7 % 4].position == stuck.position
