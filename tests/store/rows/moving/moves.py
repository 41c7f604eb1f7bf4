"""Changes of owners: what stays, what is found under which name, and what is refused."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from itertools import count

import pytest

from tests.store.rows.compaction import named, summary
from tests.store.rows.durable import Opener
from tests.store.rows.states.state import put
from tests.support.candidates import ask, caught_up
from tests.support.clock import NOW
from tests.support.codec import draft, parse, texts
from tests.support.feed import follow
from tests.support.forks import fork
from tests.support.memories import memory, remember
from tests.support.models.vectors import DIMENSION, EVENTS, embed_all, reported, texts_of, vector
from tests.support.moves import move, moved
from tests.support.removals import operation
from tests.support.sessions import (
    TENANT,
    append,
    compact,
    create,
    new_session,
    placed,
    read,
    ref,
    search,
    session_with,
)
from threadkeep_server.domain.errors import (
    AmbiguousSession,
    OperationConflict,
    SessionAlreadyExists,
    SessionNotFound,
)
from threadkeep_server.domain.memories import ALL_MEMORIES, MemoryScope
from threadkeep_server.domain.model import SessionRef
from threadkeep_server.domain.scopes import AppScope, UserScope
from threadkeep_server.domain.state.state import StateName, StateQuery, StateScope
from threadkeep_server.store.contract.compaction import PolicyKey, PolicyScope, StoredPolicy
from threadkeep_server.store.contract.history import AsOf
from threadkeep_server.store.contract.sessions import SessionQuery
from threadkeep_server.store.contract.store import Store

BOBS = ref(user="bob")


async def found(store: Store, text: str, user_id: str) -> list[SessionRef]:
    return [hit.ref for hit in await search(store, text, UserScope(user_id))]


async def ranked(store: Store, text: str, user_id: str) -> int:
    """Returns the number of candidates that have the word."""
    return len((await ask(store, text, UserScope(user_id))).found)


class MoveRows:
    async def test_a_moved_session_keeps_everything_but_its_owner(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2", "e3"), labels={"a": "1"}, metadata_json='{"m": 1}')
        await compact(store, ["e1"], placed("e2", summary("sum")), compaction_id="c1")
        await put(store, {"k": "1"})
        before, events = await store.get_session(TENANT, ref()), await read(store)
        then = await read(store, as_of=AsOf(log_version=2))
        after = await move(store)
        assert after == replace(before, ref=BOBS, update_time=NOW + 9, moved=True)
        assert await store.get_session(TENANT, BOBS) == after
        assert await read(store, of=BOBS) == events
        assert await read(store, of=BOBS, as_of=AsOf(log_version=2)) == then
        assert await store.get_compaction(TENANT, BOBS, "c1") is not None
        state = await store.get_state(TENANT, StateName(StateScope.SESSION, BOBS), StateQuery())
        assert (state.values, state.version) == ({"k": "1"}, 1)
        assert (await append(store, *named("e4"), to=BOBS)).last_seq == 5

    async def test_the_old_name_is_free_and_finds_nothing(self, store: Store) -> None:
        await session_with(store, *named("e1"))
        await append(store, *named("e2"))
        await move(store)
        with pytest.raises(SessionNotFound):
            await store.get_session(TENANT, ref())
        with pytest.raises(SessionNotFound):
            await append(store, *named("e3"))
        assert await read(store) == []
        with pytest.raises(SessionNotFound):
            await compact(store, ["e1"])
        assert await store.delete_session(TENANT, ref()) is None
        other = await append(store, *named("x"), create=new_session())
        assert (other.last_seq, other.session_created) == (1, True)
        assert texts(await read(store)) == ["x"]
        assert texts(await read(store, of=BOBS)) == ["e1", "e2"]

    async def test_lists_have_it_under_its_new_owner(self, store: Store) -> None:
        await session_with(store)
        await create(store, "s2")
        await move(store)
        for user_id, ids in (("alice", ["s2"]), ("bob", ["s1"])):
            page = await store.list_sessions(TENANT, SessionQuery(user_id=user_id))
            assert [each.ref.session_id for each in page.sessions] == ids

    async def test_searches_find_it_for_the_new_owner_only_at_once_and_once_indexed(self, store: Store) -> None:
        await session_with(store, *named("apple", "pear"))
        await create(store, "s2")
        await append(store, *named("apple"), to=ref("s2"))
        await caught_up(store)
        await move(store)
        for _ in range(2):
            assert await found(store, "apple", "alice") == [ref("s2")]
            assert await found(store, "apple", "bob") == [BOBS]
            assert await found(store, "pear", "alice") == []
            assert (await ranked(store, "apple", "alice"), await ranked(store, "apple", "bob")) == (1, 1)
            assert len(await search(store, "apple", AppScope("shop"))) == 2
            await caught_up(store)
        await move(store, "alice", of=BOBS)
        for _ in range(2):
            assert len(await found(store, "apple", "alice")) == 2
            assert (await ranked(store, "pear", "alice"), await ranked(store, "pear", "bob")) == (1, 0)
            await caught_up(store)

    async def test_its_policy_goes_with_it(self, store: Store) -> None:
        await create(store)
        old, new = (PolicyKey(TENANT, PolicyScope.SESSION, *name) for name in (ref(), BOBS))
        await store.put_policy(StoredPolicy(old, b"body", NOW))
        await move(store)
        assert {each.key: each.body for each in await store.policies(NOW)} == {old: None, new: b"body"}

    async def test_memories_stay_with_the_former_owner(self, store: Store) -> None:
        await session_with(store, *named("e1"))
        await remember(store, memory("likes tea", session_id="s1"), scope=MemoryScope("shop", "alice"))
        await move(store)
        alices = await store.list_memories(TENANT, MemoryScope("shop", "alice"), ALL_MEMORIES, 10, None)
        bobs = await store.list_memories(TENANT, MemoryScope("shop", "bob"), ALL_MEMORIES, 10, None)
        assert (len(alices.memories), len(bobs.memories)) == (1, 0)

    async def test_a_lease_does_not_outlive_the_move(self, store: Store) -> None:
        await create(store)
        assert await store.lease(TENANT, ref(), "one", NOW, NOW + 100)
        await move(store)
        assert await store.lease(TENANT, BOBS, "two", NOW, NOW + 100)

    async def test_a_fork_that_moves_has_its_parent_by_uid(self, store: Store) -> None:
        await session_with(store, *named("e1"))
        made = await fork(store)
        after = await move(store, of=ref("f"))
        assert (after.parent, after.moved) == (made.parent, True)
        assert texts(await read(store, of=ref("f", user="bob"))) == ["e1"]
        await move(store)
        assert texts(await read(store, of=BOBS)) == ["e1"]

    async def test_appends_at_the_same_time_are_before_it_or_find_nothing(self, store: Store) -> None:
        await session_with(store, *named("e0"))
        appends = [append(store, draft(f"m{number}", event_id=f"m{number}")) for number in range(40)]
        outcomes = await asyncio.gather(*appends[:20], move(store), *appends[20:], return_exceptions=True)
        done = [each for each in outcomes if not isinstance(each, BaseException)]
        assert {type(each) for each in outcomes if isinstance(each, BaseException)} <= {SessionNotFound}
        assert len(await read(store, of=BOBS)) == len(done)  # the first event, and not the move
        assert await read(store) == []


class MovedVectorRows:
    async def test_embeddings_are_those_of_the_new_owner_once_indexed(self, store: Store) -> None:
        number = await store.vector_model("small", DIMENSION)
        await session_with(store, draft("one"), draft("two"))
        await session_with(store, draft("three"), user="bob", session_id="s2")
        await embed_all(store, number)
        texts_of_all = ("one", "two", "three")
        before = await reported(store, UserScope("bob"))
        await move(store)
        assert texts_of(await reported(store, UserScope("alice")), texts_of_all) == []
        await caught_up(store)
        found = await reported(store, UserScope("bob"))
        assert texts_of(found, texts_of_all) == ["one", "two", "three"]
        assert found.arrivals == before.arrivals + 1
        assert texts_of(await reported(store, BOBS), texts_of_all) == ["one", "two"]
        assert texts_of(await reported(store, UserScope("alice")), texts_of_all) == []
        assert await embed_all(store, number) == []
        near = await store.nearest(EVENTS, TENANT, UserScope("bob"), number, vector("two"), 1)
        assert near is None or [key for key, _ in near] == [int(found.keys[1])]


class MoveRefusalRows:
    async def test_a_move_needs_a_session_and_an_unused_name(self, store: Store) -> None:
        with pytest.raises(SessionNotFound):
            await move(store)
        await session_with(store, *named("e1"))
        await session_with(store, *named("other"), user="bob")
        with pytest.raises(SessionAlreadyExists):
            await move(store)
        assert texts(await read(store)) == ["e1"]
        assert texts(await read(store, of=BOBS)) == ["other"]

    async def test_a_move_to_its_owner_changes_nothing(self, store: Store) -> None:
        before = await create(store)
        head = await store.feed_head()
        assert await move(store, "alice") == before
        assert await store.feed_head() == head

    async def test_a_bare_name_is_looked_up(self, store: Store) -> None:
        await create(store)
        bare = SessionRef("", "", "s1")
        assert (await move(store, of=bare)).ref == BOBS
        await create(store)
        with pytest.raises(AmbiguousSession):
            await move(store, "carol", of=bare)

    async def test_a_repeated_move_returns_the_session_and_changes_nothing(self, store: Store) -> None:
        await session_with(store, *named("e1"))
        after = await move(store, operation=operation("m"))
        await create(store)  # under the old name
        again = await moved(store, operation=operation("m"))
        assert (again.session, again.replayed) == (after, True)
        with pytest.raises(OperationConflict):
            await move(store, operation=operation("m", b"other"))
        await store.delete_session(TENANT, ref())
        back = await move(store, "alice", of=BOBS)
        again = await moved(store, operation=operation("m"))
        assert (again.session, again.replayed) == (back, True)

    async def test_a_known_operation_under_the_old_name_is_a_replay_or_a_conflict(self, store: Store) -> None:
        await session_with(store, *named("e1"))
        await session_with(store, *named("other"), session_id="s2")
        await move(store, operation=operation("m"))
        for user, fingerprint in (("carol", b"to carol"), ("bob", b"other"), ("alice", b"back")):
            with pytest.raises(OperationConflict):
                await move(store, user, operation=operation("m", fingerprint))
        after = await move(store, "carol", of=BOBS)
        again = await moved(store, operation=operation("m"))
        assert (again.session, again.replayed) == (after, True), "it has a third owner by now"
        for of, user, name in ((ref(), "dave", "unknown"), (ref(user="eve"), "dave", "m"), (ref("s3"), "dave", "m")):
            with pytest.raises(SessionNotFound):
                await move(store, user, of=of, operation=operation(name, b"to dave"))
        assert await move(store, "dave", of=ref("s2"), operation=operation("m", b"to dave")), "each session has ids of its own"

    async def test_a_deleted_session_knows_no_operation_under_its_old_name(self, store: Store) -> None:
        await create(store)
        await move(store, operation=operation("m"))
        await store.delete_session(TENANT, BOBS)
        for fingerprint in (b"f", b"to carol"):
            with pytest.raises(SessionNotFound):
                await move(store, "carol", operation=operation("m", fingerprint))

    async def test_a_session_with_the_old_name_has_operation_ids_of_its_own(self, store: Store) -> None:
        await create(store)
        await move(store, operation=operation("m"))
        await create(store)
        done = await moved(store, "carol", operation=operation("m", b"to carol"))
        assert (done.session.ref, done.replayed) == (ref(user="carol"), False)

    async def test_moves_at_the_same_time_agree(self, store: Store) -> None:
        await create(store)
        users = [f"u{number}" for number in range(8)]
        outcomes = await asyncio.gather(*(move(store, user) for user in users), return_exceptions=True)
        done = [each for each in outcomes if not isinstance(each, BaseException)]
        assert [type(each) for each in outcomes if isinstance(each, BaseException)] == [SessionNotFound] * 7
        page = await store.list_sessions(TENANT, SessionQuery())
        assert list(page.sessions) == done


class SharedMoveRows:
    """`open_again` opens the database while it is open."""

    async def test_servers_that_know_the_old_name_write_nothing_under_it(self, open_again: Opener) -> None:
        async with open_again() as one, open_again() as other:
            await create(one)
            for number in range(3):  # both know the row, and each has appended last
                for store in (one, other):
                    await append(store, draft(f"{number}"))
            await append(other, *named("last"))
            await move(one)
            for store in (one, other):
                with pytest.raises(SessionNotFound):
                    await append(store, *named("late"))
            assert len(await read(other, of=BOBS)) == 7
            assert (await append(other, *named("bobs"), to=BOBS)).last_seq == 8
            assert (await append(one, *named("bobs too"), to=BOBS)).last_seq == 9
            for store in (one, other):  # now they know it under both names
                with pytest.raises(SessionNotFound):
                    await append(store, *named("late"))
            await append(other, *named("alices"), create=new_session())
            assert texts(await read(one)) == ["alices"]
            await append(one, *named("alices too"))
            await append(one, *named("bobs three"), to=BOBS)
            assert (len(await read(other)), len(await read(other, of=BOBS))) == (2, 10)

    async def test_a_session_that_comes_back_is_written_by_every_server(self, open_again: Opener) -> None:
        async with open_again() as one, open_again() as other:
            await create(one)
            await append(one, *named("a"))
            await append(other, *named("b"))
            await move(one)
            await append(other, *named("c"), to=BOBS)
            await move(other, "alice", of=BOBS)
            for store in (one, other):
                with pytest.raises(SessionNotFound):
                    await append(store, *named("late"), to=BOBS)
            assert [(await append(store, *named(name))).last_seq for store, name in ((one, "d"), (other, "e"))] == [4, 5]

    async def test_appends_of_two_servers_during_moves_are_never_lost(self, open_again: Opener) -> None:
        async with open_again() as one, open_again() as other:
            await create(one)
            stop, sent = asyncio.Event(), list[str]()

            async def write(store: Store, name: str) -> None:
                for number in count():
                    if stop.is_set():
                        return
                    for user in ("alice", "bob"):
                        with contextlib.suppress(SessionNotFound):
                            event = f"{name}-{number}-{user}"
                            await append(store, draft(user, event_id=event), to=ref(user=user))
                            sent.append(event)

            writers = [asyncio.create_task(write(store, name)) for store, name in ((one, "one"), (other, "other"))]
            for number in range(10):
                await asyncio.sleep(0.01)
                from_to = ("alice", "bob") if number % 2 == 0 else ("bob", "alice")
                await move((one, other)[number % 3 % 2], from_to[1], of=ref(user=from_to[0]))
            stop.set()
            await asyncio.gather(*writers)
            stored = [parse(event) for event in await read(one)]
            assert sorted(event.event_id for event in stored) == sorted(sent)
            assert sent
            owners = {change.log_version: change.ref.user_id for change in await follow(one) if change.first}
            # Each was written under the name that the session had then.
            assert [owners[number] for number, _ in enumerate(stored, 1)] == [event.message.parts[0].text for event in stored]
