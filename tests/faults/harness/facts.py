"""Events and memories of fault tests, each with a unique word, and a ledger of acknowledged calls."""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import threadkeep
from threadkeep.v1.event_pb2 import SessionEvent
from threadkeep.v1.memory_service_pb2 import AddSessionToMemoryResponse

from .ledger import Batch, Ledger

T = TypeVar("T")

Place = tuple[str, str]
"""A session and an event id."""

_LETTERS = "bcdfghjklmnpqrtvwxz"  # letters that a stemmer does not change
_UNCERTAIN = {"UNAVAILABLE", "DEADLINE_EXCEEDED", "SERVER_DRAINING"}


def word_of(name: str) -> str:
    """Returns a unique word."""
    return "".join(_LETTERS[byte % len(_LETTERS)] for byte in hashlib.sha256(name.encode()).digest()[:12])


def fact(name: str) -> str:
    return f"remark {word_of(name)}"


def spoken(session: str, event_id: str) -> SessionEvent:
    """Returns an event. One in eight is an image without a name, which has nothing to store in memory or to embed."""
    name = f"{session}/{event_id}"
    if hashlib.sha256(name.encode()).digest()[-1] % 8 == 0:
        return threadkeep.user(threadkeep.media("image/png", uri="data:,"), event_id=event_id)
    return threadkeep.user(fact(name), event_id=event_id)


@dataclass
class FactLedger(Ledger):
    """Events with facts, and memories. `wanted`: texts of entries by the ids from clients; `added`: acknowledged entries.
    `dropping`: entries with a requested deletion, by id, with their events; `dropped`: acknowledged deletions. `gone`: events
    of deleted sessions that remain in memory."""

    wanted: dict[str, str] = field(default_factory=dict)
    added: set[str] = field(default_factory=set)
    dropping: dict[str, Place | None] = field(default_factory=dict)
    dropped: set[str] = field(default_factory=set)
    gone: dict[str, Batch] = field(default_factory=dict)
    done: Counter[str] = field(default_factory=Counter)

    def new_batch(self, session: str, writer: str) -> Batch:
        batches = self.requested.setdefault(session, [])
        name = f"{writer}-{len(batches)}"
        batches.append([spoken(session, f"{name}-{n}") for n in range(random.choice((1, 1, 2, 4)))])
        return batches[-1]

    async def until_answered(self, call: Callable[[], Awaitable[T]], seconds: float = 90) -> T:
        """Retries until there is a response."""
        async with asyncio.timeout(seconds):
            while True:
                try:
                    return await call()
                except threadkeep.ThreadkeepError as error:
                    reason = error.reason or error.code.name
                    if reason not in _UNCERTAIN:
                        raise
                    self.problems[reason] += 1
                    await asyncio.sleep(0.05)

    def some_acknowledged(self) -> Place | None:
        """Returns an acknowledged event with text."""
        session = random.choice(list(self.requested) or [""])
        result = [
            event_id for event_id in self.acks.get(session, {}) if spoken(session, event_id).message.parts[0].HasField("text")
        ]
        return (session, random.choice(result)) if result else None

    def some_added(self) -> str | None:
        """Returns an acknowledged entry without a requested deletion."""
        there = sorted(self.added - self.dropping.keys())
        return random.choice(there) if there else None


async def add_each(ledger: FactLedger, client: threadkeep.AsyncClient, writer: str) -> None:
    """Adds entries with ids, each batch until it is acknowledged, some of them twice; deletes some."""
    memory, number = client.memory(), 0
    while True:
        number += 1
        ids = [f"{writer}-{number}-{n}" for n in range(random.choice((1, 2, 3)))]
        entries = [threadkeep.memory_entry(fact(id_), id=id_) for id_ in ids]
        ledger.wanted |= {id_: fact(id_) for id_ in ids}
        result = await ledger.until_answered(partial(memory.add, *entries))
        assert [each.id for each in result] == ids
        ledger.done["replayed"] += sum(each.replayed for each in result)
        ledger.added |= set(ids)
        if random.random() < 0.3:
            again = await ledger.until_answered(partial(memory.add, *entries))
            assert all(each.replayed for each in again), "what was acknowledged is there"
        if random.random() < 0.2:
            await drop(ledger, client, ids[0])


async def drop(ledger: FactLedger, client: threadkeep.AsyncClient, id_: str, of: Place | None = None) -> None:
    """Deletes an entry. A lost response may have deleted it already."""
    ledger.dropping[id_] = of
    result = await ledger.until_answered(partial(client.memory().delete, [id_]))
    assert result.deleted + result.not_found == 1
    ledger.dropped.add(id_)
    ledger.done["forgotten"] += 1


async def ingest_each(ledger: FactLedger, client: threadkeep.AsyncClient, session: str) -> None:
    while True:
        await ingest(ledger, client, session)
        await asyncio.sleep(0.01)


async def ingest(ledger: FactLedger, client: threadkeep.AsyncClient, session: str) -> AddSessionToMemoryResponse:
    said = len(ledger.acks.get(session, {}))
    result = await ledger.until_answered(partial(client.memory().add_session, session))
    assert result.added + result.existing + result.skipped + result.deleted >= said, "everything that was acknowledged is read"
    ledger.done["ingested"] += result.added
    return result


async def forget_each(ledger: FactLedger, client: threadkeep.AsyncClient) -> None:
    """Deletes memories of events, found by their word; ingesting the session again must not restore them."""
    while True:
        await asyncio.sleep(0.03)
        place = ledger.some_acknowledged()
        if place is None:
            continue
        word = word_of("/".join(place))
        found = await ledger.until_answered(partial(client.memory().search, word, mode="ranked"))
        assert len(found.entries) <= 1, "an event is remembered once"
        for entry in found.entries:
            assert (entry.session_id, entry.event_id) == place
            assert entry.id not in ledger.dropped, "what was forgotten is not found"
            await drop(ledger, client, entry.id, place)


async def search_each(ledger: FactLedger, client: threadkeep.AsyncClient) -> None:
    """Finds acknowledged data by its word, whatever the state of the index; semantic search must succeed."""
    while True:
        place, added = ledger.some_acknowledged(), ledger.some_added()
        if place is not None:
            word = word_of("/".join(place))
            page = await ledger.until_answered(partial(client.search_page, word, mode="ranked"))
            assert [(hit.session.session_id, hit.event.event_id) for hit in page.hits] == [place]
            await ledger.until_answered(partial(client.search_page, word, mode="hybrid"))
        if added is not None:
            found = await ledger.until_answered(partial(client.memory().search, word_of(added), mode="ranked"))
            assert [entry.id for entry in found.entries] == [added] or added in ledger.dropping
            await ledger.until_answered(partial(client.memory().search, word_of(added), mode="semantic"))
        ledger.done["searched"] += 1
        await asyncio.sleep(0.01)


async def come_and_go(ledger: FactLedger, client: threadkeep.AsyncClient) -> None:
    """Ingests sessions and deletes them: their memories stay unless they are deleted too."""
    number = 0
    while True:
        number += 1
        session = f"gone-{number}"
        batch = [spoken(session, f"e{n}") for n in range(3)]
        await ledger.until_answered(partial(client.append, session, *batch, create_if_missing=True))
        await ingest(ledger, client, session)
        await ledger.until_answered(partial(client.delete_session, session))
        if number % 2:
            await ledger.until_answered(partial(client.memory().delete, session_id=session))
        ledger.gone[session] = [] if number % 2 else batch
        ledger.done["sessions deleted"] += 1
        await asyncio.sleep(0.05)
