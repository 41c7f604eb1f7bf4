"""After any additions, ingestions and deletions the SQL stores have the memories of the reference, and find the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.store.conftest import Both
from tests.support.clock import NOW
from tests.support.memories import candidates, forget, memory, remember
from tests.support.runs.thoroughness import on_stores
from tests.support.sessions import TENANT
from threadkeep_server.domain.errors import MemoryIdConflict, MemoryVersionMismatch
from threadkeep_server.domain.memories import Memory, MemoryFilter, MemoryScope
from threadkeep_server.domain.memory.metadata_conditions import MetadataCondition, Operator
from threadkeep_server.domain.memory.namespaces import Namespace, NamespaceQuery, stored_name
from threadkeep_server.domain.memory.writes import MemoryWrite
from threadkeep_server.domain.search import ALL_FIELDS, Field
from threadkeep_server.store.contract.store import Store

EXAMPLES = on_stores(40)
_names = count(1)

WORDS = ["red", "Red", "wool", "shoe's", "東京", "Straße", "%", "_", "\x00"]
IDS = st.sampled_from([f"m{number}" for number in range(6)])
SESSIONS = st.sampled_from(["", "s1", "s2"])
METADATA = st.sampled_from(["", "{}", '{"k": "1"}', '{"k": 1, "x": true}', '{"k": 1.0}', '{"x": null}'])
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
NAMESPACES = st.sampled_from([(), (), ("a",), ("a", "b"), ("a", "b", "c"), ("a!",), ("b", "b")])
NAMES = st.builds(stored_name, NAMESPACES, IDS)
DRAFTS = st.builds(
    memory,
    TEXTS,
    id=IDS,
    author=st.sampled_from(["", "Ann", "Bob"]),
    event_time=st.none() | st.integers(NOW - 2, NOW + 2),
    session_id=SESSIONS,
    event_id=st.sampled_from(["", "e"]),
    metadata_json=METADATA,
    namespace=NAMESPACES,
    ttl=st.none() | st.integers(1, 4),
)
BATCHES = st.lists(DRAFTS, min_size=1, max_size=5, unique_by=lambda draft: draft.name)
USERS = st.sampled_from(["alice", "bob"])
STEPS = st.one_of(
    st.tuples(st.just("add"), USERS, BATCHES, st.booleans()),
    st.tuples(st.just("add"), USERS, BATCHES, st.booleans()),
    st.tuples(st.just("write"), USERS, BATCHES, st.booleans(), st.sampled_from([None, None, "", "stored", "wrong"])),
    st.tuples(st.just("write"), USERS, BATCHES, st.just(True), st.none()),
    st.tuples(st.just("refresh"), USERS, st.lists(NAMES, min_size=1, max_size=3)),
    st.tuples(st.just("sweep"), USERS),
    st.tuples(st.just("forget_ids"), USERS, st.lists(NAMES, min_size=1, max_size=3)),
    st.tuples(st.just("forget_namespace"), USERS, NAMESPACES),
    st.tuples(st.just("forget_session"), USERS, SESSIONS),
    st.tuples(st.just("forget_all"), USERS),
)
CONDITIONS = st.builds(
    MetadataCondition,
    st.sampled_from(["k", "x"]),
    st.sampled_from([each for each in Operator if each is not Operator.IN]),
    st.sampled_from(["1", 1, 1.5]),
)
QUERIES = st.builds(
    NamespaceQuery,
    st.sampled_from([(), ("a",), ("*",), ("*", "b"), ("a", "*", "c")]),
    st.sampled_from([(), ("b",), ("*", "c")]),
    st.integers(0, 2),
)
FILTERS = st.builds(
    MemoryFilter,
    session_ids=st.frozensets(SESSIONS, max_size=2),
    authors=st.frozensets(st.sampled_from(["", "Ann"]), max_size=2),
    from_time=st.none() | st.integers(NOW - 2, NOW + 2),
    to_time=st.none() | st.integers(NOW - 2, NOW + 2),
    metadata=st.dictionaries(st.sampled_from(["k", "x"]), st.sampled_from(["1", "1.0", "true", "null"]), max_size=2),
    namespace=NAMESPACES,
    conditions=st.lists(CONDITIONS, max_size=2),
    live_at=st.none() | st.integers(NOW, NOW + 16),
)
TERMS = st.lists(st.sampled_from(["red", "wool", "shoe", "東", "東京", "strass", "no"]), max_size=3)
FIELDS = st.sampled_from([ALL_FIELDS, Field.TEXT, Field.MEDIA])


class Run:
    """The memories of two users on one store."""

    def __init__(self, store: Store, app: str) -> None:
        self._store = store
        self._app = app
        self._now = NOW

    async def do(self, step: tuple[Any, ...]) -> Any:
        name, user, *arguments = step
        self._now += 1
        return await getattr(self, f"_{name}")(MemoryScope(self._app, user), *arguments)

    async def _add(self, scope: MemoryScope, drafts: Sequence[Any], ingesting: bool) -> Any:
        try:
            return await remember(self._store, *drafts, scope=scope, now=self._now, ingesting=ingesting)
        except MemoryIdConflict as refused:
            return refused.metadata

    async def _write(self, scope: MemoryScope, drafts: Sequence[Any], replacing: bool, expected: str | None) -> Any:
        stored = await self._named(scope, [draft.name for draft in drafts])
        etags = {name: each.etag for name, each in stored.items()}
        writes = [MemoryWrite(draft, etags.get(draft.name, "") if expected == "stored" else expected) for draft in drafts]
        try:
            done = await self._store.write_memories(TENANT, scope, writes, self._now, replacing=replacing)
        except MemoryVersionMismatch as refused:
            return refused.metadata["field"]
        return [(each.outcome, _shown(each.memory)) for each in done]

    async def _named(self, scope: MemoryScope, names: Sequence[str]) -> Mapping[str, Memory]:
        return (await self._store.memories_by_name(TENANT, scope, names, self._now, 1 << 20)).found

    async def _refresh(self, scope: MemoryScope, names: Sequence[str]) -> Any:
        keys = {each.key: name for name, each in (await self._named(scope, names)).items()}
        later = await self._store.refresh_memories(TENANT, scope, list(keys), self._now)
        return {keys[key]: time for key, time in later.items()}

    async def _sweep(self, scope: MemoryScope) -> None:
        while await self._store.sweep_memories(self._now):
            pass

    async def _forget_namespace(self, scope: MemoryScope, namespace: Namespace) -> Any:
        return await forget(self._store, scope=scope, namespace=namespace)

    async def namespaces(self, user: str, wanted: NamespaceQuery, limit: int) -> Any:
        listed, cursor = [], None
        while True:
            scope = MemoryScope(self._app, user)
            page = await self._store.memory_namespaces(TENANT, scope, wanted, limit, cursor, self._now)
            listed.append(list(page.namespaces))
            if (cursor := page.cursor) is None:
                return listed

    async def _forget_ids(self, scope: MemoryScope, ids: Sequence[str]) -> Any:
        return await forget(self._store, scope=scope, names=ids)

    async def _forget_session(self, scope: MemoryScope, session_id: str) -> Any:
        return await forget(self._store, scope=scope, session_id=session_id)

    async def _forget_all(self, scope: MemoryScope) -> Any:
        return await forget(self._store, scope=scope)

    async def pages(self, user: str, wanted: MemoryFilter, limit: int) -> Any:
        """Page by page, without the keys, which are each store's own."""
        reported, cursor = [], None
        while True:
            page = await self._store.list_memories(TENANT, MemoryScope(self._app, user), wanted, limit, cursor)
            reported.append([_shown(each) for each in page.memories])
            cursor = page.cursor
            if cursor is None:
                return reported

    async def holding(self, user: str, term: str, wanted: MemoryFilter, limit: int) -> Any:
        scope = MemoryScope(self._app, user)
        return [each.draft for each in await self._store.memories_holding(TENANT, scope, term, wanted, limit)]

    async def candidates(self, user: str, terms: Sequence[str], wanted: MemoryFilter, fields: Field, limit: int) -> Any:
        scope = MemoryScope(self._app, user)
        reported = await candidates(self._store, *terms, wanted=wanted, fields=fields, limit=limit, scope=scope)
        by_key = {
            each.key: each for each in await self._store.memories_by_key(TENANT, scope, [each.key for each in reported.found])
        }
        found = sorted((by_key[each.key].draft.name, each.time, each.author, each.words) for each in reported.found)
        # Which of more than are wanted is the store's own.
        return reported.documents, dict(reported.frequencies), reported.complete, found if reported.complete else len(found)


