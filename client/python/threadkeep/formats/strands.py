"""Messages of Strands Agents, which have the form of Bedrock's Converse: to events, and from events.

The native content is a session message, as `SessionMessage.to_dict` returns it: the message, what it was redacted to, and its
number. A message may mix what a user says and what tools return, which is an event for each; see `split`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from .._convert import timestamp
from ..v1.event_pb2 import SessionEvent
from ..v1.message_pb2 import ROLE_ASSISTANT, ROLE_SYSTEM, ROLE_TOOL, ROLE_USER, Part, Role, ToolCallPart, ToolResultPart
from ..v1.session_pb2 import TokenUsage
from .anthropic import json_object
from .fields import FieldError, time_of
from .openai import clean, json_text
from .split import member_of, part_of, runs_of, split
from .strands_media import MEDIA, block_of, bytes_of, media_of

NATIVE = "strands.session_message/1"
_ROLES = {"user": ROLE_USER, "assistant": ROLE_ASSISTANT}


def events_of(item: Mapping[str, Any], event_id: str, *, author: str = "", branch: str = "") -> list[SessionEvent]:
    """The events of a session message, the one with the message itself last. Raises FieldError."""
    message = message_of(item)
    role = _ROLES.get(str(message.get("role")))
    content = message.get("content")
    if role is None or not isinstance(content, list):
        raise FieldError("message", "must have a role, user or assistant, and a list of content")
    about = (
        {"reasoning_of": "bedrock"} if any(isinstance(each, Mapping) and "reasoningContent" in each for each in content) else {}
    )
    events = split(runs_of(_parts(content, role), role), event_id, NATIVE, item, about)
    when = timestamp(time_of(item.get("created_at")), "created_at")
    for event in events:
        event.branch = branch
        event.author = author if role == ROLE_ASSISTANT else ""
        if when is not None:
            event.event_time.CopyFrom(when)
    usage = message.get("metadata", {}).get("usage") if isinstance(message.get("metadata"), Mapping) else None
    if isinstance(usage, Mapping):
        events[-1].usage.CopyFrom(_usage(usage))
    return events


def message_of(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """The message of a session message: what it was redacted to, if it was. Raises FieldError."""
    message = item.get("redact_message") or item.get("message")
    if not isinstance(message, Mapping):
        raise FieldError("message", "must be an object")
    return message


def session_message_of(event: SessionEvent) -> dict[str, Any] | None:
    """The session message of an event that Strands wrote; None for another."""
    if event.native.format != NATIVE:
        return None
    native = json.loads(event.native.content)
    return native if isinstance(native, dict) else None


def items_of(event: SessionEvent) -> list[dict[str, Any]]:
    """The message of an event: the native one if it is of Strands, else that of its parts; none for an event without content.

    What the system says is no message there, but a summary is: of the user.
    """
    if (native := session_message_of(event)) is not None:
        return [dict(message_of(native))]
    if part_of(event) or (event.message.role == ROLE_SYSTEM and not event.synthetic):
        return []
    role = "assistant" if event.message.role == ROLE_ASSISTANT else "user"
    content = list(_blocks(event))
    return [{"role": role, "content": content, "tracking_id": event.event_id}] if content else []


def _parts(content: list[Any], role: Role.ValueType) -> Iterator[tuple[Role.ValueType | None, list[Part]]]:
    for number, block in enumerate(content):
        if not isinstance(block, Mapping):
            raise FieldError(f"message.content[{number}]", "must be an object")
        yield (ROLE_TOOL if "toolResult" in block else role), list(_typed(block, f"message.content[{number}]"))


def _typed(block: Mapping[str, Any], field: str) -> Iterator[Part]:
    """The typed parts of a block, which has one member."""
    kind, value = next(iter(block.items()), ("", None))
    if kind == "text":
        yield Part(text=clean(str(value)))
    elif kind == "toolUse" and isinstance(value, Mapping):
        arguments = json_text(value.get("input", {}))
        call = ToolCallPart(id=clean(str(value.get("toolUseId", ""))), name=clean(str(value.get("name", ""))))
        call.kind, call.arguments_json = "function", arguments
        yield Part(tool_call=call)
    elif kind == "toolResult" and isinstance(value, Mapping):
        yield Part(tool_result=_result(value, f"{field}.toolResult"))
    elif kind == "reasoningContent" and isinstance(value, Mapping):
        part, said = Part(), value.get("reasoningText") or {}
        part.reasoning.text = clean(str(said.get("text") or ""))
        part.reasoning.signature = str(said.get("signature") or "").encode(errors="replace")
        if "redactedContent" in value:
            part.reasoning.encrypted = bytes_of(value["redactedContent"], f"{field}.reasoningContent.redactedContent")
        yield part
    elif kind in MEDIA and isinstance(value, Mapping):
        yield Part(media=media_of(kind, value, f"{field}.{kind}"))
    elif kind == "guardContent" and isinstance(value, Mapping) and isinstance(value.get("text"), Mapping):
        yield Part(text=clean(str(value["text"].get("text", ""))))
    elif kind == "citationsContent" and isinstance(value, Mapping):
        yield from (Part(text=clean(str(each["text"]))) for each in value.get("content") or () if "text" in each)
    elif kind and kind != "cachePoint":
        part = Part()
        part.data.type, part.data.json = f"strands.{clean(kind)}", json_text(value)
        yield part


def _result(value: Mapping[str, Any], field: str) -> ToolResultPart:
    """A tool result. A single JSON value is its structured content."""
    result = ToolResultPart(call_id=clean(str(value.get("toolUseId", ""))), is_error=value.get("status") == "error")
    content = value.get("content") or []
    if len(content) == 1 and "json" in content[0]:
        result.structured_json = json_text(content[0]["json"])
        return result
    for number, block in enumerate(content):
        result.parts.extend(_typed(block, f"{field}.content[{number}]"))
    return result


def _blocks(event: SessionEvent) -> Iterator[dict[str, Any]]:
    provider = str(member_of(event, "reasoning_of") or "")
    for part in event.message.parts:
        match part.WhichOneof("content"):
            case "text":
                yield {"text": part.text}
            case "data":
                yield {"text": part.data.json}
            case "reasoning" if part.reasoning.text or provider == "bedrock":
                signed = {"signature": part.reasoning.signature.decode(errors="replace")} if provider == "bedrock" else {}
                yield {"reasoningContent": {"reasoningText": {"text": part.reasoning.text, **signed}}}
            case "tool_call":
                call = part.tool_call
                yield {"toolUse": {"toolUseId": call.id, "name": call.name, "input": json_object(call.arguments_json)}}
            case "tool_result":
                yield {"toolResult": _result_block(part.tool_result)}
            case "media":
                yield block_of(part.media)


def _result_block(result: ToolResultPart) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"json": json.loads(result.structured_json)}] if result.structured_json else []
    for part in result.parts:
        if part.HasField("media"):
            content.append(block_of(part.media))
        elif part.HasField("text") or part.HasField("data"):
            content.append({"text": part.text or part.data.json})
    return {"toolUseId": result.call_id, "status": "error" if result.is_error else "success", "content": content}


def _usage(usage: Mapping[str, Any]) -> TokenUsage:
    def count(name: str) -> int:
        value = usage.get(name)
        return value if isinstance(value, int) and value > 0 else 0

    return TokenUsage(
        input_tokens=count("inputTokens"),
        output_tokens=count("outputTokens"),
        total_tokens=count("totalTokens"),
        cached_tokens=count("cacheReadInputTokens"),
    )
