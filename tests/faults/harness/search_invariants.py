"""Invariants of memories, the index and vectors once all background work is done."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable

import threadkeep
from threadkeep import errors
from threadkeep.v1.event_pb2 import SessionEvent
from threadkeep.v1.memory_pb2 import MemoryEntry

from ..conftest import Look
from .facts import FactLedger, fact, word_of

AT_ONCE = 8
NOTHING = {
    "memories without their vector": "FROM memories m WHERE NOT EXISTS (SELECT 1 FROM memory_vectors v, {present} "
    "WHERE v.id = m.id AND v.model = present.number AND length(v.vector) = 4 * present.dimension)",
    "memories that are marked as embedded by another": "FROM memories m, {present} WHERE m.vector_model <> present.number",
    "vectors of memories that are gone": "FROM memory_vectors v WHERE NOT EXISTS (SELECT 1 FROM memories m WHERE m.id = v.id)",
    "events that are not embedded": "FROM events e WHERE NOT EXISTS (SELECT 1 FROM event_vectors v, {present} "
    "WHERE v.id = e.id AND v.model = present.number)",
    "vectors of another size": "FROM event_vectors v, {present} WHERE length(v.vector) <> 4 * present.dimension",
    "vectors of events that are gone": "FROM event_vectors v WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.id = v.id)",
    "texts of events that are gone": "FROM event_text t WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.id = t.id)",
    "words of events that are gone": "FROM event_words w WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.id = w.id)",
    "events that are not indexed": "FROM events e WHERE NOT EXISTS (SELECT 1 FROM event_text t WHERE t.id = e.id)",
}
_PRESENT = "(SELECT number, dimension FROM vector_models WHERE name = '{model}') present"


def check_tables(look: Look, model: str, *, texts: int) -> None:
    """Checks in the database that every document has its derived data once, by this model, and that nothing else exists.
    `texts`: the number of events with text."""
    present = _PRESENT.format(model=model)
    assert look(f"SELECT count(*) FROM {present}") == 1, f"the model {model} is known"
    found = {what: look("SELECT count(*) " + sql.format(present=present)) for what, sql in NOTHING.items()}
    assert not any(found.values()), found
    assert look("SELECT count(*) FROM event_vectors WHERE vector IS NOT NULL") == texts


async def caught_up(client: threadkeep.AsyncClient, seconds: float = 90) -> None:
    """Waits until everything is indexed and embedded."""
    async with asyncio.timeout(seconds):
        while True:
            try:
                info = await client.info()
            except errors.Unavailable:  # the embedder is retried at intervals
                await asyncio.sleep(0.05)
                continue
            if not info.search_index.lag_batches and not info.embeddings.waiting:
                return
            await asyncio.sleep(0.05)


async def events_of(client: threadkeep.AsyncClient, sessions: Iterable[str]) -> dict[str, list[SessionEvent]]:
    return {session: [event.pb async for event in client.events(session, page_size=1000)] for session in sessions}


def has_text(event: SessionEvent) -> bool:
    return bool(threadkeep.text_of(event).strip())


def said(entry: MemoryEntry) -> str:
    return entry.content.parts[0].text


async def check_memories(ledger: FactLedger, client: threadkeep.AsyncClient) -> list[MemoryEntry]:
    """Checks that every acknowledged entry and every event with text exists once, except for deleted ones; returns all."""
    entries = [entry async for entry in client.memory().list(page_size=1000)]
    ids = {entry.id for entry in entries}
    assert len(ids) == len(entries), "no id twice"
    assert not ids & ledger.dropped, "what was forgotten stays so"
    given = {entry.id: said(entry) for entry in entries if not entry.event_id}
    assert given.items() <= ledger.wanted.items(), "only requested memories"
    assert ledger.added - ledger.dropping.keys() <= set(given), "what was acknowledged is there"

    places = [(entry.session_id, entry.event_id) for entry in entries if entry.event_id]
    assert len(set(places)) == len(places), "no event twice"
    for entry in entries:
        if entry.event_id:
            assert said(entry) == fact(f"{entry.session_id}/{entry.event_id}")
    logs = await events_of(client, ledger.requested) | ledger.gone
    texts = {(session, event.event_id) for session, log in logs.items() for event in log if has_text(event)}
    remembered = {place for place in places if place[0] in logs}  # the deletion of one session may have been in progress
    forgotten = {ledger.dropping[id_] for id_ in ledger.dropped}
    forgetting = set(ledger.dropping.values())
    assert remembered <= texts - forgotten, "nothing without text, and nothing that was forgotten"
    lost = texts - remembered - forgetting
    assert not lost, f"not remembered: {lost}"
    return entries


async def check_found(client: threadkeep.AsyncClient, logs: dict[str, list[SessionEvent]], entries: list[MemoryEntry]) -> int:
    """Checks that each event and memory is found once by words, and first by its own text with semantic search; returns their
    number."""
    room = asyncio.Semaphore(AT_ONCE)

    async def alone(check: Awaitable[None]) -> None:
        async with room:
            await check

    async def of_event(session: str, event_id: str) -> None:
        name = f"{session}/{event_id}"
        by_word = await client.search_page(word_of(name), mode="ranked")
        assert [(hit.session.session_id, hit.event.event_id) for hit in by_word.hits] == [(session, event_id)]
        near = await client.search_page(fact(name), mode="semantic", page_size=1)
        assert [(hit.session.session_id, hit.event.event_id) for hit in near.hits] == [(session, event_id)]
        assert near.hits[0].score > 0.999
        assert near.semantic_lag == 0

    async def of_memory(entry: MemoryEntry) -> None:
        text = said(entry)
        by_word = await client.memory().search(text.split()[-1], mode="ranked")
        assert [each.id for each in by_word.entries] == [entry.id]
        near = await client.memory().search(text, mode="semantic", top_k=1)
        assert [each.id for each in near.entries] == [entry.id]
        assert near.entries[0].score > 0.999

    result = [(session, event.event_id) for session, log in logs.items() for event in log if has_text(event)]
    checks = [*(of_event(*place) for place in result), *(of_memory(entry) for entry in entries)]
    await asyncio.gather(*map(alone, checks))
    return len(checks)


def texts_in(logs: dict[str, list[SessionEvent]]) -> int:
    return sum(has_text(event) for log in logs.values() for event in log)
