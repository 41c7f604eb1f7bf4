"""What is particular to the feed in a database: windows, what is not settled yet, and what retention must leave."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import count

import asyncpg
import pytest

from tests.support.clock import NOW
from tests.support.codec import CODEC, draft
from tests.support.feed import settled
from tests.support.sessions import TENANT, append, compact, create, placed, ref
from threadkeep_server.domain.errors import SessionNotFound
from threadkeep_server.domain.feed import BEGINNING, Change, ChangeKind, FeedScope, FeedTrimmed, Position
from threadkeep_server.domain.model import Role, SessionChange, SessionRef
from threadkeep_server.store.sql.engine.base import SqlOptions
from threadkeep_server.store.sql.feed import event_queries, page_queries
from threadkeep_server.store.sql.store import SqlStore, open_store

EVER = 1 << 62


@pytest.fixture
async def store(url: str) -> AsyncIterator[SqlStore]:
    async with open_store(url, CODEC, options=SqlOptions(search_index=False)) as opened:
        yield opened


async def _read(store: SqlStore, scope: FeedScope | None, limit: int, after: Position = BEGINNING) -> tuple[list[Change], int]:
    """Every change up to the end, and in how many pages."""
    await settled(store)  # a notification is a transaction too, and may hold up later changes
    found: list[Change] = []
    pages = 0
    while True:
        page = await store.changes(after, limit, scope)
        assert page.reached > after or not page.more
        found += page.changes
        after, pages = page.reached, pages + 1
        if not page.more:
            return found, pages


SCOPES = {
    "tenant": FeedScope(TENANT),
    "user": FeedScope(TENANT, user_id="alice"),
    "app": FeedScope(TENANT, app="shop"),
    "session": FeedScope(TENANT, *ref("s3")),
    "session_of_any_user": FeedScope(TENANT, session_id="s3"),
    "labels": FeedScope(TENANT, labels=(("team", "blue"),)),
    "labels_of_a_session": FeedScope(TENANT, *ref("s3"), labels=(("team", "blue"),)),
    "nobody": FeedScope(TENANT, user_id="nobody"),
}


async def _history(store: SqlStore) -> None:
    """Sessions of two users and two tenants: some relabelled, some deleted and made again."""
    for number in range(6):
        user = ("alice", "bob")[number % 2]
        name = f"s{number}"
        await create(store, name, user=user, labels={"team": "blue"} if number % 3 else {})
        await create(store, name, user=user, tenant="other", labels={"team": "blue"})
        for _ in range(3):
            await append(store, draft("hello"), to=ref(name, user=user))
    relabelled = SessionChange(frozenset({"labels"}), NOW, labels={"team": "red"})
    await store.update_session(TENANT, ref("s1", user="bob"), relabelled)
    for _ in range(2):
        await store.delete_session(TENANT, ref("s3", user="bob"))
        await create(store, "s3", user="bob")
        await store.delete_session(TENANT, ref("s2"))
    await create(store, "s3")
    await append(store, draft("hello"), to=ref("s3"))
    await store.delete_session(TENANT, ref("s3"))
    await create(store, "s3", labels={"team": "blue"})


@pytest.mark.parametrize("name", SCOPES)
async def test_pages_hold_what_the_scope_admits(store: SqlStore, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    await _history(store)
    everything, _ = await _read(store, None, 1000)
    expected = [change for change in everything if SCOPES[name].admits(change)]
    assert bool(expected) is (name != "nobody")
    for looks, limit in ((1, 1), (3, 2), (32, 4), (1, 100)):
        monkeypatch.setattr(page_queries, "_MOST_LOOKS", looks)
        found, _ = await _read(store, SCOPES[name], limit)
        assert found == expected


@pytest.mark.parametrize(("looks", "pages"), [(1, 4), (2, 2), (32, 1)])
async def test_pages_without_matches_are_skipped_and_have_a_next_token(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch, looks: int, pages: int
) -> None:
    monkeypatch.setattr(page_queries, "_MOST_LOOKS", looks)
    await create(store)
    for _ in range(11):
        await append(store, draft("hello"))
    # One more is looked at than a page may hold.
    assert await _read(store, SCOPES["nobody"], 2) == ([], pages)


async def test_changes_end_at_the_given_limit(store: SqlStore) -> None:
    await create(store)
    upto = await settled(store)
    await append(store, draft("hello"))
    await settled(store)
    page = await store.changes(BEGINNING, 1, SCOPES["nobody"], upto)
    assert (list(page.changes), page.reached, page.more) == ([], upto, True)


async def test_changes_of_a_deleted_session_are_skipped(store: SqlStore) -> None:
    await create(store, "gone")
    for _ in range(5):
        await append(store, draft("hello"), to=ref("gone"))
    await create(store, "kept")
    await store.delete_session(TENANT, ref("gone"))
    await settled(store)
    page = await store.changes(BEGINNING, 4)
    assert [change.kind for change in page.changes] == [ChangeKind.CREATED, ChangeKind.DELETED]
    assert not page.more


async def test_events_are_read_by_their_changes_after_the_feed_was_trimmed(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_queries, "_MOST_SPANS", 2)
    for name in ("s1", "s2", "s3"):
        await create(store, name)
    for number in range(4):
        for name in ("s1", "s2", "s3"):
            await append(store, draft(f"{name}.{number}"), draft(f"{name}.{number}+"), to=ref(name))
    summary = draft("summary", role=Role.ASSISTANT, synthetic=True)
    last = (await append(store, draft("last"))).events[0].event_id
    await compact(store, [], placed(last, summary))
    changes, _ = await _read(store, None, 1000)
    reported = await store.change_events(changes, with_text=True)
    texts = [[event.text for event in events] for events in reported if events]
    names = [f"{name}.{number}" for number in range(4) for name in ("s1", "s2", "s3")]
    assert texts == [*([name, f"{name}+"] for name in names), ["last"], ["summary"]]
    assert await store.trim_feed(EVER, 1000) == len(changes)
    assert await store.change_events(changes, with_text=True) == reported
    assert await store.change_events(changes[::-2], with_text=True) == reported[::-2]
    await store.delete_session(TENANT, ref("s2"))
    left = await store.change_events(changes, with_text=True)
    assert [bool(events) for events in left] == [
        bool(events) and change.ref.session_id != "s2" for change, events in zip(changes, reported, strict=True)
    ]


async def test_any_seq_of_a_long_session_is_found(store: SqlStore) -> None:
    await create(store)
    await asyncio.gather(*(append(store, draft("a"), draft("b")) for _ in range(20)))
    await store.update_session(TENANT, ref(), SessionChange(frozenset({"labels"}), NOW, labels={"a": "b"}))
    for after_seq in range(41):
        place = await store.locate(TENANT, ref(), after_seq)
        found, _ = await _read(store, FeedScope(TENANT, *ref()), 100, place)
        first = next((change.first for change in found if change.kind is ChangeKind.APPENDED), 41)
        assert first == after_seq + 1 - after_seq % 2
        assert (found[0].kind is ChangeKind.CREATED) is (after_seq == 0)


async def test_a_bare_name_without_a_session_has_no_position(store: SqlStore) -> None:
    assert await store.locate(TENANT, ref("nothing"), 0) == await store.feed_head()
    with pytest.raises(SessionNotFound):
        await store.locate(TENANT, SessionRef("", "", "nothing"), 0)


async def _indexed(store: SqlStore) -> None:
    async with asyncio.timeout(60):
        for wait in count():
            if not (await store.info(TENANT, totals=False)).index_lag:
                return
            await asyncio.sleep(min(0.01 * wait, 0.2))


async def test_retention_leaves_what_the_text_index_needs(url: str) -> None:
    async with open_store(url, CODEC) as store:
        await create(store)
        for number in range(10):
            await append(store, draft(f"text {number}"))
        await _indexed(store)
        # All but the change that the index looks for when it is opened again.
        assert await store.trim_feed(EVER, 100) == 10
        assert await store.trim_feed(EVER, 100) == 0
        state = await store.feed_state()
        assert state.floor < state.head
        with pytest.raises(FeedTrimmed):
            await store.changes(BEGINNING, 10)
        page = await store.changes(state.floor, 10)
        assert [change.first for change in page.changes] == [10]


@pytest.mark.postgres
async def test_no_change_is_delivered_beyond_an_open_transaction(postgres_url: str) -> None:
    async with open_store(postgres_url, CODEC, options=SqlOptions(search_index=False)) as store:
        await create(store)
        head = await settled(store)
        other = await asyncpg.connect(postgres_url.replace("postgresql+asyncpg", "postgresql"))
        try:
            held = other.transaction()
            await held.start()
            await other.execute("SELECT pg_current_xact_id()")
            await append(store, draft("one"))
            page = await store.changes(head, 10)
            assert (list(page.changes), page.reached, page.more, page.unsettled) == ([], head, False, True)
            state = await store.feed_state()
            assert (state.head, state.unsettled) == (head, 1)
            assert await store.trim_feed(EVER, 10) == 1
            # A subscriber that has the event already starts after it, although it cannot be delivered to others yet.
            place = await store.locate(TENANT, ref(), 1)
            assert place > head
            page = await store.changes(place, 10, FeedScope(TENANT, *ref()))
            assert (list(page.changes), page.reached, page.more) == ([], place, False)
            await held.rollback()
        finally:
            await other.close()
        await settled(store)
        page = await store.changes(head, 10)
        assert ([change.first for change in page.changes], page.unsettled) == ([1], False)
        assert page.reached == place
