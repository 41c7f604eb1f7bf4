"""The memory service."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from google.adk.events import Event
from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions import Session
from google.genai.types import Content
from pydantic_core import to_jsonable_python
from typing_extensions import override

from ..._async.client import AsyncClient
from ..._async.memories import AsyncUserMemory
from ..._search import memory_entry
from ...errors import EventNotFound, SessionNotFound
from ...formats import adk
from ...messages import new_event_id
from ...v1.memory_pb2 import MemoryEntry as StoredEntry
from ...v1.message_pb2 import ChatMessage
from ...v1.session_pb2 import SessionRef
from ._events import item_of

_QUERY_CHARACTERS = 1_024
_EVENTS_AT_ONCE = 1_000
_ENTRIES_AT_ONCE = 100
_TIMESTAMP = "timestamp"
"""The key of metadata for a timestamp that is no time."""


class ThreadkeepMemoryService(BaseMemoryService):
    """Long-term memory in Threadkeep: `Runner(..., memory_service=ThreadkeepMemoryService(client))`.

    client: its address and token are used; the app and the user are those of ADK's calls.
    mode: how a query is read: "auto" (the default), "substring", "ranked", "semantic" or "hybrid".
    top_k: the most memories of a search, at most 1,000.

    A session or events can be added again, in any order: only what is new is added, and what was deleted stays deleted. Every
    method may raise `threadkeep.ThreadkeepError`, such as MemoryNotConfigured.
    """

    def __init__(self, client: AsyncClient, *, mode: str = "auto", top_k: int = 10) -> None:
        self._client = client
        self._mode = mode
        self._top_k = top_k

    @override
    async def add_session_to_memory(self, session: Session) -> None:
        """Adds the events of a session that have text, without reasoning. Of a session that Threadkeep keeps, these are all of
        its events; of another one, those that it has."""
        memory = self._memory(session.app_name, session.user_id)
        try:
            await memory.add_session(_ref(memory, session.id))
        except SessionNotFound:
            await _add_events(memory, session.events, session.id, {})

    @override
    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Adds events that have text, without reasoning. `custom_metadata` is that of every entry that is added.

        Events that no session of Threadkeep has are added too. If the entry of such an event is deleted, adding it again adds
        the entry again.
        """
        memory = self._memory(app_name, user_id)
        metadata = _metadata(custom_metadata)
        rest = {event.id: event for event in events if event.id}
        while session_id and rest:
            some = list(rest)[:_EVENTS_AT_ONCE]
            try:
                await memory.add_session(_ref(memory, session_id), event_ids=some, metadata=metadata or None)
            except SessionNotFound:
                break
            except EventNotFound as missing:
                await _add_events(memory, [rest.pop(missing.event_id)], session_id, metadata)
            else:
                rest = {key: event for key, event in rest.items() if key not in some}
        unknown = [event for event in events if not event.id]
        await _add_events(memory, [*rest.values(), *unknown], session_id or "", metadata)

    @override
    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Adds entries; one with the id of a stored entry replaces it. The metadata of an entry wins over `custom_metadata`.

        The text of an entry must not be blank. Raises `threadkeep.errors.InvalidField`.
        """
        entries = []
        for each in memories:
            metadata = {**_metadata(custom_metadata), **_metadata(each.custom_metadata)}
            time = _time_of(each.timestamp)
            if each.timestamp and time is None:
                metadata[_TIMESTAMP] = each.timestamp
            message = adk.message_of(each.content.model_dump(mode="json", exclude_none=True))
            author, new_id = each.author or "", each.id or new_event_id()
            entries.append(memory_entry(message, id=new_id, author=author, event_time=time, metadata=metadata or None))
        await _write(self._memory(app_name, user_id), entries, if_exists="replace")

    @override
    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Returns the memories that match a query, best first. Of a longer query, the first 1,024 characters count."""
        found = await self._memory(app_name, user_id).search(query[:_QUERY_CHARACTERS], mode=self._mode, top_k=self._top_k)
        return SearchMemoryResponse(memories=[_entry_of(each) for each in found.entries])

    @override
    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Deletes the memory with an id that a search returned. Does nothing without an id, or if there is none."""
        if memory_id:
            await self._memory(app_name, user_id).delete([memory_id])

    def _memory(self, app_name: str, user_id: str) -> AsyncUserMemory:
        return self._client.memory(app=app_name, user_id=user_id)


async def _add_events(memory: AsyncUserMemory, events: Sequence[Event], session_id: str, metadata: Mapping[str, Any]) -> None:
    """Adds events that Threadkeep does not keep. An entry has an id of its session and event, so it is added once."""
    entries = []
    for event in events:
        item = item_of(event)
        message = adk.event_of(item).message
        texts = [part for part in message.parts if part.text.strip()]
        if not texts:
            continue
        event_id = event.id or hashlib.sha256(f"{event.author}:{event.timestamp}:{item.get('content')}".encode()).hexdigest()
        entries.append(
            memory_entry(
                ChatMessage(role=message.role, parts=texts),
                id=hashlib.sha256(f"{session_id}:{event_id}".encode()).hexdigest(),
                author=event.author,
                event_time=adk.nanoseconds_of(event.timestamp),
                session_id=session_id,
                event_id=event_id,
                metadata=metadata or None,
            )
        )
    await _write(memory, entries, if_exists="ignore")


async def _write(memory: AsyncUserMemory, entries: Sequence[StoredEntry], *, if_exists: str) -> None:
    for start in range(0, len(entries), _ENTRIES_AT_ONCE):
        await memory.upsert(*entries[start : start + _ENTRIES_AT_ONCE], if_exists=if_exists)


def _entry_of(stored: StoredEntry) -> MemoryEntry:
    metadata: dict[str, Any] = json.loads(stored.metadata_json) if stored.metadata_json else {}
    timestamp = metadata.pop(_TIMESTAMP, None)
    if stored.HasField("event_time"):
        timestamp = stored.event_time.ToDatetime(UTC).isoformat()
    return MemoryEntry(
        id=stored.id,
        content=Content.model_validate(adk.content_of(stored.content)),
        author=stored.author or None,
        timestamp=timestamp,
        custom_metadata=metadata,
    )


def _time_of(timestamp: str | None) -> datetime | None:
    """The time of a text in ISO 8601, without a zone that of this machine; None for another text."""
    try:
        found = datetime.fromisoformat(timestamp or "")
    except ValueError:
        return None
    return found if found.tzinfo else found.astimezone()


def _metadata(given: Mapping[str, object] | None) -> dict[str, Any]:
    kept: dict[str, Any] = to_jsonable_python(dict(given or {}), serialize_unknown=True)
    return kept


def _ref(memory: AsyncUserMemory, session_id: str) -> SessionRef:
    return SessionRef(app=memory.app, user_id=memory.user_id, session_id=session_id)
