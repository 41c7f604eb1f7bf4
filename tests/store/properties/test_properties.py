"""For any log and any call the SQL stores return what the reference returns.

Hypothesis generates logs, filters and sequences of calls, and shrinks them to the smallest that differ.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.store.conftest import Both
from tests.support.candidates import caught_up
from tests.support.clock import NOW
from tests.support.codec import draft
from tests.support.runs.thoroughness import on_stores
from tests.support.sessions import TENANT, append, new_session, read_in_pages, ref, search_in_pages
from threadkeep_server.domain.errors import ThreadkeepError
from threadkeep_server.domain.filters import ALL, Authors, AuthorStep, EventFilter
from threadkeep_server.domain.model import EventDraft, Role, SessionChange, SessionRef, Usage
from threadkeep_server.domain.scopes import UserScope
from threadkeep_server.search.patterns import compiled
from threadkeep_server.store.contract.events import AppendRequest, EventQuery
from threadkeep_server.store.contract.search import SearchHit, SearchQuery
from threadkeep_server.store.contract.sessions import SessionQuery
from threadkeep_server.store.contract.store import Store

# The examples of a test share one store, each with its own sessions: creating a database costs more than querying it.
EXAMPLES = on_stores(40)

# Few, and chosen to collide: case pairs, foldings that change length, NUL, combining marks, CJK, emoji, what SQL minds.
ALPHABET = "aAbß\u1e9esSİiıÄäÄ́e\u0301漢字🦀\x00\ufffd%_\\'\" \n"
TEXTS = st.text(ALPHABET, max_size=8)
WORDS = st.text(ALPHABET, min_size=1, max_size=2)
BRANCHES = st.sampled_from(["", "a", "a.b", "a.b.c", "a.bc", "A", "%", "a_"])
AUTHORS = st.sampled_from(["", "x", "X", "y", "it's"])
INVOCATIONS = st.sampled_from(["", "run-1", "run-2"])
METADATA = ('{"k": "v"}', '{"k": 1.50, "l": true}', '{"k": "1.50", "l": null}', '{"k": ["v"]}')
CONDITIONS_ON_METADATA = ((("k", "v"),), (("k", "1.50"),), (("k", "1.50"), ("l", "true")), (("m", ""),))
PATTERNS = st.sampled_from(["a", "(?i)A", "^a", "b$", ".", "(?s)^.{2}$", "[ßs]", "漢|🦀", "(?i)İ", r"\x00", "^$"])
TIMES = st.none() | st.integers(-3, 3)

DRAFTS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "text": TEXTS,
        "role": st.sampled_from(Role),
        "author": AUTHORS,
        "author_role": AUTHORS,
        "branch": BRANCHES,
        "time": TIMES,
        "synthetic": st.booleans(),
        "invocation_id": INVOCATIONS,
        "native_format": st.sampled_from(["", "f/1", "f/2"]),
        "metadata_json": st.sampled_from(["", *METADATA]),
    }
)
BATCHES = st.lists(st.lists(DRAFTS, min_size=1, max_size=5), min_size=1, max_size=5)
STEPS = st.builds(
    AuthorStep, st.booleans(), st.builds(Authors, st.frozensets(AUTHORS, max_size=2), st.frozensets(AUTHORS, max_size=2))
)
COUNTS = st.integers(1, 6)
CONDITIONS: dict[str, st.SearchStrategy[Any]] = {
    "from_time": TIMES,
    "to_time": TIMES,
    "after_seq": st.none() | st.integers(-1, 12),
    "before_seq": st.none() | st.integers(-1, 12),
    "roles": st.frozensets(st.sampled_from(Role), max_size=3),
    "authors": st.lists(STEPS, max_size=3).map(tuple),
    "exclude_synthetic": st.booleans(),
    "exclude_archived": st.booleans(),
    "keyword": st.just("") | WORDS,
    "keywords": st.lists(WORDS, max_size=3).map(tuple),
    "match_all": st.booleans(),
    "branch": BRANCHES,
    "exact_branch": st.booleans(),
    "invocation_ids": st.frozensets(INVOCATIONS, max_size=2),
    "native_formats": st.frozensets(st.sampled_from(["f/1", "f/2"]), max_size=2),
    "metadata": st.just(()) | st.sampled_from(CONDITIONS_ON_METADATA),
    "pattern": st.none() | PATTERNS.map(lambda source: compiled("pattern", source)),
}
WINDOWS: st.SearchStrategy[dict[str, Any]] = (
    st.just({})
    | st.fixed_dictionaries({"last_n": COUNTS})
    | st.fixed_dictionaries({"exact_last_n": COUNTS})
    | st.fixed_dictionaries({"page": st.integers(0, 3), "page_size": COUNTS})
)
# A few conditions at a time, or nothing would ever match.
FILTERS = st.builds(
    lambda conditions, window: EventFilter(**conditions, **window),
    st.sets(st.sampled_from(sorted(CONDITIONS)), max_size=3).flatmap(
        lambda names: st.fixed_dictionaries({name: CONDITIONS[name] for name in sorted(names)})
    ),
    WINDOWS,
)
QUERIES = st.tuples(FILTERS, st.booleans(), COUNTS, st.sampled_from([1, 60, 150, 1 << 40]))


@EXAMPLES
@given(batches=BATCHES, queries=st.lists(QUERIES, min_size=4, max_size=16))
def test_every_list_is_what_the_reference_selects(both: Both, batches: list[Any], queries: list[Any]) -> None:
    session = both.next_name()

    async def check() -> None:
        await _fill(both, ref(session), batches)
        for wanted, descending, limit, max_bytes in [*queries, (ALL, False, 4, 1 << 40)]:
            options = {"of": ref(session), "descending": descending, "max_bytes": max_bytes}
            expected = await read_in_pages(both.reference, wanted, limit=limit, **options)
            assert await read_in_pages(both.tested, wanted, limit=limit, **options) == expected
            (whole,) = await read_in_pages(both.tested, wanted, of=ref(session), descending=descending, limit=1000)
            assert whole == [event for page in expected for event in page], "pages add up to the whole"

    both.runner.run(check())


@EXAMPLES
@given(
    logs=st.lists(BATCHES, min_size=1, max_size=3),
    queries=st.lists(st.tuples(FILTERS, WORDS, COUNTS), min_size=1, max_size=8),
    wait=st.booleans(),
)
def test_every_search_finds_what_the_reference_finds(both: Both, logs: list[Any], queries: list[Any], wait: bool) -> None:
    user = both.next_name()
    names = [ref(f"{user}-{number}", user=user) for number in range(len(logs))]

    async def check() -> None:
        for name, batches in zip(names, logs, strict=True):
            for store in (both.tested, both.reference):
                await store.create_session(TENANT, new_session(name.session_id, user=user), return_existing=False)
            await _fill(both, name, batches)
        if wait:
            await indexed(both.tested)
        for wanted, word, limit in queries:
            found = replace(wanted, last_n=None, exact_last_n=None, keyword=wanted.keyword or word)
            # A word of blanks alone is no condition, and a search needs one.
            found = found if found.terms else replace(found, keyword="a")
            for scope in (names[0], UserScope(user), UserScope(user, "shop"), UserScope(user, "")):
                expected = await _hits(both.reference, found, scope, limit)
                assert await _hits(both.tested, found, scope, limit) == expected

    both.runner.run(check())


async def _fill(both: Both, name: SessionRef, batches: Sequence[Any]) -> None:
    for batch in batches:
        drafts = [draft(**fields) for fields in batch]
        for store in (both.tested, both.reference):
            await append(store, *drafts, to=name, create=new_session(name.session_id, user=name.user_id))


async def _hits(store: Store, wanted: EventFilter, scope: SessionRef | UserScope, limit: int) -> list[list[SearchHit]]:
    if wanted.page_size is None:
        return await search_in_pages(store, wanted, scope, limit=limit)
    return [list((await store.search(TENANT, SearchQuery(scope, wanted, limit=wanted.page_size))).hits)]


async def indexed(store: Store) -> None:
    """Until the index has caught up; otherwise what was just appended is always scanned."""
    await caught_up(store)


# One call each on two sessions that are made, filled, changed and deleted over and over. Ids are few, so that they collide.
NAMES = st.sampled_from([ref("one"), ref("two"), ref("one", user="bob"), ref("one", user="", app="")])
IDS = st.sampled_from(["e1", "e2", "e3", "e4", "e5"])
CONTENTS = st.sampled_from([("a", Role.USER), ("b", Role.ASSISTANT)])
PIECES = st.lists(st.tuples(IDS, CONTENTS), min_size=1, max_size=3, unique_by=lambda piece: piece[0])
EXPECTED: st.SearchStrategy[dict[str, Any]] = (
    st.just({})
    | st.fixed_dictionaries({"expected_log_version": st.integers(0, 4)})
    | st.fixed_dictionaries({"expected_last_event_id": st.just("") | IDS})
)
CALLS = st.one_of(
    st.tuples(st.just("append"), NAMES, PIECES, EXPECTED, st.booleans(), st.booleans()),
    st.tuples(st.just("append"), NAMES, PIECES, st.just({}), st.just(False), st.just(True)),
    st.tuples(st.just("create"), NAMES.filter(lambda name: not name.is_bare), st.booleans()),
    st.tuples(st.just("update"), NAMES, st.sets(st.sampled_from(["expiry", "metadata_json", "labels"])), st.integers(0, 5)),
    st.tuples(st.just("delete"), NAMES),
    st.tuples(st.just("sweep"), st.integers(0, 5)),
    st.tuples(st.just("get"), NAMES, IDS),
)


def _drafts(pieces: Sequence[Any]) -> list[EventDraft]:
    return [draft(text, role=role, event_id=event_id, usage=Usage(1, 2, 3)) for event_id, (text, role) in pieces]


async def _call(store: Store, tenant: str, call: Sequence[Any], number: int) -> Any:
    """What one call answers, or how it fails. What it makes is named after its number, so that all stores make the same."""
    kind, *details = call
    if kind == "append":
        name, pieces, expected, ignore, create = details
        new = replace(new_session(name.session_id, user=name.user_id or "alice"), uid=f"uid-{number}") if create else None
        request = AppendRequest(tenant, name, _drafts(pieces), NOW + number, ignore_existing=ignore, create=new, **expected)
        return await store.append(request)
    if kind == "create":
        new = replace(new_session(details[0].session_id, user=details[0].user_id, labels={"a": "b"}), uid=f"uid-{number}")
        return await store.create_session(tenant, new, return_existing=details[1])
    if kind == "update":
        change = SessionChange(frozenset(details[1]), NOW + number, details[2], f'{{"n":{number}}}', {"n": str(number)})
        return await store.update_session(tenant, details[0], change)
    if kind == "delete":
        return await store.delete_session(tenant, details[0])
    if kind == "sweep":
        return await store.delete_expired(tenant, details[0], 1000)
    return await store.get_event(tenant, details[0], details[1])


async def _answer(store: Store, tenant: str, call: Sequence[Any], number: int) -> Any:
    try:
        return await _call(store, tenant, call, number)
    except ThreadkeepError as error:
        return type(error), error.metadata


async def _everything(store: Store, tenant: str) -> AsyncIterator[Any]:
    sessions = (await store.list_sessions(tenant, SessionQuery())).sessions
    yield sessions
    for session in sessions:
        page = await store.list_events(tenant, session.ref, EventQuery(limit=1000))
        yield list(page.events), page.log_version, page.last_seq
    for user in ("alice", "bob"):
        query = SearchQuery(UserScope(user), EventFilter(keywords=("a", "b")), limit=1000)
        yield list((await store.search(tenant, query)).hits)
    yield (await store.info(tenant, totals=True)).totals


@EXAMPLES
@given(calls=st.lists(CALLS, min_size=1, max_size=25))
def test_every_sequence_of_calls_has_equal_results(both: Both, calls: list[Any]) -> None:
    tenant = both.next_name()  # an empty world for each example

    async def check() -> None:
        for number, call in enumerate(calls):
            expected = await _answer(both.reference, tenant, call, number)
            assert await _answer(both.tested, tenant, call, number) == expected, call
        left = [part async for part in _everything(both.tested, tenant)]
        assert left == [part async for part in _everything(both.reference, tenant)]

    both.runner.run(check())
