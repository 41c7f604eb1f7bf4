"""Events of a user over all sessions: their order, pages, filters and access."""

from __future__ import annotations

import pytest

from tests.support.clock import NOW
from tests.support.codec import CODEC, draft
from tests.support.sessions import TENANT, append, create, ref
from threadkeep_server.domain.errors import InvalidField, PermissionDenied
from threadkeep_server.domain.filters import EventFilter
from threadkeep_server.domain.model import Caller, Role
from threadkeep_server.domain.validation import Limits
from threadkeep_server.service.user_events import UserEventQuery, UserEventService
from threadkeep_server.store.inmemory import InMemoryStore

ANYONE = Caller(TENANT)


@pytest.fixture
async def store() -> InMemoryStore:
    """Sessions s0 to s4 of alice with events, an empty one in between, and one of bob."""
    store = InMemoryStore(CODEC)
    for number in range(5):
        name = ref(f"s{number}", app="shop" if number != 3 else "other")
        await create(store, name.session_id, app=name.app, create_time=NOW + number)
        if number != 2:
            role = Role.ASSISTANT if number == 1 else Role.USER
            await append(store, *(draft(f"{number}.{n}", role=role) for n in range(3)), to=name)
    await create(store, "secret", user="bob", create_time=NOW + 2)
    await append(store, draft("secret"), to=ref("secret", user="bob"))
    return store


async def pages(store: InMemoryStore, query: UserEventQuery, most: int = 1 << 20, caller: Caller = ANYONE) -> list[list[str]]:
    service = UserEventService(store, Limits(max_response_bytes=most))
    found: list[list[str]] = []
    cursor = None
    while True:
        page = await service.list(caller, UserEventQuery(query.user_id, query.app, query.filter, query.limit, cursor))
        found.append([CODEC.text(event.body) for _, event in page.events])
        cursor = page.cursor
        if cursor is None:
            return found
        assert len(found) < 50


def joined(found: list[list[str]]) -> list[str]:
    return [text for page in found for text in page]


EVERY = [f"{session}.{n}" for session in (0, 1, 3, 4) for n in range(3)]


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 12, 100])
async def test_pages_have_each_event_once_session_by_session(store: InMemoryStore, limit: int) -> None:
    found = await pages(store, UserEventQuery("alice", limit=limit))
    assert joined(found) == EVERY
    assert all(len(page) == limit for page in found[:-1])


async def test_conditions_apply_to_every_session(store: InMemoryStore) -> None:
    assert await pages(store, UserEventQuery("alice", "other")) == [["3.0", "3.1", "3.2"]]
    wanted = EventFilter(after_seq=2, roles=frozenset({Role.USER}))
    assert joined(await pages(store, UserEventQuery("alice", filter=wanted, limit=2))) == ["0.2", "3.2", "4.2"]
    assert joined(await pages(store, UserEventQuery("alice", filter=EventFilter(keyword="4."), limit=1))) == EVERY[-3:]
    assert await pages(store, UserEventQuery("nobody")) == [[]]


async def test_a_page_ends_before_it_is_too_large(store: InMemoryStore) -> None:
    found = await pages(store, UserEventQuery("alice"), most=60)
    assert joined(found) == EVERY
    assert len(found) > 4


async def test_a_session_that_is_deleted_between_pages_hides_no_other(store: InMemoryStore) -> None:
    service = UserEventService(store, Limits())
    page = await service.list(ANYONE, UserEventQuery("alice", limit=2))
    await store.delete_session(TENANT, ref("s0"))
    rest = await service.list(ANYONE, UserEventQuery("alice", cursor=page.cursor))
    assert [CODEC.text(event.body) for _, event in rest.events] == EVERY[3:]


async def test_a_bound_caller_reaches_its_own_events_only(store: InMemoryStore) -> None:
    bob = Caller(TENANT, user_id="bob")
    assert await pages(store, UserEventQuery(""), caller=bob) == [["secret"]]
    service = UserEventService(store, Limits())
    with pytest.raises(PermissionDenied):
        await service.list(bob, UserEventQuery("alice"))
    with pytest.raises(PermissionDenied):
        await service.list(Caller(TENANT, app="shop"), UserEventQuery("alice", "other"))
    with pytest.raises(InvalidField):
        await service.list(ANYONE, UserEventQuery(""))


async def test_a_page_passes_over_a_bounded_number_of_sessions(store: InMemoryStore) -> None:
    for number in range(250):
        await append(store, draft("x"), to=(await create(store, f"more-{number}", user="carol", create_time=NOW + number)).ref)
    found = await pages(store, UserEventQuery("carol", filter=EventFilter(roles=frozenset({Role.TOOL}))))
    assert found == [[], [], []]
