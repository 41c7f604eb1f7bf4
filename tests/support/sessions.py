"""Short forms of common store calls."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any

from tests.support.clock import NOW
from threadkeep_server.domain.filters import ALL, EventFilter
from threadkeep_server.domain.model import EventDraft, NewSession, Session, SessionRef, StoredEvent
from threadkeep_server.domain.scopes import EventScope
from threadkeep_server.store.contract.compaction import Compacted, CompactionRequest
from threadkeep_server.store.contract.events import Appended, AppendRequest, EventQuery
from threadkeep_server.store.contract.search import SearchHit, SearchQuery
from threadkeep_server.store.contract.store import Store

TENANT = "acme"
Place = tuple[str | None, Sequence[EventDraft]]
_numbers = count(1)


def ref(session_id: str = "s1", *, user: str = "alice", app: str = "shop") -> SessionRef:
    return SessionRef(app, user, session_id)


def new_session(
    session_id: str = "s1",
    *,
    user: str = "alice",
    app: str = "shop",
    create_time: int = NOW,
    expire_time: int | None = None,
    metadata_json: str = "",
    labels: Mapping[str, str] | None = None,
    began: int | None = None,
) -> NewSession:
    uid = f"uid-{next(_numbers)}"
    named = ref(session_id, user=user, app=app)
    return NewSession(named, uid, create_time, expire_time, metadata_json, labels or {}, began=began)


async def create(store: Store, session_id: str = "s1", *, tenant: str = TENANT, **fields: Any) -> Session:
    session, created = await store.create_session(tenant, new_session(session_id, **fields), return_existing=False)
    assert created
    return session


async def append(
    store: Store, *drafts: EventDraft, to: SessionRef | None = None, tenant: str = TENANT, now: int = NOW, **options: Any
) -> Appended:
    return await store.append(AppendRequest(tenant, to or ref(), drafts, now, **options))


async def compact(
    store: Store,
    archive: Iterable[str] = (),
    *inserts: Place,
    of: SessionRef | None = None,
    tenant: str = TENANT,
    now: int = NOW,
    compaction_id: str | None = None,
    at: int | None = None,
    **options: Any,
) -> Compacted:
    """Archives and inserts; `at` is the expected window version."""
    name = f"compaction-{next(_numbers)}" if compaction_id is None else compaction_id
    places: defaultdict[str | None, list[EventDraft]] = defaultdict(list)
    for before, drafts in inserts:
        places[before] += drafts
    return await store.compact(
        CompactionRequest(tenant, of or ref(), name, now, tuple(archive), places, expected_window_version=at, **options)
    )


def placed(before: str | None, *drafts: EventDraft) -> Place:
    """Returns events to insert before another, or at the end."""
    return before, drafts


async def session_with(store: Store, *drafts: EventDraft, session_id: str = "s1", **fields: Any) -> SessionRef:
    """Creates a session with these events, appended one by one."""
    session = await create(store, session_id, **fields)
    for draft in drafts:
        await append(store, draft, to=session.ref)
    return session.ref


async def read(store: Store, wanted: EventFilter = ALL, *, of: SessionRef | None = None, **query: Any) -> list[StoredEvent]:
    """Returns all selected events, in one page."""
    query = {"limit": 1 << 20} | query
    page = await store.list_events(TENANT, of or ref(), EventQuery(wanted, **query))
    assert page.cursor is None
    return list(page.events)


async def read_in_pages(
    store: Store, wanted: EventFilter = ALL, *, of: SessionRef | None = None, tenant: str = TENANT, **query: Any
) -> list[list[StoredEvent]]:
    """Returns all selected events, page by page."""
    pages: list[list[StoredEvent]] = []
    cursor = None
    while True:
        page = await store.list_events(tenant, of or ref(), EventQuery(wanted, cursor=cursor, **query))
        pages.append(list(page.events))
        cursor = page.cursor
        if cursor is None:
            return pages
        assert page.events, "a page that is followed by another is not empty"


async def search(
    store: Store,
    wanted: EventFilter | str,
    scope: EventScope | None = None,
    *,
    tenant: str = TENANT,
    limit: int = 1000,
) -> list[SearchHit]:
    """Returns every hit, in one page. A string is searched as a keyword."""
    wanted = EventFilter(keyword=wanted) if isinstance(wanted, str) else wanted
    page = await store.search(tenant, SearchQuery(scope or ref(), wanted, limit=limit))
    return list(page.hits)


async def search_in_pages(store: Store, wanted: EventFilter, scope: EventScope, **query: Any) -> list[list[SearchHit]]:
    pages: list[list[SearchHit]] = []
    cursor = None
    while True:
        page = await store.search(TENANT, SearchQuery(scope, wanted, cursor=cursor, **query))
        pages.append(list(page.hits))
        cursor = page.cursor
        if cursor is None:
            return pages
        assert page.hits, "a page that is followed by another is not empty"
