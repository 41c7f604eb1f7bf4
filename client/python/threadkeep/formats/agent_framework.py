"""Messages of Microsoft's Agent Framework, as its `Message.to_dict` writes them: to events, and from events.

One message is one event. It is stored twice: as typed parts, and verbatim as the event's native content. No message is refused:
content of a type that has no part is kept as data.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..v1.event_pb2 import NativeContent, SessionEvent
from ..v1.message_pb2 import (
    ROLE_ASSISTANT,
    ROLE_SYSTEM,
    ROLE_TOOL,
    ROLE_USER,
    ChatMessage,
    DataPart,
    MediaPart,
    Part,
    ReasoningPart,
    ToolCallPart,
    ToolResultPart,
)
from ..v1.session_pb2 import TokenUsage
from .data_urls import media_of, url_of
from .openai import clean, cleaned, json_text, native_item, verbatim

NATIVE = "agent_framework.message/1"
PROVIDER = "agent_framework"

Item = dict[str, Any]
_ROLES = {
    "system": ROLE_SYSTEM,
    "developer": ROLE_SYSTEM,
    "user": ROLE_USER,
    "assistant": ROLE_ASSISTANT,
    "tool": ROLE_TOOL,
}
_NAMES = {ROLE_SYSTEM: "system", ROLE_USER: "user", ROLE_ASSISTANT: "assistant", ROLE_TOOL: "tool"}
_COUNTS = {
    "input_token_count": "input_tokens",
    "output_token_count": "output_tokens",
    "total_token_count": "total_tokens",
    "cache_read_input_token_count": "cached_tokens",
    "reasoning_output_token_count": "reasoning_tokens",
}
_FAILED = "the tool failed"
"""What `exception` of a failed result says; the framework does not store the text of exceptions either."""


def event_of(item: Mapping[str, Any], event_id: str = "", *, invocation_id: str = "") -> SessionEvent:
    """The event of one message. `invocation_id`: the run that it belongs to."""
    contents = [content for content in item.get("contents") or () if isinstance(content, Mapping)]
    return SessionEvent(
        event_id=event_id,
        invocation_id=invocation_id,
        author=cleaned(item.get("author_name")),
        message=ChatMessage(
            role=_ROLES.get(cleaned(item.get("role")), ROLE_USER),
            parts=[part for content in contents if (part := _part(content)) is not None],
        ),
        usage=_usage(contents),
        native=NativeContent(format=NATIVE, content=verbatim(item)),
    )


def items_of(event: SessionEvent) -> list[Item]:
    """The messages of one event: the native one if it is of this format, otherwise that of its parts; none without content."""
    native = native_item(event, NATIVE)
    return rendered(event) if native is None else [native]


def rendered(event: SessionEvent) -> list[Item]:
    """The message of the parts of one event; none without content."""
    contents = [content for part in event.message.parts if (content := _content(part)) is not None]
    if not contents:
        return []
    author = {"author_name": event.author} if event.author else {}
    return [{"role": _NAMES.get(event.message.role, "user"), "contents": contents, "message_id": event.event_id} | author]


def _part(content: Mapping[str, Any]) -> Part | None:
    kind = cleaned(content.get("type"))
    match kind:
        case "text":
            return Part(text=cleaned(content.get("text")))
        case "text_reasoning":
            encrypted = cleaned(content.get("protected_data")).encode()
            return Part(reasoning=ReasoningPart(text=cleaned(content.get("text")), encrypted=encrypted))
        case "data" | "uri":
            return Part(media=_media(content))
        case "hosted_file":
            mime_type, name = cleaned(content.get("media_type")), cleaned(content.get("name"))
            return Part(media=MediaPart(file_id=cleaned(content.get("file_id")), mime_type=mime_type, name=name))
        case "function_call":
            return Part(tool_call=_call(content, cleaned(content.get("name")), "function"))
        case "mcp_server_tool_call":
            return Part(tool_call=_call(content, cleaned(content.get("tool_name")), "mcp"))
        case "function_result":
            return Part(tool_result=_result(content, content.get("items"), content.get("result")))
        case "mcp_server_tool_result":
            output = content.get("output")
            return Part(tool_result=_result(content, output if isinstance(output, list) else None, output))
        case "usage":
            return None
    return Part(data=DataPart(type=clean(f"{PROVIDER}.{kind}"), json=json_text(content)))


def _media(content: Mapping[str, Any]) -> MediaPart:
    return media_of(cleaned(content.get("uri")), cleaned(content.get("media_type")), name=cleaned(content.get("name")))


def _call(content: Mapping[str, Any], name: str, kind: str) -> ToolCallPart:
    arguments = content.get("arguments")
    text = "" if arguments is None else _plain(arguments)
    return ToolCallPart(id=cleaned(content.get("call_id")), name=name, kind=kind, arguments_json=text)


def _result(content: Mapping[str, Any], items: object, value: object) -> ToolResultPart:
    """A result. Its items repeat the value, which is their text, so the value counts only without them."""
    parts = list(_parts(items)) if isinstance(items, list) else []
    if not parts and value is not None:
        parts = [Part(text=_plain(value))]
    return ToolResultPart(call_id=cleaned(content.get("call_id")), parts=parts, is_error=content.get("exception") is not None)


def _parts(items: Iterable[object]) -> Iterator[Part]:
    for item in items:
        part = _part(item) if isinstance(item, Mapping) else Part(text=_plain(item))
        if part is not None:
            yield part


def _plain(value: object) -> str:
    return clean(value) if isinstance(value, str) else json_text(value)


def _usage(contents: Iterable[Mapping[str, Any]]) -> TokenUsage | None:
    """The sum of what the contents report."""
    usage = None
    for content in contents:
        details = content.get("usage_details")
        if content.get("type") == "usage" and isinstance(details, Mapping):
            usage = usage or TokenUsage()
            for theirs, ours in _COUNTS.items():
                count = details.get(theirs)
                if isinstance(count, int) and count > 0:
                    setattr(usage, ours, getattr(usage, ours) + count)
    return usage


def _content(part: Part) -> Item | None:
    match part.WhichOneof("content"):
        case "text":
            return {"type": "text", "text": part.text}
        case "reasoning" if part.reasoning.text:  # what a provider signed or encrypted is of no use to another one
            return {"type": "text_reasoning", "text": part.reasoning.text}
        case "tool_call":
            call = part.tool_call
            return {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments_json}
        case "tool_result":
            return _result_content(part.tool_result)
        case "media":
            return _media_content(part.media)
        case "data" if part.data.type.startswith(f"{PROVIDER}."):
            content: Item = json.loads(part.data.json)
            return content
    return None


def _result_content(result: ToolResultPart) -> Item:
    items = [content for part in result.parts if (content := _content(part)) is not None]
    if not items:
        items = [{"type": "text", "text": result.structured_json}]
    text = "\n".join(content["text"] for content in items if content["type"] == "text" and content["text"])
    failed = {"exception": _FAILED} if result.is_error else {}
    return {"type": "function_result", "call_id": result.call_id, "result": text, "items": items} | failed


def _media_content(media: MediaPart) -> Item:
    about = {"media_type": media.mime_type, "name": media.name}
    if media.WhichOneof("source") == "file_id":
        source = {"type": "hosted_file", "file_id": media.file_id}
    else:
        url = url_of(media)
        source = {"type": "data" if url.startswith("data:") else "uri", "uri": url}
    return source | {name: value for name, value in about.items() if value}
