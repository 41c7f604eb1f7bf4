"""What the feed delivers of sessions that change their owners."""

from __future__ import annotations

import pytest

from tests.store.rows.compaction import named
from tests.support.clock import NOW
from tests.support.feed import OURS, follow, kinds, seqs_of
from tests.support.moves import move
from tests.support.sessions import TENANT, append, create, ref, session_with
from threadkeep_server.domain.feed import BEGINNING, Change, FeedScope
from threadkeep_server.domain.model import SessionChange
from threadkeep_server.store.contract.consumers import Consumer, ConsumerKey
from threadkeep_server.store.contract.store import Store

ALICES, BOBS = (FeedScope(TENANT, user_id=user) for user in ("alice", "bob"))
THE_OLD, THE_NEW = (FeedScope(TENANT, "shop", user, "s1") for user in ("alice", "bob"))


async def traveled(store: Store) -> list[Change]:
    """A session that was alice's, then bob's; everything that can be read of it."""
    await session_with(store, *named("e1"), labels={"a": "1"})
    await append(store, *named("e2"))
    await move(store)
    await append(store, *named("e3"), to=ref(user="bob"))
    return await follow(store, None)


class MoveFeedRows:
    async def test_the_feed_of_all_has_each_change_under_the_name_of_then(self, store: Store) -> None:
        changes = await traveled(store)
        assert kinds(changes) == "created appended appended deleted moved appended"
        assert [change.ref.user_id for change in changes] == ["alice"] * 4 + ["bob"] * 2
        assert [change.former for change in changes] == [True] * 3 + [False] * 3
        assert [change.moved for change in changes] == [False] * 3 + [True] + [False] * 2
        assert len({change.session for change in changes}) == 1
        gone, here = changes[3:5]
        assert gone.after is not None
        assert gone.after.ref == ref()
        assert gone.labels == {"a": "1"}
        assert here.after == await _without_append(store)
        for scope in (OURS, FeedScope(TENANT, app="shop"), FeedScope(TENANT, labels=(("a", "1"),))):
            assert await follow(store, scope) == changes
            assert await follow(store, scope, limit=2) == changes
        assert await seqs_of(store, changes) == [[], [1], [2], [], [], [3]]

    async def test_a_former_owner_receives_the_departure_and_nothing_before_or_after(self, store: Store) -> None:
        changes = await traveled(store)
        for scope in (ALICES, FeedScope(TENANT, "shop", "alice"), FeedScope(TENANT, user_id="alice", labels=(("a", "1"),))):
            assert await follow(store, scope) == changes[3:4]
        assert await follow(store, THE_OLD) == changes[3:4]
        assert await follow(store, ALICES, after=changes[3].position) == []

    async def test_a_new_owner_receives_it_from_its_arrival_on(self, store: Store) -> None:
        changes = await traveled(store)
        for scope in (BOBS, FeedScope(TENANT, "shop", "bob"), FeedScope(TENANT, user_id="bob", labels=(("a", "1"),))):
            assert await follow(store, scope) == changes[4:]

    async def test_a_reader_of_the_session_alone_receives_its_whole_log(self, store: Store) -> None:
        await traveled(store)
        mine = await follow(store, THE_NEW)
        assert kinds(mine) == "created appended appended moved appended"
        assert {change.ref for change in mine} == {ref(user="bob")}
        assert {change.after.ref for change in mine if change.after is not None} == {ref(user="bob")}
        assert await seqs_of(store, mine) == [[], [1], [2], [], [3]]
        at = await store.locate(TENANT, ref(user="bob"), 1)
        assert await follow(store, THE_NEW, after=at) == mine[2:]
        assert await store.locate(TENANT, ref(user="bob"), 0) < mine[0].position

    async def test_scopes_admit_what_they_read(self, store: Store) -> None:
        """Live readers select from the feed of all."""
        changes = await traveled(store)
        for scope in (ALICES, BOBS, OURS, THE_OLD):
            assert await follow(store, scope) == [change for change in changes if scope.admits(change)]
        assert [change for change in changes if THE_NEW.admits(change)] == changes[4:]

    async def test_a_session_that_came_back_begins_with_its_last_arrival(self, store: Store) -> None:
        await traveled(store)
        await move(store, "alice", of=ref(user="bob"))
        await append(store, *named("e4"))
        changes = await follow(store)
        assert kinds(changes) == "created appended appended deleted moved appended deleted moved appended"
        assert [change.ref.user_id for change in changes] == ["alice"] * 4 + ["bob"] * 3 + ["alice"] * 2
        assert await follow(store, ALICES) == [changes[3], *changes[7:]]
        assert await follow(store, BOBS) == changes[6:7]
        for limit in (1, 2, 3, 1000):
            mine = await follow(store, THE_OLD, limit=limit)
            assert kinds(mine) == "created appended appended deleted moved appended moved appended"
            assert await follow(store, OURS, limit=limit) == changes

    async def test_a_deletion_replaces_what_was_before_it_but_not_a_departure(self, store: Store) -> None:
        changes = await traveled(store)
        await store.delete_session(TENANT, ref(user="bob"))
        left = await follow(store)
        assert kinds(left) == "deleted deleted"
        assert [(change.moved, change.ref.user_id) for change in left] == [(True, "alice"), (False, "bob")]
        assert await follow(store, ALICES) == left[:1]
        assert await follow(store, THE_NEW) == left[1:]
        assert left[0].position == changes[3].position

    async def test_a_later_session_under_the_old_name_is_another_one(self, store: Store) -> None:
        await traveled(store)
        await create(store)
        mine = await follow(store, THE_OLD)
        assert kinds(mine) == "deleted created"
        assert mine[0].session != mine[1].session
        assert await follow(store, ALICES) == mine

    async def test_labels_of_then_admit_the_departure(self, store: Store) -> None:
        changes = await traveled(store)
        change = SessionChange(frozenset({"labels"}), NOW + 10, labels={"b": "2"})
        await store.update_session(TENANT, ref(user="bob"), change)
        assert await follow(store, FeedScope(TENANT, user_id="alice", labels=(("a", "1"),))) == changes[3:4]

    @pytest.mark.parametrize("limit", [1, 2, 1000])
    async def test_readers_continue_after_any_change(self, store: Store, limit: int) -> None:
        await traveled(store)
        for scope in (ALICES, BOBS, OURS, THE_OLD, THE_NEW):
            changes = await follow(store, scope, limit=limit)
            for number, change in enumerate(changes):
                assert await follow(store, scope, after=change.position, limit=limit) == changes[number + 1 :]
        assert (await store.changes(BEGINNING, 1, ALICES)).reached > BEGINNING


