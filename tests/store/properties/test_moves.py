"""Sessions that change their owners, in every order: each user finds and receives the same in every store."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.store.conftest import Both
from tests.support.candidates import ask
from tests.support.clock import NOW
from tests.support.codec import draft
from tests.support.feed import follow
from tests.support.moves import moved
from tests.support.removals import operation
from tests.support.runs.thoroughness import on_stores
from tests.support.sessions import append, create, ref, search
from threadkeep_server.domain.errors import ThreadkeepError
from threadkeep_server.domain.feed import Change, FeedScope, Position
from threadkeep_server.domain.model import SessionChange
from threadkeep_server.domain.scopes import UserScope
from threadkeep_server.store.contract.sessions import SessionQuery
from threadkeep_server.store.contract.store import Store

USERS, IDS = ("alice", "bob", "carol"), ("s1", "s2")
_USERS, _IDS = st.sampled_from(USERS), st.sampled_from(IDS)
STEPS = st.lists(
    st.tuples(st.just("create"), _USERS, _IDS, st.none())
    | st.tuples(st.just("append"), _USERS, _IDS, st.sampled_from(["apple", "pear"]))
    | st.tuples(st.just("move"), _USERS, _IDS, _USERS)
    | st.tuples(st.just("move"), _USERS, _IDS, _USERS)
    | st.tuples(st.just("label"), _USERS, _IDS, st.sampled_from(["1", "2"]))
    | st.tuples(st.just("delete"), _USERS, _IDS, st.none()),
    min_size=3,
    max_size=25,
)


async def _step(store: Store, tenant: str, number: int, step: tuple[Any, ...]) -> Any:
    kind, user, session_id, value = step
    of, now = ref(session_id, user=user), NOW + number
    try:
        if kind == "create":
            return (await create(store, session_id, tenant=tenant, user=user, create_time=now)).ref
        if kind == "append":
            event = draft(value, event_id=f"e{number}")
            return (await append(store, event, to=of, tenant=tenant, now=now)).last_seq
        if kind == "move":
            done = await moved(store, value, of=of, tenant=tenant, now=now, operation=operation(f"op-{number % 7}"))
            return done.session.ref, done.replayed, done.session.update_time
        if kind == "label":
            change = SessionChange(frozenset({"labels"}), now, labels={"l": value})
            return (await store.update_session(tenant, of, change)).labels
        return await store.delete_session(tenant, of)
    except ThreadkeepError as error:
        return type(error)


def _shown(change: Change) -> Any:
    after = None if change.after is None else (change.after.ref, change.after.last_seq)
    labels = (dict(change.labels), change.labels_before)
    return change.kind, change.ref, change.moved, change.former, change.log_version, change.last_seq, after, labels


async def _delivered(store: Store, scope: FeedScope, after: Position) -> Any:
    changes = await follow(store, scope, after=after, limit=3)
    assert changes == await follow(store, scope, after=after)
    events = await store.change_events(changes, with_text=True)
    return [(*_shown(change), [event.seq for event in added]) for change, added in zip(changes, events, strict=True)]


async def _known(store: Store, tenant: str, after: Position) -> Any:
    """Returns everything that can be known of the sessions of a tenant, by user."""
    found: list[Any] = [await _delivered(store, FeedScope(tenant), after)]
    found += [await _delivered(store, FeedScope(tenant, labels=(("l", value),)), after) for value in "12"]
    for user in USERS:
        listed = (await store.list_sessions(tenant, SessionQuery(user_id=user))).sessions
        found.append([(each.ref, each.last_seq, each.moved, each.labels) for each in listed])
        for word in ("apple", "pear"):
            hits = await search(store, word, UserScope(user), tenant=tenant)
            ranked = (await ask(store, word, UserScope(user), tenant=tenant)).found
            found.append((sorted((hit.ref, hit.event.seq) for hit in hits), len(ranked)))
        found.append(await _delivered(store, FeedScope(tenant, user_id=user), after))
        found.append(await _delivered(store, FeedScope(tenant, user_id=user, labels=(("l", "1"),)), after))
        found += [await _delivered(store, FeedScope(tenant, "shop", user, name), after) for name in IDS]
    return found


@on_stores(100)
@given(steps=STEPS, looked=st.integers(0, 25))
def test_every_user_knows_the_same_of_moved_sessions(both: Both, steps: list[Any], looked: int) -> None:
    tenant, stores = both.next_name(), (both.tested, both.reference)

    async def check() -> None:
        starts = [await store.feed_head() for store in stores]
        for number, step in enumerate(steps):
            answers = [await _step(store, tenant, number, step) for store in stores]
            assert answers[0] == answers[1]
            if number == looked:  # the index may have some of it by now, or all
                known = [await _known(store, tenant, start) for store, start in zip(stores, starts, strict=True)]
                assert known[0] == known[1]
        known = [await _known(store, tenant, start) for store, start in zip(stores, starts, strict=True)]
        assert known[0] == known[1]

    both.runner.run(check())
