"""The messages in checkpoints of LangGraph, read from their bytes: no class of LangGraph or an application is needed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ...formats.langchain import event_of
from ...formats.langgraph import Record, Typed, message_event_id
from ...v1.event_pb2 import SessionEvent
from ..formats.items import FieldError
from .msgpack import Extension, decoded, elements, encoded, member

CHANNEL = "messages"
"""The channel whose messages are the conversation, as for `ThreadkeepSaver`."""
_PYDANTIC, _OBJECT, _SNAPSHOT = 5, 2, 7
_TYPES = frozenset(("human", "ai", "system", "tool", "function", "chat"))
_EMPTY = encoded({})


class Messages:
    """The messages of a thread, as far as it is read: digests of their bytes by the ids of their events."""

    def __init__(self) -> None:
        self._known: dict[str, bytes] = {}
        self._ids: dict[bytes, str] = {}

    def changed(self, record: Record, written: Callable[[], list[Typed]]) -> list[tuple[SessionEvent, bool]]:
        """The events of messages that are new in a checkpoint, or edited: then with True. `written`: writes to the channel,
        which are the only place of messages if the channel keeps its changes. Raises FieldError."""
        encoding, content = record.checkpoint
        if encoding != "msgpack":  # encrypted, or of an old version: the checkpoint is kept, its messages cannot be read
            return []
        try:
            value = member(member(content, "channel_values") or _EMPTY, CHANNEL)
            values = [value] if value is not None else [content for encoding, content in written() if encoding == "msgpack"]
            return list(self._changed([each for value in values for each in _each(value)], record))
        except (ValueError, TypeError, RecursionError) as error:
            raise FieldError("checkpoint", f"its messages are not readable: {error}") from None

    def _changed(self, messages: list[bytes], record: Record) -> Iterator[tuple[SessionEvent, bool]]:
        met: set[str] = set()
        for content in messages:
            digest = hashlib.sha256(content).digest()[:16]
            if digest in self._ids:  # as in the checkpoint before
                met.add(self._ids[digest])
                continue
            item = _item(content)
            if item is None:
                continue
            event_id = message_event_id(item["data"].get("id") or "", partial(dict, item), met)
            met.add(event_id)
            before = self._known.get(event_id)
            self._known[event_id] = digest
            if event_id == item["data"].get("id"):
                self._ids[digest] = event_id
            if before != digest:
                event = event_of(item, event_id, invocation_id=record.run_id)
                event.metadata_json = json.dumps({"checkpoint_id": record.checkpoint_id})
                yield event, before is not None


def _each(value: bytes) -> list[bytes]:
    """The messages of a channel's value: of a list, of a snapshot or an overwrite of one, or a single one."""
    found = elements(value)
    if found:
        return found
    extension = decoded(value)
    if not isinstance(extension, Extension):
        return []
    if extension.code == _SNAPSHOT:
        return _each(extension.content)
    if extension.code == _OBJECT:
        inner = member(elements(extension.content)[2], "value")
        return [] if inner is None else _each(inner)
    return [value]


def _item(content: bytes) -> dict[str, Any] | None:
    """A message as `message_to_dict` writes it; None for what is no message."""
    extension = decoded(content)
    if not isinstance(extension, Extension) or extension.code != _PYDANTIC:
        return None
    _, _, fields, *_ = decoded(extension.content)
    if not isinstance(fields, dict) or str(fields.get("type")).removesuffix("MessageChunk").lower() not in _TYPES:
        return None
    return {"type": fields["type"], "data": _plain(fields)}


def _plain(value: Any) -> Any:
    """The value without objects of an application: each is the name of its type."""
    if isinstance(value, Extension):
        parts = decoded(value.content) if value.code != _SNAPSHOT else []
        return f"<{parts[1]}>" if isinstance(parts, list) and len(parts) > 1 else "<object>"
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list) else value
