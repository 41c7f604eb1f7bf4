"""Messages of LangChain and LangGraph to events, and from events. An item is a dict `{"type": ..., "data": {...}}`, as
`langchain_core.messages.message_to_dict` writes it."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..v1.event_pb2 import NativeContent, SessionEvent
from ..v1.message_pb2 import (
    ROLE_ASSISTANT,
    ROLE_SYSTEM,
    ROLE_TOOL,
    ROLE_USER,
    ChatMessage,
    MediaPart,
    Part,
    ReasoningPart,
    ToolCallPart,
    ToolResultPart,
)
from ..v1.session_pb2 import TokenUsage
from .langchain_blocks import part_of
from .openai import clean, json_text, native_item

NATIVE = "langchain.message/1"
_ROLES = {
    "human": ROLE_USER,
    "ai": ROLE_ASSISTANT,
    "system": ROLE_SYSTEM,
    "tool": ROLE_TOOL,
    "function": ROLE_TOOL,
    "user": ROLE_USER,
    "assistant": ROLE_ASSISTANT,
}
_TYPES = {ROLE_USER: "human", ROLE_ASSISTANT: "ai", ROLE_SYSTEM: "system", ROLE_TOOL: "tool"}
_CALLS = ("tool_call", "tool_use", "function_call", "tool_call_chunk", "invalid_tool_call", "input_json_delta")
"""Blocks that repeat a message's `tool_calls`."""
_MEDIA = ("image", "audio", "video")
_NAME = re.compile(r"[^\s<|\\/>]{1,64}")


def event_of(item: Mapping[str, Any], event_id: str, *, invocation_id: str = "") -> SessionEvent:
    """The event of one message. Content that no part represents is a data part; nothing is refused."""
    data: Mapping[str, Any] = item.get("data") or {}
    kind = str(item.get("type", "")).removesuffix("MessageChunk").lower()
    role = _ROLES.get(str(data.get("role", "")).lower() if kind == "chat" else kind, ROLE_USER)
    name = clean(str(data.get("name") or ""))
    event = SessionEvent(
        event_id=event_id,
        message=ChatMessage(role=role),
        author="" if role == ROLE_TOOL else name,
        invocation_id=invocation_id,
        native=NativeContent(format=NATIVE, content=_verbatim(item)),
        usage=_usage(data.get("usage_metadata")),
    )
    content = list(_content(data.get("content")))
    if role == ROLE_TOOL:
        failed = data.get("status") == "error"
        call_id = clean(str(data.get("tool_call_id") or ""))
        event.message.parts.add().tool_result.CopyFrom(
            ToolResultPart(call_id=call_id, name=name, parts=content, is_error=failed)
        )
        return event
    thought = _extra(data).get("reasoning_content")
    if isinstance(thought, str) and not any(part.HasField("reasoning") for part in content):
        event.message.parts.add().reasoning.text = clean(thought)
    event.message.parts.extend(content)
    event.message.parts.extend(_calls(data))
    return event


def items_of(event: SessionEvent) -> list[dict[str, Any]]:
    """The messages of one event: the native one if it is LangChain's, else those of its parts; none without parts.

    They have the event's id; of several, the later ones have a suffix.
    """
    native = native_item(event, NATIVE)
    return rendered(event) if native is None else [native]


def rendered(event: SessionEvent) -> list[dict[str, Any]]:
    """The messages of the parts of one event, as `items_of` describes them."""
    parts = event.message.parts
    items = [_result_item(part.tool_result) for part in parts if part.HasField("tool_result")]
    others = [part for part in parts if part.WhichOneof("content") not in ("tool_result", None)]
    if others:
        items.append(_item(event, others))
    for number, item in enumerate(items):
        item["data"]["id"] = f"{event.event_id}.{number}" if number else event.event_id
    return items


def _item(event: SessionEvent, parts: list[Part]) -> dict[str, Any]:
    kind = _TYPES.get(event.message.role, "human")
    data: dict[str, Any] = {"content": _flat(parts), "type": kind}
    if _NAME.fullmatch(event.author):
        data["name"] = event.author
    if kind == "ai":
        calls = [_call_of(part.tool_call) for part in parts if part.HasField("tool_call")]
        data["tool_calls"] = [call for call in calls if call["type"] == "tool_call"]
        data["invalid_tool_calls"] = [call for call in calls if call["type"] != "tool_call"]
        data["usage_metadata"] = _usage_of(event)
    elif kind == "tool":
        data["tool_call_id"] = ""
    return {"type": kind, "data": data}


def _result_item(result: ToolResultPart) -> dict[str, Any]:
    content = result.structured_json if result.structured_json and not result.parts else _flat(list(result.parts))
    status = "error" if result.is_error else "success"
    data = {"content": content, "type": "tool", "name": result.name or None, "tool_call_id": result.call_id, "status": status}
    return {"type": "tool", "data": data}


