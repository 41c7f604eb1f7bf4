"""After any calls the feed of the SQL stores equals the reference's: in every scope, from every position, in any page size."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.store.conftest import Both
from tests.store.properties.test_properties import EXAMPLES, PIECES
from tests.support.clock import NOW
from tests.support.codec import draft
from tests.support.feed import follow, settled, trim
from tests.support.removals import clear, pop
from tests.support.sessions import create, new_session, ref
from threadkeep_server.domain.errors import ThreadkeepError
from threadkeep_server.domain.feed import BEGINNING, Change, ChangeKind, FeedScope, FeedTrimmed, Position
from threadkeep_server.domain.model import EventDraft, SessionChange, SessionRef
from threadkeep_server.domain.state.state import StateName, StatePatch, StateScope
from threadkeep_server.store.contract.compaction import CompactionRequest
from threadkeep_server.store.contract.events import AppendRequest
from threadkeep_server.store.contract.sessions import SessionQuery
from threadkeep_server.store.contract.store import Store

# Two sessions share each part of their names; few labels and ids, so that they collide.
NAMES = st.sampled_from([ref("one"), ref("two"), ref("one", user="bob"), ref("one", app="")])
BARE = SessionRef("", "", "two")
LABELS = st.dictionaries(st.sampled_from(["a", "b"]), st.sampled_from(["", "1", "2"]), max_size=2)
PLACES = st.integers(0, 50)

CALLS = st.one_of(
    st.tuples(st.just("create"), NAMES, LABELS, st.booleans()),
    st.tuples(st.just("append"), NAMES | st.just(BARE), PIECES, st.booleans()),
    st.tuples(st.just("append"), NAMES, PIECES, st.just(True)),
    st.tuples(st.just("update"), NAMES, st.none() | LABELS),
    st.tuples(st.just("compact"), NAMES, st.lists(PLACES, max_size=3), st.just([]) | PIECES, st.booleans()),
    st.tuples(st.just("pop"), NAMES, st.integers(1, 3), st.booleans()),
    st.tuples(st.just("clear"), NAMES),
    st.tuples(st.just("patch"), NAMES, st.sampled_from(StateScope), st.sampled_from("ab"), st.sampled_from(["1", "2", None])),
    st.tuples(st.just("delete"), NAMES | st.just(BARE)),
    st.tuples(st.just("sweep"), st.integers(0, 20)),
)
SCOPES = st.builds(
    lambda app, user, name, labels: (app, user, None, labels) if name is None else (*name, ()),
    st.sampled_from([None, "shop", ""]),
    st.sampled_from([None, "alice", "bob"]),
    st.none() | NAMES,
    LABELS.map(lambda labels: tuple(sorted(labels.items()))),
)
LIMITS = st.sampled_from([1, 2, 3, 1000])


def _drafts(pieces: Sequence[Any], **fields: Any) -> list[EventDraft]:
    return [draft(text, role=role, event_id=event_id, **fields) for event_id, (text, role) in pieces]


async def _call(store: Store, tenant: str, call: Sequence[Any], number: int) -> None:
    """What is made is named and dated after the number of the call, so that all stores make the same."""
    kind, *details = call
    now = NOW + number
    if kind == "create":
        name, labels, expires = details
        expiry = number if expires else None  # each its own, for a sweep may take equals in any order
        made = new_session(name.session_id, user=name.user_id, app=name.app, create_time=now, expire_time=expiry, labels=labels)
        await store.create_session(tenant, replace(made, uid=f"uid-{number}"), return_existing=False)
    elif kind == "append":
        name, pieces, create = details
        made = new_session(name.session_id, user=name.user_id or "alice", app=name.app, create_time=now, labels={"a": "1"})
        new = replace(made, uid=f"uid-{number}") if create else None
        await store.append(AppendRequest(tenant, name, _drafts(pieces), now, create=new))
    elif kind == "update":
        name, labels = details
        fields = frozenset({"metadata_json"} if labels is None else {"labels"})
        await store.update_session(tenant, name, SessionChange(fields, now, metadata_json=f'"{number}"', labels=labels or {}))
    elif kind == "compact":
        name, places, pieces, dry_run = details
        ids = [event.event_id for event in (await store.read_window(tenant, name)).events]
        archive = sorted({ids[place % len(ids)] for place in places if ids})
        kept = [event_id for event_id in ids if event_id not in archive]
        ends = [*kept[:1], None]
        shares = [pieces[:1], pieces[1:]]
        placed = {end: _drafts(share, synthetic=True) for end, share in zip(ends, shares, strict=False)}
        await store.compact(CompactionRequest(tenant, name, f"c{number}", now, archive, placed, None, dry_run=dry_run))
    elif kind == "pop":
        name, count, erase = details
        await pop(store, count, of=name, tenant=tenant, now=now, erase=erase)
    elif kind == "clear":
        await clear(store, of=details[0], tenant=tenant, now=now)
    elif kind == "patch":
        name, scope, key, value = details
        patch = StatePatch({key: value}) if value else StatePatch(remove=(key,))
        await store.patch_state(tenant, _owner(scope, name), patch, now)
    elif kind == "delete":
        await store.delete_session(tenant, details[0])
    else:
        await store.delete_expired(tenant, details[0], 1000)


def _owner(scope: StateScope, name: SessionRef) -> StateName:
    """Whose state in the scope that of the session belongs to."""
    refs = {StateScope.USER: SessionRef(name.app, name.user_id, ""), StateScope.APP: SessionRef(name.app, "", "")}
    return StateName(scope, refs.get(scope, name))


async def _answer(call: Callable[[], Any]) -> Any:
    try:
        return await call()
    except ThreadkeepError as error:
        return type(error), error.metadata


@dataclass
class Feed:
    """The feed of one store as all stores are to have it: positions and sessions by their number in it."""

    store: Store
    tenant: str
    start: Position
    positions: list[Position]
    sessions: Mapping[int, int]

    @classmethod
    async def of(cls, store: Store, tenant: str, start: Position) -> Feed:
        changes = await follow(store, FeedScope(tenant), after=start)
        sessions: dict[int, int] = {}
        for change in changes:
            sessions.setdefault(change.session, len(sessions))
        return cls(store, tenant, start, [start, *(change.position for change in changes)], sessions)

    async def read(self, scope: tuple[Any, ...], after: Position, limit: int) -> list[Any]:
        changes = await follow(self.store, FeedScope(self.tenant, *scope), after=after, limit=limit)
        events = await self.store.change_events(changes, with_text=True)
        return [(self._told(change), list(added)) for change, added in zip(changes, events, strict=True)]

    def _told(self, change: Change) -> Any:
        """Everything that does not depend on the store."""
        place = self.positions.index(change.position), self.sessions[change.session]
        if change.kind is ChangeKind.DELETED:
            assert change.after is not None
            gone = (change.after.ref, change.after.uid, dict(change.after.labels))
            return *place, change.tenant, change.ref, dict(change.labels), change.expired, *gone
        return *place, replace(change, position=BEGINNING, session=0, first=0, last=0)

    async def locate(self, name: SessionRef, after_seq: int) -> Any:
        """What follows the place, or how there is none."""
        try:
            place = await self.store.locate(self.tenant, name, after_seq)
        except FeedTrimmed as trimmed:
            return "trimmed", trimmed.oldest_seq
        return await self.read((*name, ()), place, 1000)


async def _same_feeds(both: Both, calls: Sequence[Any]) -> tuple[Feed, Feed]:
    """The feed of a tenant of its own, in both stores, after the calls."""
    tenant = both.next_name()
    stores = (both.tested, both.reference)
    starts = [await settled(store) for store in stores]
    for number, call in enumerate(calls):
        answers = [await _answer(lambda: _call(store, tenant, call, number)) for store in stores]  # noqa: B023 - awaited here
        assert answers[0] == answers[1], call
    tested, reference = [await Feed.of(store, tenant, start) for store, start in zip(stores, starts, strict=True)]
    assert len(tested.positions) == len(reference.positions)
    return tested, reference


@EXAMPLES
@given(calls=st.lists(CALLS, min_size=1, max_size=20), scopes=st.lists(SCOPES, max_size=3), limit=LIMITS)
def test_the_feed_is_the_references_in_every_scope_from_every_position(
    both: Both, calls: list[Any], scopes: list[tuple[Any, ...]], limit: int
) -> None:
    async def check() -> None:
        tested, reference = await _same_feeds(both, calls)
        for scope in [(), *scopes]:
            for after, same in zip(tested.positions, reference.positions, strict=True):
                assert await tested.read(scope, after, limit) == await reference.read(scope, same, limit)

    both.runner.run(check())


@EXAMPLES
@given(calls=st.lists(CALLS, min_size=1, max_size=20), age=st.integers(0, 20))
def test_sessions_are_found_in_the_feed_as_in_the_references_trimmed_or_not(both: Both, calls: list[Any], age: int) -> None:
    async def check() -> None:
        tested, reference = await _same_feeds(both, calls)
        for trimmed in (False, True):
            if trimmed:
                for feed in (tested, reference):
                    # Something younger, for a store may keep its last change for needs of its own.
                    await create(feed.store, tested.tenant, tenant="keeper", create_time=NOW + 100)
                    await trim(feed.store, NOW + age, limit=1 << 20)
            for session in (await both.reference.list_sessions(reference.tenant, SessionQuery())).sessions:
                for seq in range(session.last_seq + 1):
                    assert await tested.locate(session.ref, seq) == await reference.locate(session.ref, seq)

    both.runner.run(check())


SCOPED = st.builds(FeedScope, st.sampled_from(["t", "u"]), *[st.none() | st.sampled_from(["", "x", "y"])] * 3)
CHANGES = st.builds(
    lambda tenant, names, labels, before: Change(
        BEGINNING, ChangeKind.UPDATED, tenant, SessionRef(*names), 1, NOW, labels=labels, labels_before=before
    ),
    st.sampled_from(["t", "u"]),
    st.tuples(*[st.sampled_from(["", "x", "y"])] * 3),
    LABELS,
    st.none() | LABELS,
)


@given(scope=SCOPED, labels=LABELS, change=CHANGES)
def test_a_scope_admits_what_satisfies_each_of_its_conditions(
    scope: FeedScope, labels: Mapping[str, str], change: Change
) -> None:
    bore = [borne for borne in (change.labels, change.labels_before) if borne is not None]
    satisfied = [
        scope.tenant == change.tenant,
        *(
            wanted in (None, name)
            for wanted, name in zip((scope.app, scope.user_id, scope.session_id), change.ref, strict=True)
        ),
        any(labels.items() <= borne.items() for borne in bore),
    ]
    assert replace(scope, labels=tuple(sorted(labels.items()))).admits(change) == all(satisfied)
