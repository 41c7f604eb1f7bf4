"""Conversion of messages to events and back."""

from __future__ import annotations

import json
from typing import Any

from ..._convert import json_text
from ...messages import data, media, reasoning, text, tool_call, tool_result_part
from ...v1.event_pb2 import SessionEvent
from ...v1.message_pb2 import ChatMessage
from ...v1.message_pb2 import Part as StoredPart
from ...v1.message_pb2 import Role as StoredRole
from ..types.frozen import frozen, nothing
from ..types.messages import Data, Media, Message, Part, Reasoning, Role, Text, ToolCall, ToolResult

_NUMBERS = {role: StoredRole.Value(f"ROLE_{role.name}") for role in Role}
_ROLES = {number: role for role, number in _NUMBERS.items()}


def to_event(message: Message, **fields: Any) -> SessionEvent:
    """Returns the event of a message. `fields`: other fields of SessionEvent, such as `event_id`, `author` and `branch`.

    `threadkeep.event` would check types, which costs more than the rest of storing a turn.
    """
    parts = [_stored(part) for part in message.parts]
    about = json_text(dict(message.metadata), "metadata") if message.metadata else ""
    return SessionEvent(message=ChatMessage(role=_NUMBERS[message.role], parts=parts), metadata_json=about, **fields)


def from_event(stored: SessionEvent) -> Message:
    """Returns the message of an event. A role that the kit does not know becomes USER."""
    message = stored.message
    written = message.parts
    if len(written) == 1 and (only := _said(written[0])) is not None:  # the usual case, and a context has many events
        parts: tuple[Part, ...] = (only,)
    else:
        # By index: protobuf's iterator ends with an exception, which costs more than most events.
        said = [_said(written[at]) for at in range(len(written))]
        parts = tuple([part for part in said if part is not None])
    about = _metadata(stored.metadata_json) if stored.metadata_json else nothing()
    return Message(_ROLES.get(message.role, Role.USER), parts, about, stored.event_id, stored.author, stored.branch)


def _metadata(text: str) -> Any:
    return frozen(json.loads(text))


def _stored(part: Part) -> StoredPart:
    match part:
        case Text():
            return text(part.text)
        case Reasoning():
            return reasoning(part.text, signature=part.signature, encrypted=part.encrypted)
        case ToolCall():
            return tool_call(part.id, part.name, part.arguments, kind=part.kind)
        case ToolResult():
            content: Any = [_stored(each) for each in part.parts]
            stored = tool_result_part(part.call_id, content, name=part.name, is_error=part.is_error)
            stored.tool_result.structured_json = part.structured_json
            return stored
        case Media():
            return media(part.mime_type, data=part.data, uri=part.uri, file_id=part.file_id, name=part.name, detail=part.detail)
        case Data():
            return data(part.type, part.json)


def _said(part: StoredPart) -> Part | None:
    match part.WhichOneof("content"):
        case "text":
            return Text(part.text)
        case "reasoning":
            return Reasoning(part.reasoning.text, part.reasoning.signature, part.reasoning.encrypted)
        case "tool_call":
            call = part.tool_call
            return ToolCall(call.id, call.name, call.arguments_json, call.kind)
        case "tool_result":
            result = part.tool_result
            parts = tuple(each for stored in result.parts if isinstance(each := _said(stored), Text | Media | Data))
            return ToolResult(result.call_id, result.name, parts, result.structured_json, result.is_error)
        case "media":
            kept = part.media
            source = kept.WhichOneof("source") or "uri"
            return Media(kept.mime_type, name=kept.name, detail=kept.detail, **{source: getattr(kept, source)})
        case "data":
            return Data(part.data.type, part.data.json)
    return None  # a kind of a later version of the protocol
