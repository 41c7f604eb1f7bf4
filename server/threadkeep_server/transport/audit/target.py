"""What a request is about: names, ids and counts. Never a text, a query, a label or metadata."""

from __future__ import annotations

from typing import Any, Final

from google.protobuf.message import Message

from threadkeep.v1 import memory_pb2

_MOST_IDS: Final = 100
_MOST_CHARACTERS: Final = 256
_PARTS: Final = frozenset({"session", "scope", "user", "app", "ids", "event_ids", "parked_ids", "append", "join", "names"})
"""Messages with names in them."""
_NAMES: Final = frozenset(
    {
        "app",
        "user_id",
        "new_user_id",
        "session_id",
        "event_id",
        "compaction_id",
        "name",
        "all",
        "server",
        "request_id",
        "operation_id",
    }
)
_IDS: Final = frozenset({"ids", "event_ids", "expected_event_ids", "parked_ids"})
_NAMED: Final = "names"
"""A list of names of memories."""
_COUNTED: Final = frozenset({"events", "memories", "inserts", "writes"})


def target(request: Message) -> dict[str, Any]:
    """Returns what the request names, by field. Of many ids, the first 100; a name of more than 256 characters is cut."""
    found: dict[str, Any] = {}
    for field, value in request.ListFields():
        name = field.name
        if name in _COUNTED:
            found[name] = len(value)
        elif isinstance(value, Message):
            if isinstance(value, memory_pb2.MemoryNamespace):
                found[name] = [_cut(label) for label in value.labels]
            elif name in _PARTS:
                found |= target(value)
        elif name in _NAMES:
            found[name] = _cut(value)
        elif name in _IDS:
            found[name] = [_cut(each) for each in value[:_MOST_IDS]]
        elif name == _NAMED:
            found[name] = [_path(each) for each in value[:_MOST_IDS]]
    return found


def _path(name: memory_pb2.MemoryName) -> list[str]:
    """Returns the labels of a memory's namespace, and its id."""
    return [_cut(each) for each in (*name.namespace, name.id)]


def _cut(value: Any) -> Any:
    return value[:_MOST_CHARACTERS] if isinstance(value, str) else value
