"""Inserted events: their places, and that searches find them."""

from __future__ import annotations

import pytest

from tests.store.rows.compaction import flags, named, summary
from tests.support.candidates import caught_up
from tests.support.codec import draft, parse, texts
from tests.support.runs.thoroughness import size
from tests.support.sessions import TENANT, append, compact, create, placed, read, ref, search, session_with
from threadkeep_server.domain.errors import EventIdConflict, VersionMismatch
from threadkeep_server.domain.filters import EventFilter
from threadkeep_server.domain.scopes import UserScope
from threadkeep_server.store.contract.store import Store


class InsertionRows:
    """The places of inserted events."""

    async def test_before_the_first_at_the_end_and_into_an_empty_log(self, store: Store) -> None:
        await create(store)
        await compact(store, (), placed(None, *named("a", "b")))
        await compact(store, (), placed("a", *named("x")), placed(None, *named("c")))
        await append(store, *named("e1"))
        await compact(store, (), placed("e1", *named("y")), placed(None, *named("d")))
        assert texts(await read(store)) == ["x", "a", "b", "c", "y", "e1", "d"]

    async def test_places_of_one_compaction_keep_their_own_order(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2"))
        await compact(store, ["e1"], placed(None, *named("z")), placed("e2", *named("c", "d")), placed("e2", *named("e")))
        assert texts(await read(store)) == ["e1", "c", "d", "e", "e2", "z"]

    async def test_between_archived_events(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2", "e3"))
        await compact(store, ["e2"], placed("e3", *named("a")))
        await compact(store, ["a"], placed("e3", *named("b")))
        assert await flags(store) == "e1 (e2) (a) b e3"

    @pytest.mark.parametrize("anchor", ["e1", "e2", None])
    async def test_repeated_insertions_in_one_place(self, store: Store, anchor: str | None) -> None:
        """Each insertion halves the remaining distance, so that positions must be respaced, each time sooner."""
        count = size(3000, 400)
        await session_with(store, *named("e1", "e2"))
        names = [f"i{number}" for number in range(count)]
        for start in range(0, len(names), 10):
            await compact(store, (), *(placed(anchor, *named(name)) for name in names[start : start + 10]))
        await append(store, *named("e3"))
        index = {"e1": 0, "e2": 1, None: 2}[anchor]
        logged = ["e1", "e2"]
        assert texts(await read(store)) == [*logged[:index], *names, *logged[index:], "e3"]
        assert sorted(event.seq for event in await read(store)) == list(range(1, count + 4))

    @pytest.mark.parametrize("anchor", ["e2", None])
    async def test_each_before_the_one_before(self, store: Store, anchor: str | None) -> None:
        count = size(30, 12)
        await session_with(store, *named("e1", "e2"))
        for number in range(count):
            await compact(store, (), placed(f"i{number - 1}" if number else anchor, *named(f"i{number}")))
        inserted = [f"i{number}" for number in reversed(range(count))]
        assert texts(await read(store)) == (["e1", *inserted, "e2"] if anchor else ["e1", "e2", *inserted])

    async def test_inserted_events_are_distinguished_from_appended_ones(self, store: Store) -> None:
        """With any number of insertions in one place, a filter on seq and the last event do not confuse the two."""
        await session_with(store, *named("e1"))
        await compact(store, (), placed(None, *named("a", "b", "c")))
        await append(store, *named("e2"))
        for number in range(110):
            await compact(store, (), placed("e2", *named(*(f"i{number}-{each}" for each in range(20)))))
        events = await read(store)
        assert {event.seq for event in await read(store, EventFilter(after_seq=1000))} == set(range(1001, 2206))
        assert {event.seq for event in await read(store, EventFilter(before_seq=1000))} == set(range(1, 1000))
        for seq in range(1000, 1060, size(1, 6)):  # where insertions at the usual distance would reach the place of seq 2
            assert [event.seq for event in await read(store, EventFilter(after_seq=seq - 1, before_seq=seq + 1))] == [seq]
        last = max(events, key=lambda event: event.seq)
        await append(store, draft("next"), expected_last_event_id=parse(last).event_id)

    async def test_the_last_event_by_seq_may_be_an_inserted_one(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2"))
        await compact(store, ["e1"], placed("e2", *named("sum")))
        with pytest.raises(VersionMismatch) as caught:
            await append(store, draft("x"), expected_last_event_id="e2")
        assert caught.value.metadata["actual"] == "sum"
        await append(store, draft("x", event_id="e3"), expected_last_event_id="sum")
        await append(store, draft("y"), expected_last_event_id="e3")

    @pytest.mark.parametrize("name", ["e1", "sum"])
    async def test_an_id_with_other_content_conflicts_with_archived_and_inserted_events(self, store: Store, name: str) -> None:
        await session_with(store, *named("e1", "e2"))
        await compact(store, ["e1"], placed("e2", summary("sum")))
        with pytest.raises(EventIdConflict):
            await append(store, draft("other", event_id=name))
        assert (await append(store, summary("sum"), draft("e1", event_id="e1"))).events[0].replayed


class CompactedSearchRows:
    """`indexed` waits until the store's index, if it has one, has caught up."""

    async def indexed(self, store: Store) -> None:
        await caught_up(store)

    @pytest.mark.parametrize("wait", ["never", "before", "after", "always"])
    async def test_archived_and_inserted_events_are_found_once(self, store: Store, wait: str) -> None:
        await create(store)
        await append(store, *named("secret 1", "secret 2", "x", "secret 3"))
        if wait in ("before", "always"):
            await self.indexed(store)
        await compact(store, ["secret 1", "secret 2"], placed("x", summary("secret sum")))
        await compact(store, (), placed(None, *named("secret end")))
        if wait in ("after", "always"):
            await self.indexed(store)
        reported = ["secret 1", "secret 2", "secret sum", "secret 3", "secret end"]
        for scope in (ref(), UserScope("alice"), UserScope("alice", "shop")):
            hits = await search(store, "SECRET", scope)
            assert sorted(texts(hit.event for hit in hits)) == sorted(reported)
            assert {text for hit in hits if hit.event.archived for text in texts([hit.event])} == {"secret 1", "secret 2"}
        assert texts(hit.event for hit in await search(store, "secret")) == reported
        assert await search(store, "secret", UserScope("bob")) == []

    async def test_the_index_continues_after_compactions_and_deletions(self, store: Store) -> None:
        for _ in range(2):
            await create(store)
            await append(store, *named("needle 1", "needle 2", "needle 3"))
            for number in range(5):
                await compact(store, (), placed("needle 2", summary(f"needle sum {number}")))
                await append(store, *named(f"needle more {number}"))
            await self.indexed(store)
            assert len(await search(store, "needle", UserScope("alice"))) == 13
            await store.delete_session(TENANT, ref())
            assert await search(store, "needle", UserScope("alice")) == []
            await self.indexed(store)
            assert await search(store, "needle", UserScope("alice")) == []
