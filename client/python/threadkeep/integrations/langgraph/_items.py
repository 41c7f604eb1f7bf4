"""Items of LangGraph's store as entries of long-term memory, and its filters as conditions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, timedelta
from typing import Any, Literal

from langgraph.store.base import Item, MatchCondition, PutOp, SearchItem, get_text_at_path

from ..._search import condition, memory_entry
from ...v1.memory_pb2 import MemoryEntry, MetadataCondition

AUTHOR = "langgraph.store"
"""The author of the entries that a store wrote, whose metadata is the item's value."""
UNINDEXED = "langgraph.store.unindexed"
"""The author of those that no query finds."""
_NO_TEXT = "\u00b7"
_OPERATORS = {"$eq": "eq", "$ne": "ne", "$gt": "gt", "$gte": "gte", "$lt": "lt", "$lte": "lte"}
_MOST_CONDITIONS = 16


def entry_of(op: PutOp, fields: Sequence[str]) -> MemoryEntry:
    """The entry of an item to store. `fields`: the paths that are searched if the operation names none."""
    value = dict(op.value or {})
    paths = fields if op.index is None else op.index or ()
    texts = [text for path in paths for text in get_text_at_path(value, path) if text.strip()]
    return memory_entry(
        "\n".join(texts) or _NO_TEXT,
        id=op.key,
        author=AUTHOR if texts else UNINDEXED,
        namespace=op.namespace,
        metadata=json.dumps(value, ensure_ascii=False, allow_nan=False),
        ttl=None if op.ttl is None else timedelta(minutes=op.ttl),
    )


def item_of(entry: MemoryEntry) -> Item:
    """The item of an entry."""
    return Item(**_fields(entry))


def search_item_of(entry: MemoryEntry, *, scored: bool) -> SearchItem:
    """The item of an entry that was found."""
    return SearchItem(**_fields(entry), score=entry.score if scored else None)


def _fields(entry: MemoryEntry) -> dict[str, Any]:
    return {
        "namespace": tuple(entry.namespace),
        "key": entry.id,
        "value": value_of(entry),
        "created_at": entry.record_time.ToDatetime(UTC),
        "updated_at": entry.update_time.ToDatetime(UTC),
    }


def value_of(entry: MemoryEntry) -> dict[str, Any]:
    """The value of an entry. That of another writer's entry has its metadata, and its text as `text`."""
    metadata: dict[str, Any] = json.loads(entry.metadata_json) if entry.metadata_json else {}
    if entry.author in (AUTHOR, UNINDEXED):
        return metadata
    return {"text": "\n".join(part.text for part in entry.content.parts if part.HasField("text")), **metadata}


def conditions_of(wanted: Mapping[str, Any] | None) -> tuple[list[MetadataCondition], dict[str, Any]]:
    """The conditions of a filter that the server checks, and the part of the filter that is left."""
    conditions: list[MetadataCondition] = []
    left: dict[str, Any] = {}
    for key, value in (wanted or {}).items():
        compared = value if _has_operators(value) else {"$eq": value}
        if unknown := sorted(compared.keys() - _OPERATORS.keys()):
            raise ValueError(f"unknown operator {unknown[0]!r} in the filter of {key!r}; use {', '.join(_OPERATORS)}")
        if len(conditions) + len(compared) > _MOST_CONDITIONS or not all(map(_is_plain, compared.values())):
            left[key] = value
            continue
        conditions += [condition(key, _OPERATORS[operator], each) for operator, each in compared.items()]
    return conditions, left


def _has_operators(value: object) -> bool:
    return isinstance(value, Mapping) and any(isinstance(key, str) and key.startswith("$") for key in value)


def _is_plain(value: object) -> bool:
    """Whether the server compares the value as LangGraph does: it matches no missing key, and no part of an object."""
    return isinstance(value, str | int | float | bool)


def matches(value: object, wanted: object) -> bool:
    """Whether a value matches what is left of a filter: an object matches its members, null also a missing one."""
    if _has_operators(wanted) and isinstance(wanted, Mapping):
        return all(_compares(value, operator, each) for operator, each in wanted.items())
    if isinstance(wanted, Mapping):
        return isinstance(value, Mapping) and all(matches(value.get(key), each) for key, each in wanted.items())
    if isinstance(wanted, list | tuple):
        if not isinstance(value, list) or len(value) != len(wanted):
            return False
        return all(matches(each, other) for each, other in zip(value, wanted, strict=True))
    return value == wanted


def _compares(value: Any, operator: str, other: Any) -> bool:
    if operator in ("$eq", "$ne"):
        return bool(value == other) == (operator == "$eq")
    if isinstance(value, str) != isinstance(other, str) or isinstance(value, bool | None):
        return False
    return bool({"$gt": value > other, "$gte": value >= other, "$lt": value < other, "$lte": value <= other}[operator])


def namespace_matches(namespace: Sequence[str], wanted: MatchCondition) -> bool:
    """Whether a namespace begins, or ends, with a path, in which "*" is any label."""
    if len(namespace) < len(wanted.path):
        return False
    suffix = wanted.match_type == "suffix"
    labels = namespace[len(namespace) - len(wanted.path) :] if suffix else namespace
    return all(path in ("*", label) for label, path in zip(labels, wanted.path, strict=False))


def first_path(conditions: Sequence[MatchCondition], kind: Literal["prefix", "suffix"]) -> MatchCondition | None:
    """The first condition of a kind, which the server checks."""
    return next((each for each in conditions if each.match_type == kind), None)
