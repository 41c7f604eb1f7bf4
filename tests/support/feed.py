"""Reads the feed of any store to its end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from tests.support.sessions import TENANT
from threadkeep_server.domain.feed import BEGINNING, Change, ChangeKind, ChangePage, FeedEvent, FeedScope, Position
from threadkeep_server.store.contract.store import Store

OURS = FeedScope(TENANT)
KINDS = {
    ChangeKind.CREATED: "created",
    ChangeKind.UPDATED: "updated",
    ChangeKind.APPENDED: "appended",
    ChangeKind.COMPACTED: "compacted",
    ChangeKind.REMOVED: "removed",
    ChangeKind.DELETED: "deleted",
    ChangeKind.STATE: "state",
    ChangeKind.COPIED: "copied",
    ChangeKind.MOVED: "moved",
}


async def settled(store: Store) -> Position:
    """Returns the head once all committed changes are settled: transactions of other servers may delay it."""
    deadline = time.monotonic() + 60
    while (await store.feed_state()).unsettled:
        assert time.monotonic() < deadline, "the feed does not settle"
        await asyncio.sleep(0.005)
    return await store.feed_head()


async def pages(
    store: Store,
    scope: FeedScope | None = OURS,
    *,
    after: Position = BEGINNING,
    upto: Position | None = None,
    limit: int = 1000,
) -> list[ChangePage]:
    """Returns the pages up to `upto` or the end."""
    end = await settled(store) if upto is None else upto
    found = []
    while True:
        page = await store.changes(after, limit, scope, upto)
        assert len(page.changes) <= limit
        assert page.reached >= max([after, *(change.position for change in page.changes)])
        found.append(page)
        if page.reached >= end or not page.more:
            return found
        assert page.reached > after, "a page with more to come gets on"
        after = page.reached


async def follow(
    store: Store,
    scope: FeedScope | None = OURS,
    *,
    after: Position = BEGINNING,
    upto: Position | None = None,
    limit: int = 1000,
) -> list[Change]:
    """Returns the changes from one position to another, or to the end."""
    read = await pages(store, scope, after=after, upto=upto, limit=limit)
    return [change for page in read for change in page.changes]


def kinds(changes: Sequence[Change]) -> str:
    return " ".join(KINDS[change.kind] for change in changes)


async def events_of(store: Store, change: Change, *, with_text: bool = True) -> Sequence[FeedEvent]:
    (events,) = await store.change_events([change], with_text=with_text)
    return events


async def seqs_of(store: Store, changes: Sequence[Change]) -> list[list[int]]:
    """Returns the seqs of the events of each change."""
    return [[event.seq for event in events] for events in await store.change_events(changes, with_text=False)]


async def trim(store: Store, before: int, limit: int = 1000) -> int:
    """Trims after the store itself no longer needs the changes."""
    await settled(store)
    deadline = time.monotonic() + 60
    while (await store.info(TENANT, totals=False)).index_lag:
        assert time.monotonic() < deadline, "the index does not catch up"
        await asyncio.sleep(0.005)
    return await store.trim_feed(before, limit)
