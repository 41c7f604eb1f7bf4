"""Memories for the tests of long-term memory."""

from __future__ import annotations

from itertools import count
from typing import Any

from tests.unit.service.search.searching import ANYONE, SCOPE, Meanings, SearchServices
from threadkeep.v1 import message_pb2
from threadkeep_server.domain.memories import MemoryDraft, MemoryFilter, MemoryScope

_numbers = count(1)


def entry(text: str, entry_id: str | None = None, **fields: Any) -> MemoryDraft:
    content = message_pb2.ChatMessage(role=message_pb2.ROLE_USER)
    content.parts.add().text = text
    return MemoryDraft(entry_id or f"e{next(_numbers)}", content.SerializeToString(), text, **fields)


async def all_texts(services: SearchServices, scope: MemoryScope = SCOPE) -> list[str]:
    page = await services.memory.list(ANYONE, scope, MemoryFilter(), 1000, None)
    assert page.cursor is None
    return [memory.draft.text for memory in page.memories]


async def remembering(*texts: str, embedder: Meanings | None = None, **how: Any) -> SearchServices:
    services = SearchServices(embedder, **how)
    if texts:
        await services.memory.add(ANYONE, SCOPE, [entry(text) for text in texts])
    if embedder is not None:
        await services.embed_all()
    return services
