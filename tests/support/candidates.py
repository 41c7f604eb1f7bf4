"""Candidate queries, as ranked searches make them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

from tests.support.codec import CODEC, draft
from tests.support.sessions import TENANT, append, create
from threadkeep_server.domain.filters import ALL, EventFilter
from threadkeep_server.domain.model import EventDraft
from threadkeep_server.domain.scopes import AppScope, EventScope, UserScope
from threadkeep_server.domain.search import ALL_FIELDS, Candidates, Field, WordQuery
from threadkeep_server.store.contract.store import Store
from threadkeep_server.store.contract.terms import as_text, selected

ALICE = UserScope("alice")
SHOP = AppScope("shop")


async def twice(store: Store) -> AsyncIterator[bool]:
    """Runs at once, and again after the index has caught up. Yields whether it has."""
    yield False
    await caught_up(store)
    yield True


async def caught_up(store: Store) -> None:
    deadline = time.monotonic() + 60
    while (await store.info(TENANT, totals=False)).index_lag:
        assert time.monotonic() < deadline, "the index does not catch up"
        await asyncio.sleep(0.005)


def terms(*texts: str) -> tuple[str, ...]:
    """Analyzes words like the server."""
    return tuple(term for text in texts for term in CODEC.words(draft(text, time=0).body, 0).text)


def words(sent: EventDraft, fields: Field = ALL_FIELDS) -> str:
    assert sent.event_time is not None
    return selected(as_text(CODEC.words(sent.body, sent.event_time)), fields)


async def ask(
    store: Store,
    question: str,
    scope: EventScope = ALICE,
    wanted: EventFilter = ALL,
    *,
    tenant: str = TENANT,
    fields: Field = ALL_FIELDS,
    limit: int = 256,
) -> Candidates:
    return await store.word_candidates(tenant, scope, WordQuery(terms(question), fields, limit), wanted)


async def seqs(store: Store, question: str, scope: EventScope = ALICE, wanted: EventFilter = ALL, **options: Any) -> list[int]:
    """Returns the positions of the candidates of all sessions, in order."""
    found = await ask(store, question, scope, wanted, **options)
    return sorted(candidate.position >> 20 for candidate in found.found)


async def said_in(store: Store, question: str, scope: EventScope, tenant: str = TENANT) -> list[str]:
    """Returns the texts of the candidates in a scope, read by their keys."""
    found = (await ask(store, question, scope, tenant=tenant)).found
    events = await store.events_by_key(tenant, scope, [candidate.key for candidate in found])
    return sorted(CODEC.text(each.event.body) for each in events)


async def say(store: Store, *drafts: EventDraft) -> None:
    await create(store)
    await append(store, *drafts)
