"""Events and messages in the form of schemas 1 to 4, where the text of a part was a message with a string."""

from __future__ import annotations

from collections.abc import Iterable

from threadkeep.v1 import event_pb2, message_pb2


def old_message(message: message_pb2.ChatMessage) -> bytes:
    """Returns the encoding of a client of that time."""
    rest = message_pb2.ChatMessage(role=message.role).SerializeToString()
    return (
        rest + _parts(2, message.parts) + _unknown_of(message, message_pb2.ChatMessage(role=message.role, parts=message.parts))
    )


def old_event(event: event_pb2.SessionEvent) -> bytes:
    before = event_pb2.SessionEvent(event_id=event.event_id)
    behind = event_pb2.SessionEvent()
    behind.CopyFrom(event)
    behind.ClearField("event_id")
    behind.ClearField("message")
    return before.SerializeToString() + field(3, old_message(event.message)) + behind.SerializeToString()


def field(number: int, value: bytes) -> bytes:
    """Encodes a bytes field."""
    return _number(number << 3 | 2) + _number(len(value)) + value


def _parts(number: int, parts: Iterable[message_pb2.Part]) -> bytes:
    return b"".join(field(number, _part(part)) for part in parts)


def _part(part: message_pb2.Part) -> bytes:
    if part.HasField("text"):
        known = message_pb2.Part(text=part.text)
        return field(1, field(1, part.text.encode()) if part.text else b"") + _unknown_of(part, known)
    if part.HasField("tool_result"):
        known = message_pb2.Part(tool_result=part.tool_result)
        return field(4, _tool_result(part.tool_result)) + _unknown_of(part, known)
    return part.SerializeToString()


def _tool_result(result: message_pb2.ToolResultPart) -> bytes:
    before = message_pb2.ToolResultPart(call_id=result.call_id, name=result.name)
    behind = message_pb2.ToolResultPart()
    behind.CopyFrom(result)
    for name in ("call_id", "name", "parts"):
        behind.ClearField(name)
    return before.SerializeToString() + _parts(3, result.parts) + behind.SerializeToString()


def _unknown_of(whole: message_pb2.ChatMessage | message_pb2.Part, known: message_pb2.ChatMessage | message_pb2.Part) -> bytes:
    """Returns unknown fields of a newer writer; parsers keep them, and encode them last."""
    return whole.SerializeToString()[len(known.SerializeToString()) :]


def _number(value: int) -> bytes:
    return (bytes([value & 0x7F | 0x80]) + _number(value >> 7)) if value > 0x7F else bytes([value])
