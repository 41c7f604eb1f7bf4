"""For any logs and any terms the SQL stores find the candidates that the reference finds.

The analyzer is replaced: words are separated by blanks, so that terms may be ones that no analyzer makes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.store.conftest import Both
from tests.store.properties.test_properties import DRAFTS, EXAMPLES, FILTERS, indexed
from tests.support.codec import draft
from tests.support.sessions import TENANT, append, compact, new_session, placed, ref
from threadkeep.v1 import event_pb2
from threadkeep_server.domain.filters import EventFilter
from threadkeep_server.domain.scopes import AppScope, EventScope, UserScope
from threadkeep_server.domain.search import ALL_FIELDS, Candidate, Candidates, Field, WordQuery, Words
from threadkeep_server.store.contract.search import FoundEvent
from threadkeep_server.store.contract.store import Store
from threadkeep_server.store.inmemory import InMemoryStore
from threadkeep_server.store.sql.store import open_store
from threadkeep_server.transport.wire.codec import EventCodec

# Few, that they meet; what engines fold, part, quote or mind; what markers look like; longer than any engine takes.
PLAIN = ["a", "b", "ab", "ß", "ss", "é", "e\u0301", "字", "漢字", "แ", "🦀", "𝒳", "\ue100a", "\u200b", "x" * 64, "字" * 64]
ODD = [
    "A",
    "\x01",
    '"',
    "'",
    "\\",
    "''",
    "\\'",
    "*",
    "a*",
    "^a",
    "-",
    "~",
    "~s1",
    "a:b",
    "text:a",
    "{",
    "(",
    "&",
    "|",
    "!",
    ":A",
    "a|b",
]
WORDS = ["AND", "OR", "NOT", "NEAR", "x" * 65, "x" * 3000, "字" * 1000, "字" * 1001]
TERMS = st.sampled_from([*PLAIN, *ODD, *WORDS])
FIELDS = st.lists(TERMS, max_size=4).map(tuple)
BATCHES = st.lists(
    st.lists(st.tuples(DRAFTS, st.tuples(FIELDS, FIELDS, FIELDS, FIELDS, FIELDS)), min_size=1, max_size=4),
    min_size=1,
    max_size=4,
)
MASKS = st.integers(1, int(ALL_FIELDS)).map(Field)
QUERIES = st.tuples(st.lists(TERMS, min_size=1, max_size=6).map(tuple), MASKS | st.just(ALL_FIELDS), FILTERS)


class PlainCodec(EventCodec):
    """Finds the words of an event in its metadata: terms with blanks between, fields with tabs."""

    def words(self, body: bytes, time: int) -> Words:
        fields = _metadata(body).split("\t")
        return Words(*([term for term in field.split(" ") if term] for field in fields))


def _metadata(body: bytes) -> str:
    return event_pb2.SessionEvent.FromString(body).metadata_json


@pytest.fixture
def plain(url: str) -> Iterator[Both]:
    with asyncio.Runner() as runner:
        opened = open_store(url, PlainCodec())
        tested = runner.run(opened.__aenter__())
        try:
            yield Both(runner, tested, InMemoryStore(PlainCodec()))
        finally:
            runner.run(opened.__aexit__(None, None, None))


@EXAMPLES
@example(logs=[[[({"text": "no terms"}, ((), (), (), (), ()))]]], queries=[], archived=[], gone=False, waiting=True)
@given(
    logs=st.lists(BATCHES, min_size=1, max_size=3),
    queries=st.lists(QUERIES, min_size=1, max_size=6),
    archived=st.lists(st.integers(0, 15), max_size=3),
    gone=st.booleans(),
    waiting=st.booleans(),
)
def test_candidates_are_those_of_the_reference(
    plain: Both, logs: list[Any], queries: list[Any], archived: list[int], gone: bool, waiting: bool
) -> None:
    user = plain.next_name()
    names = [ref(f"{user}-{number}", user=user, app=f"{user}-app") for number in range(len(logs))]

    async def check() -> None:
        for store in (plain.tested, plain.reference):
            for name, batches in zip(names, logs, strict=True):
                await _fill(store, name, batches, archived)
            if gone:
                if waiting:
                    await indexed(store)
                await store.delete_session(TENANT, names[-1])
            if waiting:
                await indexed(store)
        left = names[:-1] if gone else names
        scopes: list[EventScope] = [*left[:1], UserScope(user), UserScope(user, f"{user}-app"), AppScope(f"{user}-app")]
        for terms, fields, wanted in queries:
            for scope in scopes:
                query = WordQuery(terms, fields)
                tested = await plain.tested.word_candidates(TENANT, scope, query, wanted)
                reference = await plain.reference.word_candidates(TENANT, scope, query, wanted)
                expected = await _told(plain.reference, scope, reference, wanted)
                assert await _told(plain.tested, scope, tested, wanted) == expected
                assert (tested.documents, tested.complete) == (reference.documents, reference.complete)
                if waiting:  # what was deleted a moment ago may still be counted
                    assert tested.frequencies == reference.frequencies

    plain.runner.run(check())


async def _fill(store: Store, name: Any, batches: Sequence[Any], archived: Sequence[int]) -> None:
    ids: list[str] = []
    for batch in batches:
        drafts = [
            draft(**fields | {"metadata_json": "\t".join(map(" ".join, words))}, event_id=f"e{len(ids) + number}")
            for number, (fields, words) in enumerate(batch)
        ]
        ids += [each.event_id for each in drafts]
        await append(store, *drafts, to=name, create=new_session(name.session_id, user=name.user_id, app=name.app))
    leaving = sorted({ids[number] for number in archived if number < len(ids)})
    if leaving:
        summary = draft("sum", synthetic=True, event_id="summary", metadata_json="a b\t\t\t\t字")
        await compact(store, leaving, placed(None, summary), of=name, compaction_id="c")


async def _told(store: Store, scope: EventScope, found: Candidates, wanted: EventFilter) -> list[Any]:
    """Candidates and their events without the numbers that each store gives."""
    keys = [each.key for each in found.found]
    events = await store.events_by_key(TENANT, scope, keys, wanted, neighbors=2)
    turns = {each.key: each.event.seq for each in await store.events_by_key(TENANT, scope, [each.turn for each in events])}
    assert [each.key for each in events] == keys
    pairs = zip(found.found, events, strict=True)
    return sorted((_of(candidate, event, turns.get(event.turn, 0)) for candidate, event in pairs), key=lambda each: each[:3])


def _of(candidate: Candidate, event: FoundEvent, turn: int) -> tuple[Any, ...]:
    place = (event.ref, candidate.position, candidate.time, candidate.role, candidate.author, candidate.words)
    beside = ([each.seq for each in event.before], [each.seq for each in event.after])
    return (*place, event.event, event.time, turn, beside)
