"""Everything that can be read of a store after the story, in a form that is the same in every store: without its numbers of
sessions, events and changes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from tests.support.candidates import caught_up, terms
from tests.support.feed import follow
from tests.support.models.vectors import DIMENSION
from threadkeep_server.domain.context import ContextSpec
from threadkeep_server.domain.errors import HistoryUnknown
from threadkeep_server.domain.feed import Change, FeedScope, Position
from threadkeep_server.domain.filters import EventFilter
from threadkeep_server.domain.memories import ALL_MEMORIES, Memory, MemoryScope
from threadkeep_server.domain.memory.namespaces import NamespaceQuery
from threadkeep_server.domain.model import Session, SessionRef
from threadkeep_server.domain.scopes import AppScope, EventScope, UserScope
from threadkeep_server.domain.search import ALL_FIELDS, WordQuery
from threadkeep_server.domain.state.state import StateQuery, StateScope, state_name
from threadkeep_server.store.contract.breakdowns import UsageQuery
from threadkeep_server.store.contract.consumers import Parked
from threadkeep_server.store.contract.events import ContextPage, EventQuery
from threadkeep_server.store.contract.history import AsOf
from threadkeep_server.store.contract.loading import LoadQuery
from threadkeep_server.store.contract.search import SearchQuery
from threadkeep_server.store.contract.sessions import SessionOrder, SessionQuery
from threadkeep_server.store.contract.store import Store

from .later_steps import erasure
from .steps import ALICES, MAILER, MODEL
from .story import ALICE, APP, START, TENANT

NOW = 2 * START
"""After all changes, and before anything expires."""
_WORDS = ("red shoes", "STRASSE", "%", "l_s", "says", "better", "gone", "noted")
_SCOPES: Sequence[EventScope] = (UserScope("alice"), UserScope("bob"), AppScope(APP))
_OF_MEMORIES = ("tea", "said", "é", "namespaces", "forgotten")
_OF_WINDOW = (
    *("event_id", "seq", "time", "role", "branch", "synthetic", "position", "tokens", "size", "content_bytes"),
    *("calls", "results", "result_names", "prompt_text"),
)
"""The facts of events that a window is read with."""
UNKNOWN = "unknown"


async def _sessions(store: Store) -> list[Session]:
    page = await store.list_sessions(TENANT, SessionQuery(limit=1000, order=SessionOrder.CREATED_FIRST))
    assert page.cursor is None
    return list(page.sessions)


async def sessions(store: Store) -> Any:
    """Returns the sessions, by themselves and in lists."""
    found = await _sessions(store)
    lists = [SessionQuery(order=order, limit=100, count=True, newest=True, states=True) for order in SessionOrder]
    lists += [SessionQuery(user_id="bob"), SessionQuery(app=APP, labels={"tier": "gold"}), SessionQuery(prefix="f")]
    lists += [SessionQuery(forked_from=each.ref.session_id) for each in found]
    pages = [await store.list_sessions(TENANT, query) for query in lists]
    return (
        [(each, await store.get_session(TENANT, each.ref)) for each in found],
        [([each.ref for each in page.sessions], page.total, page.newest, page.states) for page in pages],
        await store.list_users(TENANT, None, 100),
        (await store.info(TENANT, totals=True)).totals,
    )


def _page(page: ContextPage) -> Any:
    return replace(page, events=list(page.events))


async def events(store: Store) -> Any:
    """Returns the logs, windows, contexts and breakdowns of all sessions."""
    queries = [EventFilter(), EventFilter(exclude_archived=True), EventFilter(last_n=3), EventFilter(branch="seller.clerk")]
    specs = [ContextSpec(), ContextSpec(last_n=2), ContextSpec(max_turns=1, branch="seller.clerk"), ContextSpec(max_bytes=40)]
    found: list[Any] = []
    for session in await _sessions(store):
        of = session.ref
        for wanted in queries:
            page = await store.list_events(TENANT, of, EventQuery(wanted, limit=1000))
            found.append((of, list(page.events), page.log_version, page.last_seq))
        found += [_page(await store.get_context(TENANT, of, spec, 1 << 30)) for spec in specs]
        window = await store.read_window(TENANT, of)
        found.append(([[getattr(each, name) for name in _OF_WINDOW] for each in window.events], dict(window.bodies)))
        found.append(list((await store.list_branches(TENANT, of, 100, None)).branches))
        found.append(list((await store.list_usage(TENANT, of, UsageQuery())).entries))
        loaded = await store.load_session(TENANT, of, LoadQuery(EventQuery(limit=1000), newest=True))
        assert loaded.session == session
        found.append((loaded.newest, {scope: (dict(page.values), page.version) for scope, page in loaded.states.items()}))
    return found


async def history(store: Store) -> Mapping[tuple[SessionRef, int], Any]:
    """Returns what every session was at every log version; UNKNOWN where that is not known."""
    found: dict[tuple[SessionRef, int], Any] = {}
    for session in await _sessions(store):
        for version in range(session.log_version + 1):
            found[session.ref, version] = await _then(store, session.ref, AsOf(log_version=version))
    return found


async def _then(store: Store, of: SessionRef, at: AsOf) -> Any:
    try:
        context = await store.get_context(TENANT, of, ContextSpec(), 1 << 30, at)
        log = await store.list_events(TENANT, of, EventQuery(limit=1000, as_of=at))
    except HistoryUnknown:
        return UNKNOWN
    # Whether an event is archived is not known of the log of then before the first known version.
    return _page(context), [(each.seq, each.body, each.archived) for each in log.events], log.last_seq


async def states(store: Store) -> Any:
    """Returns all values, now and as of every log version."""
    found: list[Any] = []
    for session in await _sessions(store):
        for as_of in (None, *range(session.log_version + 1)):
            page = await store.get_state(TENANT, state_name(StateScope.SESSION, session.ref), StateQuery(as_of=as_of))
            found.append((session.ref, as_of, dict(page.values), page.version))
    for user in ("alice", "bob"):
        of = SessionRef(APP, user, "s1")
        for scope in (StateScope.USER, StateScope.APP):
            page = await store.get_state(TENANT, state_name(scope, of), StateQuery())
            found.append((dict(page.values), page.version))
    return found


async def search(store: Store) -> Any:
    """Returns the hits of substrings, and the best candidates of words."""
    await caught_up(store)
    found: list[Any] = []
    for word in _WORDS:
        for scope in _SCOPES:
            page = await store.search(TENANT, SearchQuery(scope, EventFilter(keyword=word), limit=1000))
            found.append((word, [(hit.ref, hit.event) for hit in page.hits]))
            best = await store.word_candidates(TENANT, scope, WordQuery(terms(word), ALL_FIELDS, 256))
            keys = [each.key for each in best.found]
            named = await store.events_by_key(TENANT, scope, keys)
            found.append((word, sorted((each.ref, each.event.seq) for each in named)))
    return found


def _change(change: Change) -> dict[str, Any]:
    return {**asdict(change), "position": None, "session": None, "first": None, "last": None, "labels": dict(change.labels)}


async def feed(store: Store) -> Any:
    """Returns the changes that subscriptions of several scopes receive, with their events."""
    found: list[Any] = []
    scopes = [FeedScope(TENANT), FeedScope(TENANT, user_id="alice"), FeedScope(TENANT, APP, "bob")]
    for scope in [*scopes, FeedScope(TENANT, APP, "alice", "c1"), FeedScope(TENANT, labels=(("tier", "gold"),))]:
        changes = await follow(store, scope, after=await store.feed_floor())
        added = await store.change_events(changes, with_text=True)
        for change, parts in zip(changes, added, strict=True):
            found.append((_change(change), [asdict(part) for part in parts]))
    return found


async def compactions(store: Store) -> Any:
    """Returns the records of all sessions, and all policies."""
    records = [
        (session.ref, list((await store.list_compactions(TENANT, session.ref, 100, None)).compactions))
        for session in await _sessions(store)
    ]
    stored = [policy for policy in await store.policies(0) if policy.key.tenant == TENANT]
    return records, sorted(stored, key=lambda policy: policy.key)


def _parked(parked: Parked) -> Any:
    return _change(parked.change), parked.attempts, parked.reason, parked.park_time, parked.replaying


async def consumers(store: Store) -> Any:
    """Returns the named consumers, how far they are, and what they parked."""
    changes = [each.position for each in await follow(store, FeedScope(TENANT), after=await store.feed_floor())]

    def place(position: Position) -> int:
        return sum(each <= position for each in changes)

    found: list[Any] = [list(await store.consumers(TENANT, owner, 100, "")) for owner in ("", "alice")]
    for key in (MAILER, ALICES):
        if any(key == each.key for listed in found[:2] for each in listed):
            state = await store.consumer(key)
            partitions = [
                (each.number, place(each.position), each.owner, each.attempts, each.reason) for each in state.partitions
            ]
            parked = await store.parked(key, 100, 0)
            sent = await store.change_events([each.change for each in parked], with_text=True)
            events_of = [[asdict(event) for event in each] for each in sent]
            found.append((state.consumer, state.members, partitions, state.parked, list(map(_parked, parked)), events_of))
    return found


def _memory(memory: Memory) -> Any:
    return memory.scope, memory.draft, memory.record_time, memory.update_time, memory.expire_time, memory.time


async def memories(store: Store) -> Any:
    """Returns all memories, as they are listed, named, searched and embedded."""
    found: list[Any] = []
    for scope in (ALICE, MemoryScope("", "bob")):
        listed = (await store.list_memories(TENANT, scope, ALL_MEMORIES, 100, None)).memories
        found.append([_memory(each) for each in listed])
        names = [each.draft.name for each in listed]
        named = await store.memories_by_name(TENANT, scope, names, NOW, 1 << 30)
        found.append({name: _memory(each) for name, each in named.found.items()})
        for word in _OF_MEMORIES:
            held = await store.memories_holding(TENANT, scope, word, ALL_MEMORIES, 100)
            best = await store.memory_candidates(TENANT, scope, WordQuery(terms(word), ALL_FIELDS, 100), ALL_MEMORIES)
            ranked = await store.memories_by_key(TENANT, scope, [each.key for each in best.found])
            found.append((word, [_memory(each) for each in held], sorted(each.draft.name for each in ranked)))
        spaces = await store.memory_namespaces(TENANT, scope, NamespaceQuery(), 100, None, NOW)
        found.append(list(spaces.namespaces))
    number = await store.vector_model(MODEL, DIMENSION)
    embedded = await store.memory_vectors(TENANT, ALICE, number, 0, 100)
    found.append(embedded.vectors.tolist())
    return found


async def receipts(store: Store) -> Any:
    """Returns the receipt of an erasure whose request is repeated; it erases nothing, because it has ended."""
    return await store.erase(erasure(), 60)


Read = Callable[[Store], Awaitable[Any]]
READS: Mapping[str, Read] = {
    each.__name__: each for each in (sessions, events, history, states, search, feed, compactions, consumers, memories)
}