def _flat(parts: list[Part]) -> str | list[dict[str, Any]]:
    """Content in LangChain's form: a text if there is at most one, otherwise standard blocks."""
    blocks = [block for part in parts if (block := _block(part)) is not None]
    if not blocks:
        return ""
    if len(blocks) == 1 and blocks[0]["type"] == "text":
        return str(blocks[0]["text"])
    return blocks


def _block(part: Part) -> dict[str, Any] | None:
    match part.WhichOneof("content"):
        case "text":
            return {"type": "text", "text": part.text}
        case "reasoning":
            return _reasoning_block(part.reasoning)
        case "media":
            return _media_block(part.media)
        case "data" if part.data.type.startswith("langchain."):
            block = json.loads(part.data.json)
            return block if isinstance(block, dict) and "type" in block else {"type": "text", "text": part.data.json}
        case "data":
            return {"type": "text", "text": part.data.json}
    return None


def _reasoning_block(reasoning: ReasoningPart) -> dict[str, Any] | None:
    """A block without the signature, which its provider accepts in its own form only. None without readable text."""
    return {"type": "reasoning", "reasoning": reasoning.text} if reasoning.text else None


def _media_block(media: MediaPart) -> dict[str, Any]:
    family = media.mime_type.partition("/")[0]
    block: dict[str, Any] = {"type": family if family in _MEDIA else "file"}
    match media.WhichOneof("source"):
        case "data":
            block["base64"] = base64.b64encode(media.data).decode()
        case "file_id":
            block["file_id"] = media.file_id
        case _:
            block["url"] = media.uri
    if media.mime_type and "*" not in media.mime_type:
        block["mime_type"] = media.mime_type
    if media.name:
        block["extras"] = {"filename": media.name}
    return block


def _call_of(call: ToolCallPart) -> dict[str, Any]:
    try:
        arguments = json.loads(call.arguments_json) if call.arguments_json.strip() else {}
    except ValueError:
        arguments = None
    if isinstance(arguments, dict):
        return {"name": call.name, "args": arguments, "id": call.id or None, "type": "tool_call"}
    raw = {"name": call.name, "args": call.arguments_json, "id": call.id or None, "error": "not a JSON object"}
    return {**raw, "type": "invalid_tool_call"}


def _calls(data: Mapping[str, Any]) -> Iterator[Part]:
    for call in [*(data.get("tool_calls") or ()), *(data.get("invalid_tool_calls") or ())]:
        arguments = call.get("args")
        text = clean(arguments) if isinstance(arguments, str) else json_text({} if arguments is None else arguments)
        call_id, name = clean(str(call.get("id") or "")), clean(str(call.get("name") or ""))
        yield Part(tool_call=ToolCallPart(id=call_id, name=name, kind="function", arguments_json=text))


def _content(content: object) -> Iterator[Part]:
    if isinstance(content, str):
        if content:
            yield Part(text=clean(content))
        return
    for block in content if isinstance(content, list) else ():
        if isinstance(block, str):
            yield Part(text=clean(block))
        elif isinstance(block, Mapping) and block.get("type") not in _CALLS:
            yield part_of(block)


def _usage(usage: object) -> TokenUsage | None:
    if not isinstance(usage, Mapping):
        return None
    read, written = usage.get("input_token_details") or {}, usage.get("output_token_details") or {}
    return TokenUsage(
        input_tokens=usage.get("input_tokens") or 0,
        output_tokens=usage.get("output_tokens") or 0,
        total_tokens=usage.get("total_tokens") or 0,
        cached_tokens=read.get("cache_read") or 0,
        reasoning_tokens=written.get("reasoning") or 0,
    )


def _usage_of(event: SessionEvent) -> dict[str, Any] | None:
    if not event.HasField("usage"):
        return None
    usage = event.usage
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "input_token_details": {"cache_read": usage.cached_tokens},
        "output_token_details": {"reasoning": usage.reasoning_tokens},
    }


def _extra(data: Mapping[str, Any]) -> Mapping[str, Any]:
    extra = data.get("additional_kwargs")
    return extra if isinstance(extra, Mapping) else {}


def _verbatim(item: Mapping[str, Any]) -> bytes:
    """The item's JSON. What JSON cannot express, such as an object in a tool's artifact, is the name of its type."""
    try:
        return json.dumps(item, ensure_ascii=False, default=_plain).encode()
    except UnicodeEncodeError:
        return json.dumps(item, default=_plain).encode("ascii")


def _plain(value: object) -> object:
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    if isinstance(value, set | frozenset):
        return sorted(value, key=repr)
    return f"<{type(value).__qualname__}>"
