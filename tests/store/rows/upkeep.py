"""Maintenance: sessions about to expire, and notes that outlive a server. Also the keys of events."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.clock import NOW
from tests.support.codec import CODEC, draft
from tests.support.feed import settled
from tests.support.sessions import TENANT, append, compact, create, placed, ref, session_with
from threadkeep_server.domain.feed import ChangeKind
from threadkeep_server.domain.model import Session, SessionChange
from threadkeep_server.store.contract.store import Store


async def expired(store: Store, tenant: str | None = TENANT, limit: int = 100, skip: int = 0) -> list[str]:
    found = await store.expired_sessions(tenant, NOW, limit, skip)
    assert all(tenant in (None, owner) for owner, _ in found)
    return [session.ref.session_id for _, session in found]


async def seen(store: Store, session_id: str = "s1") -> Session:
    return await store.get_session(TENANT, ref(session_id))


class UpkeepRows:
    async def test_expired_sessions_are_returned_the_first_to_expire_first(self, store: Store) -> None:
        for name, expire_time in {"later": NOW, "first": NOW - 5, "alive": NOW + 1, "permanent": None, "same": NOW - 5}.items():
            await create(store, name, expire_time=expire_time)
        await create(store, "theirs", tenant="other", expire_time=NOW - 9)
        assert await expired(store) == ["first", "same", "later"]
        assert await expired(store, None) == ["theirs", "first", "same", "later"]
        assert await expired(store, limit=2) == ["first", "same"]
        assert await expired(store, skip=1) == ["same", "later"]
        assert await expired(store, skip=3) == []
        [first, *_] = await store.expired_sessions(TENANT, NOW, 1)
        assert first == (TENANT, await seen(store, "first"))

    async def test_a_session_unchanged_since_it_was_read_is_deleted_as_expired(self, store: Store) -> None:
        await session_with(store, draft("one"), expire_time=NOW)
        head = await settled(store)
        assert await store.delete_seen(TENANT, await seen(store), NOW) is True
        assert await expired(store) == []
        assert await store.delete_session(TENANT, ref()) is None
        await settled(store)  # an index transaction that began before the deletion may hold it up
        page = await store.changes(head, 10)
        assert [(change.kind, change.expired) for change in page.changes] == [(ChangeKind.DELETED, True)]

    @pytest.mark.parametrize("change", ["append", "extend", "never", "other", "gone", "early"])
    async def test_a_session_that_changed_since_it_was_read_is_not_deleted(self, store: Store, change: str) -> None:
        await session_with(store, draft("one"), expire_time=NOW)
        before, now = await seen(store), NOW
        if change == "append":
            await append(store, draft("two"))
        elif change in ("extend", "never"):
            expire_time = NOW + 1 if change == "extend" else None
            await store.update_session(TENANT, ref(), SessionChange(frozenset({"expiry"}), NOW, expire_time))
        elif change in ("other", "gone"):
            await store.delete_session(TENANT, ref())
            if change == "other":
                await session_with(store, draft("one"), expire_time=NOW)
        else:
            now = NOW - 1
        assert await store.delete_seen(TENANT, before, now) is False
        assert await store.delete_seen("other", before, now) is False
        if change != "gone":
            assert (await seen(store)).last_seq == (2 if change == "append" else 1)

    async def test_a_note_is_stored_and_changed_only_with_its_previous_value(self, store: Store) -> None:
        assert await store.note("place") is None
        assert await store.put_note("place", "1", "0") is False
        assert await store.put_note("place", "1", None) is True
        assert await store.put_note("place", "2", None) is False
        assert await store.put_note("place", "2", "0") is False
        assert await store.note("place") == "1"
        assert await store.put_note("place", "2 é\n", "1") is True
        assert await store.note("place") == "2 é\n"
        assert await store.note("store_id") is None  # the store's own notes are separate

    async def test_one_of_several_writers_with_the_same_expectation_wins(self, store: Store) -> None:
        for expected in (None, "x"):
            won = await asyncio.gather(*(store.put_note("turn", "x", expected) for _ in range(8)))
            assert won.count(True) == (1 if expected is None else 8)  # what stays the same is still as expected
        won = await asyncio.gather(*(store.put_note("turn", f"y{number}", "x") for number in range(8)))
        assert won.count(True) == 1
        assert await store.note("turn") == f"y{won.index(True)}"

    async def test_events_are_known_by_session_and_seq(self, store: Store) -> None:
        await session_with(store, *(draft(f"text {number}", event_id=f"e{number}") for number in range(1, 6)))
        await session_with(store, draft("other"), session_id="s2")
        await compact(store, ["e1", "e2"], placed("e3", draft("so far", event_id="sum", synthetic=True)))
        places = [(ref(), 6), (ref(), 1), (ref("s2"), 1), (ref(), 9), (ref("s3"), 1), (ref(), 5)]
        keys = await store.event_keys(TENANT, places)
        read = [
            (found.ref.session_id, found.event.seq, CODEC.text(found.event.body))
            for scope in (ref(), ref("s2"))
            for found in await store.events_by_key(TENANT, scope, keys)
        ]
        assert read == [("s1", 6, "so far"), ("s1", 1, "text 1"), ("s1", 5, "text 5"), ("s2", 1, "other")]
        assert len(set(keys)) == 4
        assert await store.event_keys("other", places) == []
        assert await store.event_keys(TENANT, []) == []
