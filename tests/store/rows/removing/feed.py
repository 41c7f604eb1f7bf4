"""Removals in the feed."""

from __future__ import annotations

from tests.store.rows.compaction import named
from tests.store.rows.feed import versions
from tests.support.codec import draft, parse
from tests.support.feed import follow, kinds
from tests.support.removals import clear, erase_events, operation, pop, replace_suffix, upsert
from tests.support.sessions import TENANT, append, ref, session_with
from threadkeep_server.domain.feed import ChangeKind
from threadkeep_server.domain.model import StoredEvent
from threadkeep_server.domain.removals import Removal, RemovalKind
from threadkeep_server.store.contract.store import Store


class RemovalFeedRows:
    async def test_removals_are_changes_with_versions_and_what_they_removed(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2", "e3", "e4"))
        stood = [(await pop(store, 2)).outcome.versions]
        stood.append((await erase_events(store, "e1")).outcome.versions)
        stood.append((await upsert(store, draft("new", event_id="e2"))).outcome.versions)
        stood.append((await replace_suffix(store, ["e2"], *named("e5"), erase=True)).outcome.versions)
        stood.append((await clear(store)).outcome.versions)
        changes = [change for change in await follow(store) if change.kind is ChangeKind.REMOVED]
        assert [change.removal for change in changes] == [
            Removal(RemovalKind.POPPED, False, 2, ("e3", "e4"), (3, 4)),
            Removal(RemovalKind.ERASED, True, 1, ("e1",), (1,)),
            Removal(RemovalKind.REPLACED, False, 1, ("e2",), (2,), inserted=1),
            Removal(RemovalKind.REPLACED, True, 1, ("e2",), (5,), inserted=1),
            Removal(RemovalKind.CLEARED, False, 1, through_seq=6),
        ]
        assert [versions(change) for change in changes] == stood
        added = await store.change_events(changes, with_text=True)
        # The event that was inserted by the third change is erased by the fourth.
        assert [[event.text for event in events] for events in added] == [[], [], [""], ["e5"], []]

    async def test_appends_around_a_replacement_are_delivered_with_their_own_events(self, store: Store) -> None:
        await session_with(store, *named("e1"))
        await upsert(store, draft("new", event_id="e1"))
        await append(store, *named("e3"))
        await erase_events(store, "e3")
        changes = await follow(store)
        added = await store.change_events(changes, with_text=True)
        assert [[event.text for event in events] for events in added] == [[], ["e1"], ["new"], [""], []]
        assert parse(StoredEvent(0, added[3][0].body, False)).erased

    async def test_a_position_is_found_in_a_log_with_removals(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2"))
        await replace_suffix(store, ["e2"], *named("e3", "e4"))
        changes = await follow(store)
        assert await store.locate(TENANT, ref(), 4) == changes[-1].position
        page = await store.changes(await store.locate(TENANT, ref(), 2), 10)
        assert [change.kind for change in page.changes] == [ChangeKind.REMOVED]

    async def test_a_deleted_session_leaves_nothing_of_its_removals(self, store: Store) -> None:
        await session_with(store, *named("e1"))
        await pop(store, operation=operation())
        await store.delete_session(TENANT, ref())
        await session_with(store, *named("e1"))
        assert not (await pop(store, operation=operation())).replayed
        assert kinds(await follow(store)) == "deleted created appended removed"
