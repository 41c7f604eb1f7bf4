"""Conversion for long-term memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from threadkeep.v1 import memory_pb2
from threadkeep.v1 import memory_service_pb2 as pb

from ...domain import validation
from ...domain.errors import InvalidField
from ...domain.memories import Forget, Memory, MemoryDraft, MemoryFilter, MemoryScope
from ...service.memory.memories import MOST_IDS, IngestOptions
from ...service.memory.memory_search import FoundMemory, MemoryQuery
from ..wire.codec import message_text
from ..wire.memory_text import searched_text
from .events import check_nesting
from .search import highlights_to, mode_of, recency_of
from .sessions import role_of, set_time, time_of

_MOST_FILTER_VALUES = 1000

# --- requests


def scope_of(
    request: pb.AddMemoriesRequest | pb.SearchMemoryRequest | pb.ListMemoriesRequest | pb.DeleteMemoriesRequest,
) -> MemoryScope:
    """Returns the scope. Does not check whether the caller may use it. Raises InvalidField."""
    if not request.HasField("scope"):
        raise InvalidField("scope", "is required")
    app, user_id = request.scope.app, request.scope.user_id
    validation.identifier("scope.app", app)
    validation.identifier("scope.user_id", user_id)
    if user_id and not user_id.strip():
        raise InvalidField("scope.user_id", "must not be blank")
    return MemoryScope(app, user_id)


def ingestion_of(request: pb.AddSessionToMemoryRequest) -> IngestOptions:
    return IngestOptions(
        event_ids=_ids("event_ids", request.event_ids),
        include_tools=request.include_tools,
        include_reasoning=request.include_reasoning,
        include_synthetic=request.include_synthetic,
        metadata_json=validation.portable_object("metadata_json", request.metadata_json),
    )


def drafts_of(entries: Sequence[memory_pb2.MemoryEntry], new_id: Callable[[], str]) -> list[MemoryDraft]:
    """Returns drafts in order. Raises InvalidField."""
    return [_draft(f"memories[{index}]", entry, new_id) for index, entry in enumerate(entries)]


def _draft(within: str, entry: memory_pb2.MemoryEntry, new_id: Callable[[], str]) -> MemoryDraft:
    if not entry.HasField("content"):
        raise InvalidField(f"{within}.content", "is required")
    message = entry.content
    role_of(f"{within}.content.role", message.role)
    if len(message.parts) > validation.MAX_PARTS:
        raise InvalidField(f"{within}.content.parts", f"must have at most {validation.MAX_PARTS} parts")
    check_nesting(f"{within}.content.parts", message.parts)
    if not message_text(message).strip():
        raise InvalidField(f"{within}.content", "must have text that is not blank")
    return MemoryDraft(
        id=validation.identifier(f"{within}.id", entry.id) or new_id(),
        content=message.SerializeToString(),
        text=searched_text(message),
        author=validation.identifier(f"{within}.author", entry.author),
        event_time=time_of(f"{within}.event_time", entry.event_time) if entry.HasField("event_time") else None,
        session_id=validation.identifier(f"{within}.session_id", entry.session_id),
        event_id=validation.identifier(f"{within}.event_id", entry.event_id),
        metadata_json=validation.portable_object(f"{within}.metadata_json", entry.metadata_json),
    )


def query_of(request: pb.SearchMemoryRequest) -> MemoryQuery:
    return MemoryQuery(
        scope=scope_of(request),
        text=validation.term("query", request.query),
        mode=mode_of(request.mode),
        top_k=request.top_k,
        min_score=request.min_score if request.HasField("min_score") else None,
        filter=memory_filter_of(request.filter),
        recency=recency_of(request.recency) if request.HasField("recency") else None,
        reference_time=time_of("reference_time", request.reference_time) if request.HasField("reference_time") else None,
    )


def memory_filter_of(wanted: memory_pb2.MemoryFilter) -> MemoryFilter:
    return MemoryFilter(
        session_ids=frozenset(_names("filter.session_ids", wanted.session_ids)),
        authors=frozenset(_names("filter.authors", wanted.authors)),
        from_time=time_of("filter.from_time", wanted.from_time) if wanted.HasField("from_time") else None,
        to_time=time_of("filter.to_time", wanted.to_time) if wanted.HasField("to_time") else None,
        metadata=dict(validation.metadata("filter.metadata", wanted.metadata)),
    )


def _names(field: str, values: Sequence[str]) -> list[str]:
    if len(values) > _MOST_FILTER_VALUES:
        raise InvalidField(field, f"must have at most {_MOST_FILTER_VALUES:,} entries")
    return [validation.identifier(f"{field}[{index}]", value) for index, value in enumerate(values)]


def forget_of(request: pb.DeleteMemoriesRequest) -> Forget:
    """Returns which memories to delete. Raises InvalidField if the request does not specify them."""
    what = request.WhichOneof("selection")
    if what == "ids":
        return Forget(ids=_ids("ids.ids", request.ids.ids))
    if what == "session_id":
        return Forget(session_id=validation.identifier("session_id", request.session_id, required=True))
    if what == "all" and not request.all:
        raise InvalidField("all", "must be true; to delete some memories, set ids or session_id")
    if what is None:
        raise InvalidField("selection", "is required: ids, session_id or all")
    return Forget()


def _ids(field: str, ids: Sequence[str]) -> tuple[str, ...]:
    """Returns the ids, or so many of them that the service rejects their number."""
    return tuple(
        validation.identifier(f"{field}[{index}]", each, required=True) for index, each in enumerate(ids[: MOST_IDS + 1])
    )


# --- responses


def entry_to(found: FoundMemory) -> memory_pb2.MemoryEntry:
    """Returns a search result."""
    result = memory_to(found.memory)
    result.score = found.score
    result.highlights.extend(highlights_to(found.highlights))
    return result


def memory_to(memory: Memory) -> memory_pb2.MemoryEntry:
    draft, scope = memory.draft, memory.scope
    result = memory_pb2.MemoryEntry(
        id=draft.id,
        author=draft.author,
        session_id=draft.session_id,
        event_id=draft.event_id,
        metadata_json=draft.metadata_json,
        scope=memory_pb2.MemoryScope(app=scope.app, user_id=scope.user_id),
    )
    result.content.ParseFromString(draft.content)
    set_time(result.record_time, memory.record_time)
    if draft.event_time is not None:
        set_time(result.event_time, draft.event_time)
    return result
