"""The memory store."""

from __future__ import annotations

import asyncio
import hashlib
import json
import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from strands.memory import AddMessagesContext, ExtractionConfig, MemoryEntry, MemoryStore, SearchOptions
from strands.types.content import Message

from ... import ChatMessage, Client, Part, memory_entry
from ...v1 import memory_pb2
from ...v1.message_pb2 import ROLE_ASSISTANT, ROLE_USER

_MOST_QUERY = 1024
_MOST_RESULTS = 10


class ThreadkeepMemoryStore(MemoryStore):
    """Long-term memory of a user, as a store of a `MemoryManager`.

    client: its app and user own the entries; `user_id` names another user. name, description, max_search_results (10),
    writable, extraction: see `MemoryStoreConfig`. namespace: a path of labels; the store writes to it, and searches it and
    those below it. By default the root, where every entry of the user is found.

    `add` stores the same content once, however often it is called. `add_messages` stores the text of each message as an entry,
    whose id is the message's tracking id; the server ranks, and no model is called. Works in any event loop.
    """

    def __init__(
        self,
        client: Client,
        name: str = "threadkeep",
        *,
        description: str | None = None,
        max_search_results: int | None = _MOST_RESULTS,
        writable: bool = True,
        extraction: ExtractionConfig | bool | None = None,
        namespace: Iterable[str] = (),
        user_id: str | None = None,
    ) -> None:
        self.name = name
        self.description = description
        self.max_search_results = max_search_results
        self.writable = writable
        self.extraction = extraction
        self._namespace = tuple(namespace)
        self._memory = client.memory(user_id=user_id)
        self._run_id = str(uuid.uuid4())

    async def search(self, query: str, options: SearchOptions | None = None) -> list[MemoryEntry]:
        """The entries that match a query, best first. Their metadata has an id and a score too."""
        limit = (options or {}).get("max_search_results") or self.max_search_results or _MOST_RESULTS
        found = await asyncio.to_thread(self._memory.search, query[:_MOST_QUERY], top_k=limit, namespace_prefix=self._namespace)
        return [self._entry(each) for each in found.entries]

    async def add(self, content: str, metadata: dict[str, Any] | None = None) -> str:
        """Add a text; returns the id of its entry. The same text again replaces it."""
        entry_id = hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()
        entry = memory_entry(content, id=entry_id, metadata=metadata, namespace=self._namespace)
        await asyncio.to_thread(self._memory.upsert, entry)
        return entry_id

    async def add_messages(self, messages: list[Message], context: AddMessagesContext | None = None) -> int:
        """Add the texts of messages; returns how many have one. A repeated batch adds nothing."""
        given = context.sequence_numbers if context is not None else None
        numbers: Sequence[int | None] = given or [None] * len(messages)
        entries = [
            entry
            for message, number in zip(messages, numbers, strict=True)
            if (entry := self._message(message, number)) is not None
        ]
        if entries:
            await asyncio.to_thread(self._memory.upsert, *entries)
        return len(entries)

    def _message(self, message: Message, number: int | None) -> memory_pb2.MemoryEntry | None:
        """The entry of a message; None without text."""
        texts = [block["text"] for block in message["content"] if block.get("text", "").strip()]
        if not texts:
            return None
        numbered = f"{self._run_id}/{number}" if number is not None else ""
        text_id = hashlib.sha256("\n".join(texts).encode("utf-8", "replace")).hexdigest()
        role = ROLE_ASSISTANT if message["role"] == "assistant" else ROLE_USER
        content = ChatMessage(role=role, parts=[Part(text=text) for text in texts])
        entry_id = message.get("tracking_id") or numbered or text_id
        return memory_entry(content, id=entry_id, namespace=self._namespace)

    def _entry(self, entry: memory_pb2.MemoryEntry) -> MemoryEntry:
        text = "\n".join(part.text for part in entry.content.parts if part.HasField("text"))
        metadata = _metadata(entry) | {"id": entry.id, "score": entry.score}
        return MemoryEntry(content=text, store_name=self.name, metadata=metadata)


def _metadata(entry: memory_pb2.MemoryEntry) -> dict[str, Any]:
    """The metadata that the entry was added with."""
    metadata = json.loads(entry.metadata_json) if entry.metadata_json else {}
    return metadata if isinstance(metadata, dict) else {}
