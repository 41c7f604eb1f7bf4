"""Places in the feed: deletions and what they leave, where a session's events begin, what has been trimmed, and hints."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.store.rows.feed import relabel
from tests.support.clock import NOW
from tests.support.codec import draft
from tests.support.feed import follow, kinds, seqs_of, settled, trim
from tests.support.sessions import TENANT, append, compact, create, new_session, placed, ref, session_with
from threadkeep_server.domain.errors import AmbiguousSession, InvalidField, SessionNotFound
from threadkeep_server.domain.feed import BEGINNING, FeedScope, FeedTrimmed
from threadkeep_server.domain.model import SessionRef
from threadkeep_server.store.contract.store import Store

SESSION = FeedScope(TENANT, *ref())
BARE = SessionRef("", "", "s1")


class FeedDeletionRows:
    async def test_the_feed_has_a_deletion_in_the_place_of_all_changes(self, store: Store) -> None:
        await session_with(store, draft("a", event_id="e1"))
        await relabel(store, {"a": "1"})
        await compact(store, ["e1"], placed(None, draft("sum")))
        await session_with(store, draft("other"), session_id="s2")
        other = await follow(store, FeedScope(TENANT, *ref("s2")))
        key = (await follow(store))[0].session
        await store.delete_session(TENANT, ref())
        changes = await follow(store)
        assert kinds(changes) == "created appended deleted"
        assert changes[:2] == other
        assert (changes[2].session, changes[2].ref) == (key, ref())

    async def test_the_feed_of_a_name_continues_with_the_next_session_of_that_name(self, store: Store) -> None:
        for number in range(3):
            await session_with(store, draft(str(number)))
            if number < 2:
                await store.delete_session(TENANT, ref())
        for scope in (SESSION, FeedScope(TENANT), FeedScope(TENANT, user_id="alice")):
            changes = await follow(store, scope, limit=1)
            assert kinds(changes) == "deleted deleted created appended"
            assert len({change.session for change in changes}) == 3
        assert await seqs_of(store, changes) == [[], [], [], [1]]

    async def test_a_reader_in_the_middle_of_the_feed_gets_the_deletion_next(self, store: Store) -> None:
        await session_with(store, *(draft(str(number)) for number in range(5)))
        await settled(store)
        page = await store.changes(BEGINNING, 2, SESSION)
        assert kinds(page.changes) == "created appended"
        await store.delete_session(TENANT, ref())
        assert kinds(await follow(store, SESSION, after=page.reached)) == "deleted"

    async def test_the_feed_has_a_deletion_for_each_session_that_expired(self, store: Store) -> None:
        for number in range(4):
            await create(store, f"s{number}", expire_time=NOW + number)
        assert await store.delete_expired(TENANT, NOW + 2, 10) == 3
        changes = await follow(store)
        assert kinds(changes) == "created deleted deleted deleted"
        assert {change.ref.session_id for change in changes if change.expired} == {"s0", "s1", "s2"}


class FeedLocateRows:
    async def test_the_feed_is_entered_after_the_change_with_a_seq(self, store: Store) -> None:
        await create(store)
        await append(store, draft("1"))
        await relabel(store, {"a": "1"})
        await append(store, draft("2"), draft("3"), draft("4"))
        await append(store, draft("5"))
        await relabel(store, {"a": "2"})
        await session_with(store, draft("other"), session_id="s2")
        await settled(store)
        for seq, expected in enumerate(
            [
                "created appended updated appended appended updated",
                "updated appended appended updated",
                *["appended appended updated"] * 2,  # in the middle of a batch, which comes as a whole
                "appended updated",
                "updated",
            ]
        ):
            place = await store.locate(TENANT, ref(), seq)
            assert kinds(await follow(store, SESSION, after=place)) == expected, seq

    async def test_the_feed_is_entered_in_the_middle_of_a_sessions_first_batch(self, store: Store) -> None:
        await append(store, draft("1"), draft("2"), create=new_session())
        await settled(store)
        for seq, expected in enumerate(["created appended", "appended", ""]):
            place = await store.locate(TENANT, ref(), seq)
            assert kinds(await follow(store, SESSION, after=place)) == expected, seq

    async def test_the_feed_is_entered_by_seqs_that_compactions_gave(self, store: Store) -> None:
        await session_with(store, draft("1", event_id="e1"), draft("2", event_id="e2"))
        await compact(store, ["e1"], placed("e2", draft("3"), draft("4")))
        await compact(store, ["e2"])
        await append(store, draft("5"))
        await compact(store, (), placed(None, draft("6")))
        await settled(store)
        for seq, expected in enumerate(
            [
                [[], [1], [2], [3, 4], [], [5], [6]],
                [[2], [3, 4], [], [5], [6]],
                *[[[3, 4], [], [5], [6]]] * 2,
                [[], [5], [6]],
                [[6]],
                [],
            ]
        ):
            place = await store.locate(TENANT, ref(), seq)
            assert await seqs_of(store, await follow(store, SESSION, after=place)) == expected, seq

    async def test_the_feed_has_no_place_beyond_the_last_seq(self, store: Store) -> None:
        await session_with(store, draft("1"))
        with pytest.raises(InvalidField) as caught:
            await store.locate(TENANT, ref(), 2)
        assert caught.value.metadata["field"] == "after_seq"

    async def test_the_feed_of_a_session_that_does_not_exist_is_entered_at_its_head(self, store: Store) -> None:
        await session_with(store, draft("1"), tenant=TENANT)
        await store.delete_session(TENANT, ref())
        await create(store, tenant="other")
        head = await settled(store)
        for seq in (0, 7):
            assert await store.locate(TENANT, ref(), seq) == head
            with pytest.raises(SessionNotFound):
                await store.locate(TENANT, BARE, seq)
        await session_with(store, draft("1"))
        assert kinds(await follow(store, SESSION, after=head)) == "created appended"

    async def test_locate_starts_with_the_creation_of_the_present_session(self, store: Store) -> None:
        await session_with(store, draft("1"))
        await store.delete_session(TENANT, ref())
        await session_with(store, draft("2"))
        await settled(store)
        changes = await follow(store, SESSION, after=await store.locate(TENANT, ref(), 0))
        assert kinds(changes) == "created appended"

    async def test_the_feed_is_entered_by_a_bare_name(self, store: Store) -> None:
        await session_with(store, draft("1"), draft("2"))
        await create(store, tenant="other")
        await settled(store)
        for seq in (0, 1, 2):
            assert await store.locate(TENANT, BARE, seq) == await store.locate(TENANT, ref(), seq)
        await create(store, user="bob")
        with pytest.raises(AmbiguousSession):
            await store.locate(TENANT, BARE, 0)


class FeedTrimRows:
    async def test_the_feed_trims_changes_older_than_the_retention(self, store: Store) -> None:
        await create(store)
        for number in (1, 2, 9, 3):
            await append(store, draft("a"), now=NOW + number)
        changes = await follow(store)
        assert await trim(store, NOW) == 0
        assert await store.feed_floor() == BEGINNING
        assert await trim(store, NOW + 5, limit=1) == 1
        assert await store.feed_floor() == changes[0].position
        assert (await store.feed_state()).oldest_time == NOW + 1
        # What is younger keeps what is behind it, however old, or readers would miss it.
        assert await trim(store, NOW + 5) == 2
        assert await trim(store, NOW + 5) == 0
        floor = await store.feed_floor()
        assert floor == changes[2].position
        assert await follow(store, after=floor) == changes[3:]

    async def test_a_reader_before_the_floor_gets_feed_trimmed(self, store: Store) -> None:
        await session_with(store, *(draft(str(number)) for number in range(4)))
        changes = await follow(store)
        assert await trim(store, NOW + 1, limit=3) == 3
        floor = changes[2].position
        for after in (BEGINNING, changes[0].position, changes[1].position):
            for scope in (None, SESSION, FeedScope("nobody")):
                with pytest.raises(FeedTrimmed) as caught:
                    await store.changes(after, 10, scope)
                assert caught.value.floor == floor
        assert await follow(store, after=floor) == changes[3:]

    async def test_the_feed_trimmed_under_a_reader_never_skips(self, store: Store) -> None:
        await session_with(store, *(draft(str(number)) for number in range(4)))
        await settled(store)
        page = await store.changes(BEGINNING, 2, SESSION)
        assert await trim(store, NOW + 1, limit=2) == 2
        assert kinds((await store.changes(page.reached, 1, SESSION)).changes) == "appended"
        assert await trim(store, NOW + 1, limit=1) == 1
        with pytest.raises(FeedTrimmed) as caught:
            await store.changes(page.reached, 2, SESSION)
        assert len(await follow(store, SESSION, after=caught.value.floor)) == 2

    async def test_the_feed_continues_after_it_is_trimmed_completely(self, store: Store) -> None:
        """A store may keep the last for needs of its own."""
        await session_with(store, draft("1"))
        changes, head = await follow(store), await settled(store)
        trimmed = await trim(store, NOW + 1)
        assert trimmed in (1, 2)
        state = await store.feed_state()
        assert (state.floor, state.head) == (changes[trimmed - 1].position, head)
        assert state.oldest_time == (NOW if trimmed == 1 else None)
        await append(store, draft("2"))
        *left, change = await follow(store, after=state.floor)
        assert left == changes[trimmed:]
        assert (change.position > head, change.log_version, change.last_seq) == (True, 2, 2)

    async def test_events_can_be_read_after_their_change_was_trimmed(self, store: Store) -> None:
        await session_with(store, draft("1"))
        changes = await follow(store)
        await create(store, "younger", create_time=NOW + 9)
        assert await trim(store, NOW + 1) == 2
        assert await seqs_of(store, changes) == [[], [1]]

    async def test_the_feed_reports_the_oldest_seq_of_a_session(self, store: Store) -> None:
        await create(store)
        for texts in (["1", "2"], ["3"], ["4", "5"]):
            await append(store, *map(draft, texts))
        await create(store, "younger", create_time=NOW + 9)
        changes = await follow(store)
        await trim(store, NOW + 1, limit=3)
        for seq in (0, 1, 2):
            with pytest.raises(FeedTrimmed) as caught:
                await store.locate(TENANT, ref(), seq)
            assert (caught.value.floor, caught.value.oldest_seq) == (changes[2].position, 3)
        for seq, expected in ((3, [[4, 5]]), (4, [[4, 5]]), (5, [])):
            place = await store.locate(TENANT, ref(), seq)
            assert await seqs_of(store, await follow(store, SESSION, after=place)) == expected
        await trim(store, NOW + 1)
        with pytest.raises(FeedTrimmed) as caught:
            await store.locate(TENANT, ref(), 4)
        assert caught.value.oldest_seq == 5
        assert await follow(store, SESSION, after=await store.locate(TENANT, ref(), 5)) == []

    async def test_the_feed_has_later_events_though_the_change_of_a_seq_is_trimmed(self, store: Store) -> None:
        await session_with(store, draft("1"))
        await relabel(store, {"a": "1"})
        await append(store, draft("2"))
        await trim(store, NOW + 1, limit=2)
        place = await store.locate(TENANT, ref(), 1)
        assert kinds(await follow(store, SESSION, after=place)) == "updated appended"

    async def test_a_located_position_outlives_a_trim_of_changes_before_it(self, store: Store) -> None:
        idle = await session_with(store, session_id="idle")
        await session_with(store, draft("1"))
        between = await session_with(store, session_id="s2")
        assert await trim(store, NOW + 1, limit=3) == 3
        await append(store, draft("2"), to=between)
        await relabel(store, {"a": "1"}, now=NOW + 9)
        await settled(store)
        places = {SESSION: await store.locate(TENANT, ref(), 1), FeedScope(TENANT, *idle): await store.locate(TENANT, idle, 0)}
        assert await trim(store, NOW + 1) == 2
        assert [kinds(await follow(store, scope, after=place)) for scope, place in places.items()] == ["updated", ""]

    async def test_the_feed_of_a_session_can_be_entered_where_only_its_creation_is_trimmed(self, store: Store) -> None:
        """Nobody could name an earlier seq than 0, and its events are all there."""
        await session_with(store, draft("1"))
        await trim(store, NOW + 1, limit=1)
        place = await store.locate(TENANT, ref(), 0)
        assert await seqs_of(store, await follow(store, SESSION, after=place)) == [[1]]


CHANGING: list[Callable[[Store], Awaitable[Any]]] = [
    lambda store: create(store, "new"),
    lambda store: append(store, draft("b")),
    lambda store: append(store, draft("b"), to=ref("new"), create=new_session("new")),
    lambda store: relabel(store, {"a": "1"}),
    lambda store: compact(store, ["e1"]),
    lambda store: store.delete_session(TENANT, ref()),
    lambda store: store.delete_expired(None, NOW + 5, 10),
]
NAMES = ["create", "append", "append that creates", "update", "compact", "delete", "expire"]


class FeedHintRows:
    @pytest.mark.parametrize("change", CHANGING, ids=NAMES)
    async def test_feed_listeners_are_called_for_every_kind_of_change(
        self, store: Store, change: Callable[[Store], Awaitable[Any]]
    ) -> None:
        await session_with(store, draft("a", event_id="e1"), expire_time=NOW + 5)
        await asyncio.sleep(0.05)  # hints of the past may be late
        heard = [asyncio.Event(), asyncio.Event()]
        for each in heard:
            store.on_change(each.set)
        await change(store)
        async with asyncio.timeout(60):
            await asyncio.gather(*(each.wait() for each in heard))
