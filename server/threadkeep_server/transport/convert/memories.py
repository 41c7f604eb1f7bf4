"""Conversion for long-term memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from threadkeep.v1 import memory_pb2
from threadkeep.v1 import memory_service_pb2 as pb

from ...domain import validation
from ...domain.errors import InvalidField
from ...domain.memories import Forget, Memory, MemoryDraft, MemoryFilter, MemoryScope
from ...domain.memory.metadata_conditions import ORDERED, MetadataCondition, Operator, is_deep
from ...domain.memory.namespaces import MOST_LABELS, NamespaceQuery, stored_name
from ...domain.memory.writes import MemoryWrite, Written
from ...domain.model import SECOND_NS
from ...service.memory.memories import MOST_IDS, IngestOptions
from ...service.memory.memory_search import FoundMemory, MemoryQuery
from ...store.contract.memories import NamedMemories
from ..wire.codec import message_text
from ..wire.memory_text import searched_text
from .events import check_nesting
from .search import highlights_to, mode_of, recency_of
from .sessions import role_of, set_time, time_of, ttl_of

_MOST_FILTER_VALUES = 1000
_MOST_VALUE_CHARACTERS = 4096
_MOST_CHOICES = 100
_MOST_DEPTH = 16

# --- requests


ScopedRequest = (
    pb.AddMemoriesRequest
    | pb.UpsertMemoriesRequest
    | pb.GetMemoriesRequest
    | pb.SearchMemoryRequest
    | pb.ListMemoriesRequest
    | pb.ListMemoryNamespacesRequest
    | pb.DeleteMemoriesRequest
)


def scope_of(request: ScopedRequest) -> MemoryScope:
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
        namespace=validation.namespace(f"{within}.namespace", entry.namespace),
        ttl=ttl_of(f"{within}.ttl", entry.ttl, "leave it out") if entry.HasField("ttl") else None,
    )


def writes_of(writes: Sequence[pb.MemoryWrite], new_id: Callable[[], str]) -> list[MemoryWrite]:
    """Returns writes in order. Raises InvalidField."""
    return [_write(f"writes[{index}]", write, new_id) for index, write in enumerate(writes)]


def _write(within: str, write: pb.MemoryWrite, new_id: Callable[[], str]) -> MemoryWrite:
    if not write.HasField("memory"):
        raise InvalidField(f"{within}.memory", "is required")
    expected = write.expected_etag if write.HasField("expected_etag") else None
    if expected:
        validation.identifier(f"{within}.expected_etag", expected)
    return MemoryWrite(_draft(f"{within}.memory", write.memory, new_id), expected)


def is_replacing(request: pb.UpsertMemoriesRequest) -> bool:
    """Returns whether entries that exist are replaced. Raises InvalidField."""
    if request.if_exists not in pb.IfMemoryExists.values():
        raise InvalidField("if_exists", "is unknown")
    return request.if_exists != pb.IF_MEMORY_EXISTS_IGNORE


def names_of(field: str, names: Sequence[memory_pb2.MemoryName]) -> tuple[str, ...]:
    """Returns stored names."""
    validation.count(field, names, MOST_IDS)
    return tuple(_name(f"{field}[{index}]", name) for index, name in enumerate(names))


def _name(within: str, name: memory_pb2.MemoryName) -> str:
    memory_id = validation.identifier(f"{within}.id", name.id, required=True)
    return stored_name(validation.namespace(f"{within}.namespace", name.namespace), memory_id)


def namespaces_of(request: pb.ListMemoryNamespacesRequest) -> NamespaceQuery:
    if not 0 <= request.max_depth <= MOST_LABELS:
        raise InvalidField("max_depth", f"must be from 0 to {MOST_LABELS}")
    prefix, suffix = (validation.namespace(name, getattr(request, name)) for name in ("prefix", "suffix"))
    return NamespaceQuery(prefix, suffix, request.max_depth)


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
        refresh=request.refresh_ttl,
    )


def memory_filter_of(wanted: memory_pb2.MemoryFilter) -> MemoryFilter:
    return MemoryFilter(
        session_ids=frozenset(_names("filter.session_ids", wanted.session_ids)),
        authors=frozenset(_names("filter.authors", wanted.authors)),
        from_time=time_of("filter.from_time", wanted.from_time) if wanted.HasField("from_time") else None,
        to_time=time_of("filter.to_time", wanted.to_time) if wanted.HasField("to_time") else None,
        metadata=dict(validation.metadata("filter.metadata", wanted.metadata)),
        namespace=validation.namespace("filter.namespace_prefix", wanted.namespace_prefix),
        conditions=_comparisons(wanted.conditions),
    )


def _comparisons(conditions: Sequence[memory_pb2.MetadataCondition]) -> tuple[MetadataCondition, ...]:
    if len(conditions) > validation.MAX_CONDITIONS:
        raise InvalidField("filter.conditions", f"must have at most {validation.MAX_CONDITIONS} entries")
    return tuple(_comparison(f"filter.conditions[{index}]", each) for index, each in enumerate(conditions))


def _comparison(within: str, condition: memory_pb2.MetadataCondition) -> MetadataCondition:
    if condition.operator not in memory_pb2.MetadataOperator.values():
        raise InvalidField(f"{within}.operator", "is unknown")
    operator = Operator(condition.operator or Operator.EQUAL)
    key = validation.identifier(f"{within}.key", condition.key, required=True)
    field = f"{within}.value_json"
    value = validation.portable_value(field, condition.value_json, _MOST_VALUE_CHARACTERS)
    if is_deep(value, _MOST_DEPTH):
        raise InvalidField(field, f"must not be nested deeper than {_MOST_DEPTH} levels")
    if operator in ORDERED and (isinstance(value, bool) or not isinstance(value, int | float | str)):
        raise InvalidField(field, "must be a number or a string for this operator")
    if operator is Operator.IN and not (isinstance(value, list) and 1 <= len(value) <= _MOST_CHOICES):
        raise InvalidField(field, f"must be an array of 1 to {_MOST_CHOICES} values for this operator")
    return MetadataCondition(key, operator, value)


def _names(field: str, values: Sequence[str]) -> list[str]:
    if len(values) > _MOST_FILTER_VALUES:
        raise InvalidField(field, f"must have at most {_MOST_FILTER_VALUES:,} entries")
    return [validation.identifier(f"{field}[{index}]", value) for index, value in enumerate(values)]


def forget_of(request: pb.DeleteMemoriesRequest) -> Forget:
    """Returns which memories to delete. Raises InvalidField if the request does not specify them."""
    match request.WhichOneof("selection"):
        case "ids":
            return Forget(names=_ids("ids.ids", request.ids.ids))
        case "names":
            return Forget(names=names_of("names.names", request.names.names))
        case "session_id":
            return Forget(session_id=validation.identifier("session_id", request.session_id, required=True))
        case "namespace":
            if not request.namespace.labels:
                raise InvalidField("namespace.labels", "must not be empty; to delete all memories, set all")
            return Forget(namespace=validation.namespace("namespace.labels", request.namespace.labels))
        case "all":
            if not request.all:
                raise InvalidField("all", "must be true; to delete some memories, set ids, names, session_id or namespace")
            return Forget()
    raise InvalidField("selection", "is required: ids, names, session_id, namespace or all")


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
        namespace=draft.namespace,
        etag=memory.etag,
    )
    result.content.ParseFromString(draft.content)
    set_time(result.record_time, memory.record_time)
    set_time(result.update_time, memory.update_time)
    if draft.ttl is not None:
        result.ttl.seconds, result.ttl.nanos = divmod(draft.ttl, SECOND_NS)
    if memory.expire_time is not None:
        set_time(result.expire_time, memory.expire_time)
    if draft.event_time is not None:
        set_time(result.event_time, draft.event_time)
    return result


def written_to(written: Written) -> pb.UpsertedMemory:
    memory = written.memory
    result = pb.UpsertedMemory(
        name=memory_pb2.MemoryName(namespace=memory.draft.namespace, id=memory.draft.id),
        outcome=pb.MemoryWriteOutcome.ValueType(written.outcome),
        etag=memory.etag,
    )
    set_time(result.record_time, memory.record_time)
    set_time(result.update_time, memory.update_time)
    if memory.expire_time is not None:
        set_time(result.expire_time, memory.expire_time)
    return result


def lookups_to(names: Sequence[memory_pb2.MemoryName], read: NamedMemories) -> Iterator[pb.MemoryLookup]:
    """Yields the result for each requested name."""
    for name in names:
        stored = stored_name(tuple(name.namespace), name.id)
        found = read.found.get(stored)
        entry = None if found is None else memory_to(found)
        yield pb.MemoryLookup(name=name, entry=entry, omitted=stored in read.omitted)
