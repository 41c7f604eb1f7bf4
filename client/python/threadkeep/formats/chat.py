"""Messages of `threadkeep.chat` to events, by their attributes: the agent kit is not imported."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._convert import encodable, json_text
from ..v1.event_pb2 import SessionEvent
from ..v1.message_pb2 import ChatMessage, DataPart, MediaPart, Part, ReasoningPart, Role, ToolCallPart, ToolResultPart
from .fields import FieldError

_ROLES = {name: Role.Value(f"ROLE_{name.upper()}") for name in ("system", "user", "assistant", "tool")}


def event_of(message: Any, field: str) -> SessionEvent:
    """The event of a message, with its metadata, id, author and branch. Raises FieldError and ValueError."""
    role = _ROLES.get(str(message.role))
    if role is None:
        raise FieldError(f"{field}.role", f"must be one of {', '.join(_ROLES)}, not {message.role!r}")
    metadata = getattr(message, "metadata", None)
    return SessionEvent(
        event_id=getattr(message, "id", ""),
        message=ChatMessage(role=role, parts=_parts(message.parts, f"{field}.parts")),
        metadata_json=json_text(dict(metadata), f"{field}.metadata") if metadata else "",
        author=getattr(message, "author", ""),
        branch=getattr(message, "branch", ""),
    )


def _parts(parts: Iterable[Any], field: str) -> list[Part]:
    return [_part(part, f"{field}[{n}]") for n, part in enumerate(parts)]


def _part(part: Any, field: str) -> Part:
    def text(name: str) -> str:
        return encodable(getattr(part, name), f"{field}.{name}")

    match type(part).__name__:
        case "Text":
            return Part(text=text("text"))
        case "Reasoning":
            return Part(reasoning=ReasoningPart(text=text("text"), signature=part.signature, encrypted=part.encrypted))
        case "ToolCall":
            call = ToolCallPart(id=text("id"), name=text("name"), kind=text("kind"), arguments_json=text("arguments"))
            return Part(tool_call=call)
        case "ToolResult":
            result = ToolResultPart(call_id=text("call_id"), name=text("name"), structured_json=text("structured_json"))
            result.parts.extend(_parts(part.parts, f"{field}.parts"))
            result.is_error = part.is_error
            return Part(tool_result=result)
        case "Media":
            return Part(
                media=MediaPart(
                    mime_type=part.mime_type,
                    name=part.name,
                    detail=part.detail,
                    data=part.data,
                    uri=part.uri,
                    file_id=part.file_id,
                )
            )
        case "Data":
            return Part(data=DataPart(type=text("type"), json=text("json")))
    raise FieldError(field, f"must be a part of threadkeep.chat, not {type(part).__name__}")