def _shown(memory: Memory) -> Any:
    """Returns a memory without its key, which is the store's own."""
    return memory.draft, memory.record_time, memory.update_time, memory.expire_time


@given(
    st.lists(STEPS, min_size=1, max_size=12),
    st.lists(FILTERS, min_size=1, max_size=3),
    QUERIES,
    TERMS,
    FIELDS,
    st.integers(1, 4),
    st.sampled_from(["red", "r", "strasse", "%", "_", "\ufffd", ""]),
)
@EXAMPLES
def test_any_store_has_and_finds_the_memories_of_the_reference(
    both: Both,
    steps: list[tuple[Any, ...]],
    filters: list[MemoryFilter],
    query: NamespaceQuery,
    terms: list[str],
    fields: Field,
    limit: int,
    term: str,
) -> None:
    async def compare() -> None:
        app = f"app {next(_names)}"
        tested, reference = Run(both.tested, app), Run(both.reference, app)
        for step in steps:
            assert await tested.do(step) == await reference.do(step)
        for user in ("alice", "bob"):
            assert await tested.namespaces(user, query, limit) == await reference.namespaces(user, query, limit)
            for wanted in (MemoryFilter(), *filters):
                assert await tested.pages(user, wanted, limit) == await reference.pages(user, wanted, limit)
                assert await tested.holding(user, term, wanted, limit) == await reference.holding(user, term, wanted, limit)
                requested = (user, terms, wanted, fields, limit)
                assert await tested.candidates(*requested) == await reference.candidates(*requested)

    both.runner.run(compare())
