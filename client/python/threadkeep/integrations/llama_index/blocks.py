"""Blocks of `Memory` that recall, by search of the server, what is not in the chat history."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, TextBlock
from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.memory.memory import BaseMemoryBlock

from ... import AsyncClient, memory_entry
from ...formats.llama_index import event_of
from ...v1.memory_pb2 import MemoryEntry
from ...v1.message_pb2 import ROLE_ASSISTANT, ROLE_USER, Part
from ...v1.message_pb2 import ChatMessage as StoredMessage

_LONGEST_QUERY = 1_024
_TOKEN = 4
"""Characters of a token, as the server estimates."""
_ROLES = {ROLE_USER: "user", ROLE_ASSISTANT: "assistant"}


class _SearchBlock(BaseMemoryBlock[str]):
    """What both blocks share: the query is the newest message of the user, and a hit is a line."""

    top_k: int = Field(default=5, ge=1, le=100, description="The most hits.")
    mode: str = Field(default="auto", description="The mode of the search: auto, substring, ranked, semantic or hybrid.")

    _client: AsyncClient = PrivateAttr()

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        query = _query(messages or [])
        lines = await self._found(query, str(block_kwargs.get("session_id") or "")) if query else []
        return "\n".join(lines)

    async def _found(self, query: str, session_id: str) -> list[str]:
        """The hits of a query in a conversation, best first."""
        raise NotImplementedError

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Leave out the last hits, until about so many tokens are saved; None if no hit is left."""
        lines, saved = content.split("\n"), 0
        while lines and saved < tokens_to_truncate * _TOKEN:
            saved += len(lines.pop()) + 1
        return "\n".join(lines) or None


class ThreadkeepRecallBlock(_SearchBlock):
    """Recalls messages that `ThreadkeepChatStore` keeps and `Memory` does not send: archived ones, and those of other sessions.

    client: says the app and the user. all_sessions: search every session of the user in the app, by default; otherwise only the
    conversation itself. Messages of other frameworks are found too. It stores nothing: the chat store has it all.
    """

    name: str = "recalled_messages"
    all_sessions: bool = Field(default=True, description="Search all sessions of the user, not the conversation alone.")

    def __init__(self, client: AsyncClient, **fields: Any) -> None:
        super().__init__(**fields)
        self._client = client

    async def _found(self, query: str, session_id: str) -> list[str]:
        lines: list[str] = []
        where = session_id if session_id and not self.all_sessions else None
        hits = self._client.search(query, session=where, mode=self.mode, fields=["text"], page_size=self.top_k * 2)
        async for hit in hits:
            event = hit.event
            if hit.session.session_id == session_id and not event.pb.archived:
                continue  # the chat history has it
            lines.append(_line(str(event.role), event.text))
            if len(lines) == self.top_k:
                break
        return lines

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Stores nothing: the chat store archives messages that leave the short-term memory."""


class ThreadkeepMemoryBlock(_SearchBlock):
    """Keeps messages that leave the short-term memory in the user's long-term memory, and recalls them in every session.

    client: says the app and the user. namespace: the path of labels in which entries are kept and searched. It works with any
    chat store. A message of a session is one entry, however often it is put.
    """

    name: str = "long_term_memory"
    namespace: Sequence[str] = Field(default=(), description="The namespace of the entries.")

    def __init__(self, client: AsyncClient, **fields: Any) -> None:
        super().__init__(**fields)
        self._client = client

    async def _found(self, query: str, session_id: str) -> list[str]:
        found = await self._client.memories.search(
            query, mode=self.mode, top_k=self.top_k, namespace_prefix=tuple(self.namespace)
        )
        return [_line(_ROLES.get(entry.content.role, ""), _text(entry.content.parts)) for entry in found.entries]

    async def _aput(self, messages: list[ChatMessage]) -> None:
        entries: dict[str, MemoryEntry] = {}
        for message in messages:
            content = event_of(message.model_dump(mode="json")).message
            session_id = str(message.additional_kwargs.get("session_id") or "")
            text = _text(content.parts)
            if content.role in _ROLES and text.strip():
                digest = hashlib.sha256(f"{session_id}\0{content.role}\0{text}".encode()).hexdigest()
                said = StoredMessage(role=content.role, parts=[Part(text=text)])
                entries[digest] = memory_entry(said, id=digest, session_id=session_id, namespace=self.namespace)
        if entries:
            await self._client.memories.upsert(*entries.values(), if_exists="ignore")


def _query(messages: Sequence[ChatMessage]) -> str:
    """The text of the newest message of the user that has one."""
    for message in reversed(messages):
        if message.role.value == "user":
            text = " ".join(block.text for block in message.blocks if isinstance(block, TextBlock)).strip()
            if text:
                return text[:_LONGEST_QUERY]
    return ""


def _text(parts: Sequence[Any]) -> str:
    return "\n".join(part.text for part in parts if part.HasField("text"))


def _line(role: str, text: str) -> str:
    """A hit in one line, so that hits can be left out one by one."""
    said = " ".join(text.split())
    return f"{role}: {said}" if role else said
