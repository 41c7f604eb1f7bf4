"""Requests of searches, and memory entries, from Python values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, TypedDict

from ._arguments import refuse_unknown
from ._convert import Metadata, check, enum_value, json_text, timestamp
from .messages import new_event_id
from .v1.memory_pb2 import MemoryEntry, MemoryFilter, MemoryName, MetadataCondition, MetadataOperator
from .v1.memory_service_pb2 import IfMemoryExists, MemoryWrite
from .v1.message_pb2 import ChatMessage, Part, Role
from .v1.search_pb2 import Recency, SearchField, SearchMode
from .v1.search_service_pb2 import HitGrouping, SearchEventsRequest


class SearchOptions(TypedDict, total=False):
    """Options of a search of events.

    mode: "auto" (the default: the server chooses, literal for text in double quotes or symbols only, else "hybrid" if it has
    an embedder, else "ranked"; the response contains its choice), "substring" (literal, case-folded, oldest first), "ranked" (a
    question or keywords, best first), "semantic" or "hybrid" (these two require an embedder on the server). The other options
    apply to the modes that rank, `neighbors` and `min_score` to all. fields: which to search, of "text", "tool_calls",
    "tool_results" and "media"; by default all. neighbors: the number of events to return before and after each hit, at most 10.
    grouping: "turn" or "session", one hit per group. recency: boosts newer events; a timedelta is the age at which the boost is
    half, `recency(...)` sets its weight too. min_score: the minimum score of a hit, from 0 to 1 ("semantic": the cosine, from
    -1); by default an unrelated query finds nothing; 0 disables the limit. reference_time: what "yesterday" in the query refers
    to, an aware datetime or nanoseconds since the epoch; by default now. include_synthetic: summaries too. distinct: a page has
    each event once: a neighbor of a better hit is no hit as well.
    """

    mode: SearchMode.ValueType | str
    fields: Iterable[SearchField.ValueType | str]
    neighbors: int
    grouping: HitGrouping.ValueType | str
    recency: Recency | timedelta | None
    min_score: float | None
    reference_time: datetime | int | None
    include_synthetic: bool
    distinct: bool


_SEARCHED = ("session", "user_id", "app", "any_user", "any_app", "filter", "page_size", "timeout")
"""The arguments of `search` that are not options; errors name them."""


class MemorySelection(TypedDict, total=False):
    """Selects memory entries. Conditions combine with AND, values inside one with OR.

    session_ids, authors: compared exactly. from_time, to_time: aware datetimes or nanoseconds since the epoch, both inclusive.
    metadata: top-level values of an entry's metadata, as text; at most 16, all must match. conditions: comparisons of such
    values, made by `condition`; at most 16, all must match. namespace_prefix: entries in this namespace and below it.
    """

    session_ids: Iterable[str]
    authors: Iterable[str]
    from_time: datetime | int | None
    to_time: datetime | int | None
    metadata: Mapping[str, str]
    conditions: Iterable[MetadataCondition]
    namespace_prefix: Iterable[str]


_OPERATORS = {
    "eq": MetadataOperator.METADATA_OPERATOR_EQUAL,
    "ne": MetadataOperator.METADATA_OPERATOR_NOT_EQUAL,
    "gt": MetadataOperator.METADATA_OPERATOR_GREATER,
    "gte": MetadataOperator.METADATA_OPERATOR_GREATER_OR_EQUAL,
    "lt": MetadataOperator.METADATA_OPERATOR_LESS,
    "lte": MetadataOperator.METADATA_OPERATOR_LESS_OR_EQUAL,
    "in": MetadataOperator.METADATA_OPERATOR_IN,
}


def condition(key: str, operator: str, value: Any) -> MetadataCondition:
    """A comparison of a top-level value of metadata. `operator`: "eq", "ne", "gt", "gte", "lt", "lte" or "in" (one of several
    values, at most 100). Values are compared by their JSON type, numbers as numbers; a missing key matches "ne" only."""
    if operator not in _OPERATORS:
        raise ValueError(f"operator must be one of {', '.join(_OPERATORS)}, not {operator!r}")
    text = json.dumps(list(value) if operator == "in" else value, ensure_ascii=False, allow_nan=False)
    return MetadataCondition(key=check(key, str, "key"), operator=_OPERATORS[operator], value_json=text)


def labels_of(namespace: Iterable[str], name: str = "namespace") -> tuple[str, ...]:
    """The labels of a namespace. A text is refused: it would be one label per character."""
    if isinstance(namespace, str):
        raise TypeError(f"{name} must be several labels, not str")
    return tuple(namespace)


def memory_names(names: Iterable[str | MemoryName]) -> list[MemoryName]:
    """Names of entries; a text is an id in the root namespace."""
    if isinstance(names, str):
        raise TypeError("names must be several, not str")
    return [each if isinstance(each, MemoryName) else MemoryName(id=each) for each in names]


def memory_name(id: str, namespace: Iterable[str] = ()) -> MemoryName:  # noqa: A002
    """The name of an entry: its id in a namespace."""
    return MemoryName(id=check(id, str, "id"), namespace=labels_of(namespace))


def recency(half_life: timedelta, weight: float = 1.0) -> Recency:
    """Boosts newer hits: multiplies the score for the order by 1 + weight * 2^(-age / half_life). `weight`: above 0, at most
    100."""
    lift = Recency(weight=weight)
    lift.half_life.FromTimedelta(check(half_life, timedelta, "half_life"))
    return lift


def recency_of(value: Recency | timedelta | None) -> Recency | None:
    """The recency of an argument."""
    return recency(value) if isinstance(value, timedelta) else None if value is None else check(value, Recency, "recency")


def search_mode(value: SearchMode.ValueType | str) -> SearchMode.ValueType:
    """A mode by its number or its short name."""
    mode: SearchMode.ValueType = enum_value(dict(SearchMode.items()), "SEARCH_MODE_", value, "mode")
    return mode


def with_options(request: SearchEventsRequest, options: SearchOptions) -> SearchEventsRequest:
    """The request with these options set."""
    refuse_unknown("search", options, (*SearchOptions.__annotations__, *_SEARCHED))
    fields = options.get("fields", ())
    if isinstance(fields, str):
        raise TypeError("fields must be several, not str")
    request.mode = search_mode(options.get("mode", SearchMode.SEARCH_MODE_UNSPECIFIED))
    request.fields.extend(enum_value(dict(SearchField.items()), "SEARCH_FIELD_", each, "fields") for each in fields)
    request.neighbors = check(options.get("neighbors", 0), int, "neighbors")
    groupings = dict(HitGrouping.items())
    request.grouping = enum_value(groupings, "HIT_GROUPING_", options.get("grouping", 0), "grouping")
    lift, score = recency_of(options.get("recency")), options.get("min_score")
    if lift is not None:
        request.recency.CopyFrom(lift)
    if score is not None:
        request.min_score = score
    when = timestamp(options.get("reference_time"), "reference_time")
    if when is not None:
        request.reference_time.CopyFrom(when)
    request.include_synthetic = options.get("include_synthetic", False)
    request.distinct = options.get("distinct", False)
    return request


def memory_filter(selection: MemorySelection) -> MemoryFilter | None:
    """The filter of these conditions; None if there are none."""
    refuse_unknown("memory", selection, MemorySelection.__annotations__)
    if not selection:
        return None
    for name in ("session_ids", "authors"):
        if isinstance(selection.get(name), str):
            raise TypeError(f"{name} must be several, not str")
    return MemoryFilter(
        session_ids=selection.get("session_ids", ()),
        authors=selection.get("authors", ()),
        from_time=timestamp(selection.get("from_time"), "from_time"),
        to_time=timestamp(selection.get("to_time"), "to_time"),
        metadata=selection.get("metadata"),
        conditions=selection.get("conditions", ()),
        namespace_prefix=labels_of(selection.get("namespace_prefix", ()), "namespace_prefix"),
    )


def memory_entry(
    content: str | Part | ChatMessage,
    *,
    id: str = "",  # noqa: A002
    author: str = "",
    event_time: datetime | int | None = None,
    session_id: str = "",
    event_id: str = "",
    metadata: Metadata = None,
    namespace: Iterable[str] = (),
    ttl: timedelta | None = None,
) -> MemoryEntry:
    """A memory entry: a text, a part, or a whole message; the first two are of the user.

    `id`: the idempotency key; by default one is made when the entry is added. `author`: its author. `event_time`: its time, an
    aware datetime or nanoseconds since the epoch. `session_id`, `event_id`: its source. `metadata`: a JSON object, at
    most 256 KiB, by whose top-level values memories can be selected. `namespace`: a path of at most 16 labels. `ttl`: how long
    the entry is kept, by default without limit. Strings are at most 255 bytes.
    """
    entry = MemoryEntry(
        id=check(id, str, "id"),
        content=_message(content),
        author=check(author, str, "author"),
        event_time=timestamp(event_time, "event_time"),
        session_id=check(session_id, str, "session_id"),
        event_id=check(event_id, str, "event_id"),
        metadata_json=json_text(metadata, "metadata"),
        namespace=labels_of(namespace),
    )
    if ttl is not None:
        entry.ttl.FromTimedelta(check(ttl, timedelta, "ttl"))
    return entry


def _message(content: str | Part | ChatMessage) -> ChatMessage:
    if isinstance(content, ChatMessage):
        return content
    if isinstance(content, str):
        content = Part(text=content)
    return ChatMessage(role=Role.ROLE_USER, parts=[check(content, Part, "content")])


def entries(memories: Iterable[str | ChatMessage | MemoryEntry]) -> list[MemoryEntry]:
    """Copies, each with an id, so that sending them again adds nothing twice."""
    copies: list[MemoryEntry] = []
    for each in memories:
        copy = MemoryEntry()
        copy.CopyFrom(each if isinstance(each, MemoryEntry) else memory_entry(each))
        copy.id = copy.id or new_event_id()
        copies.append(copy)
    return copies


def memory_writes(
    memories: Iterable[str | ChatMessage | MemoryEntry | MemoryWrite], expected_etag: str | None
) -> list[MemoryWrite]:
    """Copies as writes, each with an id. `expected_etag`: the precondition of a single entry."""
    writes: list[MemoryWrite] = []
    for each in memories:
        write = MemoryWrite()
        if isinstance(each, MemoryWrite):
            write.CopyFrom(each)
        else:
            write.memory.CopyFrom(each if isinstance(each, MemoryEntry) else memory_entry(each))
        write.memory.id = write.memory.id or new_event_id()
        writes.append(write)
    if expected_etag is not None:
        if len(writes) != 1:
            raise ValueError("expected_etag is of one entry; for several, give each as memory_write(entry, expected_etag)")
        writes[0].expected_etag = check(expected_etag, str, "expected_etag")
    return writes


def memory_write(memory: str | ChatMessage | MemoryEntry, expected_etag: str | None = None) -> MemoryWrite:
    """An entry to write, with a precondition: the etag of the stored entry; empty: there is none; None: any."""
    return memory_writes([memory], expected_etag)[0]


def if_exists_of(value: IfMemoryExists.ValueType | str) -> IfMemoryExists.ValueType:
    """A choice by its number or its short name."""
    chosen: IfMemoryExists.ValueType = enum_value(dict(IfMemoryExists.items()), "IF_MEMORY_EXISTS_", value, "if_exists")
    return chosen


def arguments_text(arguments: Mapping[str, Any] | str | None) -> str:
    """A tool's arguments as JSON text; text, as the model wrote it, is unchanged."""
    return json_text(arguments, "arguments")