async def _without_append(store: Store) -> object:
    """Returns the session as its arrival reported it."""
    (here, _) = await follow(store, BOBS)
    now = await store.get_session(TENANT, ref(user="bob"))
    assert here.after is not None
    assert (here.after.ref, here.after.uid, here.after.moved, here.after.last_seq) == (now.ref, now.uid, True, 2)
    return here.after


class MoveParkingRows:
    async def test_parked_changes_of_a_session_are_hidden_from_its_former_owner(self, store: Store) -> None:
        changes = await traveled(store)
        keys = [ConsumerKey(TENANT, "alice", "hers"), ConsumerKey(TENANT, "", "all")]
        for key, scope in zip(keys, (ALICES, OURS), strict=True):
            consumer = Consumer(key, scope, b"", 1, 3, 10, NOW)
            await store.join_consumer(consumer, BEGINNING, "m", NOW, NOW + 100)
            await store.balance(key, "m", NOW, NOW + 100)
            for change in (changes[1], changes[3]):
                assert await store.park(key, "m", change, "no", NOW)
            assert await store.replay_parked(key, None) == 2
        for key, count in zip(keys, (1, 2), strict=True):
            assert [each.change.moved for each in await store.parked(key, 10, 0)] == [False, True][-count:]
            assert len((await store.balance(key, "m", NOW, NOW + 100)).replays) == count
        await move(store, "alice", of=ref(user="bob"))
        assert len(await store.parked(keys[0], 10, 0)) == 2
