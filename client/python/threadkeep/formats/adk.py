"""Events of Google's Agent Development Kit: from their JSON to events, and back.

An item is the JSON form of `google.adk.events.Event`: keys in snake case, times in seconds, bytes in base64, no nulls.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

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
    Role,
    ToolCallPart,
    ToolResultPart,
)
from ..v1.session_pb2 import TokenUsage
from . import gemini
from .anthropic import reasoning_provider
from .openai import clean, cleaned, json_text, native_item, verbatim

NATIVE = "adk.event/1"
COMPACTION = "google-adk"
"""The compaction_source of the summaries that ADK appends."""
_NANOS = 1_000_000_000
_FIRST, _LAST = -62_135_596_800, 253_402_300_800
"""Seconds of the years 1 and 10000, between which a Timestamp is."""
_OUTPUTS = frozenset(("result", "output", "error"))
"""Keys of a function's response that alone mean: this is all it returned."""
_TOKENS = {
    "input_tokens": ("prompt_token_count", "tool_use_prompt_token_count"),
    "output_tokens": ("candidates_token_count", "thoughts_token_count"),
    "total_tokens": ("total_token_count",),
    "cached_tokens": ("cached_content_token_count",),
    "reasoning_tokens": ("thoughts_token_count",),
}
_AUTHORS = {ROLE_USER: "user", ROLE_SYSTEM: "system"}


def event_of(item: Mapping[str, Any]) -> SessionEvent:
    """The event of an item: its typed parts, and the item verbatim. What no field of an event can hold is in the latter."""
    summary = _object(_object(item, "actions"), "compaction")
    content = _object(summary, "compacted_content") or _object(item, "content") or _spoken(item)
    author = _text(item, "author")
    event = SessionEvent(
        event_id=_text(item, "id"),
        message=message_of(content, "" if summary else author),
        author=author if len(author.encode()) <= 255 else "",
        branch=_branch(_text(item, "branch")),
        invocation_id=_text(item, "invocation_id"),
        event_time=_time(item.get("timestamp")),
        native=NativeContent(format=NATIVE, content=verbatim(item)),
        usage=_usage(_object(item, "usage_metadata")),
        synthetic=bool(summary),
        compaction_source=COMPACTION if summary else "",
    )
    if any(part.reasoning.signature for part in event.message.parts):
        event.metadata_json = json.dumps({"reasoning_of": gemini.PROVIDER}, separators=(",", ":"))
    return event


def items_of(event: SessionEvent, names: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """The item of an event: the native one if it is ADK's, otherwise one of its parts. `names`: see `rendered`."""
    native = native_item(event, NATIVE)
    return [rendered(event, names) if native is None else native]


def rendered(event: SessionEvent, names: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The item of an event's parts. `names`: of tools, by call id, for results that have none; see `names_of`."""
    role = event.message.role
    time = event.event_time if event.HasField("event_time") else event.record_time
    item: dict[str, Any] = {
        "id": event.event_id,
        "author": _AUTHORS.get(role) or event.author or "assistant",
        "timestamp": seconds_of(time),
    }
    own = reasoning_provider(event) in ("", gemini.PROVIDER)
    if content := content_of(event.message, names, signed=own):
        item["content"] = content
    if event.invocation_id:
        item["invocation_id"] = event.invocation_id
    if event.branch:
        item["branch"] = event.branch
    if event.HasField("usage"):
        counts = event.usage
        item["usage_metadata"] = {
            "prompt_token_count": counts.input_tokens,
            "candidates_token_count": counts.output_tokens - counts.reasoning_tokens,
            "thoughts_token_count": counts.reasoning_tokens,
            "cached_content_token_count": counts.cached_tokens,
            "total_token_count": counts.total_tokens,
        }
    return item


def names_of(events: Iterable[SessionEvent]) -> dict[str, str]:
    """The names of tools by the ids of their calls."""
    parts = (part for event in events for part in event.message.parts)
    return {part.tool_call.id: part.tool_call.name for part in parts if part.HasField("tool_call")}


def message_of(content: Mapping[str, Any], author: str = "") -> ChatMessage:
    """The message of a content. Results of functions are TOOL; otherwise "user" as author, or as role without one, is USER."""
    parts = [each for part in _objects(content, "parts") for each in _parts(part)]
    role: Role.ValueType = ROLE_ASSISTANT
    if any(part.HasField("tool_result") for part in parts):
        role = ROLE_TOOL
    elif parts and (author or _text(content, "role")) == "user":
        role = ROLE_USER
    return ChatMessage(role=role, parts=parts)


def content_of(message: ChatMessage, names: Mapping[str, str] | None = None, *, signed: bool = True) -> dict[str, Any]:
    """The content of a message; empty without parts. `signed`: with the signatures of its reasoning."""
    parts: list[dict[str, Any]] = []
    signature: dict[str, Any] = {}
    for part in message.parts:
        said = [_thought(part.reasoning)] if part.reasoning.text else list(gemini.parts_of(part, names or {}))
        if signed and part.reasoning.signature:
            signature = {"thought_signature": base64.b64encode(part.reasoning.signature).decode()}
        for each in said:
            parts.append(each | signature)
            signature = {}
    return {"role": "model" if message.role == ROLE_ASSISTANT else "user", "parts": parts} if parts else {}


def nanoseconds_of(seconds: float) -> int:
    """Nanoseconds since the epoch. The fraction is exact: a product of the whole number would be rounded to 128 ns or more."""
    whole = int(seconds // 1)
    return whole * _NANOS + round((seconds - whole) * _NANOS)


def timestamp_of(seconds: float) -> Timestamp:
    """The time of seconds since the epoch."""
    whole, nanos = divmod(nanoseconds_of(seconds), _NANOS)
    return Timestamp(seconds=whole, nanos=nanos)


def seconds_of(time: Timestamp) -> float:
    """Seconds since the epoch. Division of integers rounds once, so a time of `timestamp_of` is the same number again."""
    return (time.seconds * _NANOS + time.nanos) / _NANOS


def _parts(part: Mapping[str, Any]) -> Iterator[Part]:
    signature = _bytes(part, "thought_signature")
    if part.get("thought") and "text" in part:
        yield Part(reasoning=ReasoningPart(text=_text(part, "text"), signature=signature))
        return
    if signature:
        yield Part(reasoning=ReasoningPart(signature=signature))
    if "text" in part:
        yield Part(text=_text(part, "text"))
    elif call := _object(part, "function_call"):
        arguments = json_text(call["args"]) if call.get("args") is not None else ""
        made = ToolCallPart(id=_text(call, "id"), name=_text(call, "name"), kind="function", arguments_json=arguments)
        yield Part(tool_call=made)
    elif response := _object(part, "function_response"):
        yield Part(tool_result=_result(response))
    elif media := _media(part):
        yield Part(media=media)
    elif rest := {key: value for key, value in part.items() if key != "thought_signature"}:
        yield Part(data=DataPart(type=gemini.PROVIDER, json=json_text(rest)))


def _result(response: Mapping[str, Any]) -> ToolResultPart:
    """The result. A response with only "result", "output" or "error" is that value, as ADK makes it of what a tool returns."""
    value: Any = response.get("response")
    failed = isinstance(value, Mapping) and value.get("error") is not None
    if isinstance(value, Mapping) and len(value) == 1 and _OUTPUTS.issuperset(value):
        (value,) = value.values()
    result = ToolResultPart(call_id=_text(response, "id"), name=_text(response, "name"), is_error=failed)
    if isinstance(value, str):
        result.parts.add().text = clean(value)
    elif value is not None:
        result.structured_json = json_text(value)
    found = map(_media, _objects(response, "parts"))
    result.parts.extend(Part(media=media) for media in found if media is not None)
    return result


def _media(part: Mapping[str, Any]) -> MediaPart | None:
    if blob := _object(part, "inline_data"):
        return MediaPart(mime_type=_text(blob, "mime_type"), name=_text(blob, "display_name"), data=_bytes(blob, "data"))
    if file := _object(part, "file_data"):
        return MediaPart(mime_type=_text(file, "mime_type"), name=_text(file, "display_name"), uri=_text(file, "file_uri"))
    return None


def _thought(reasoning: ReasoningPart) -> dict[str, Any]:
    return {"text": reasoning.text, "thought": True}


def _spoken(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """What was said in a live session, by the user or by the model, as a content; empty if nothing."""
    for field, role in (("input_transcription", "user"), ("output_transcription", "model")):
        if text := _text(_object(item, field), "text"):
            return {"role": role, "parts": [{"text": text}]}
    return {}


def _usage(counts: Mapping[str, Any]) -> TokenUsage | None:
    if not counts:
        return None
    return TokenUsage(**{name: sum(_count(counts, each) for each in summed) for name, summed in _TOKENS.items()})


def _count(counts: Mapping[str, Any], key: str) -> int:
    value = counts.get(key)
    return value if isinstance(value, int) and 0 <= value < 2**31 else 0


def _time(seconds: object) -> Timestamp | None:
    """The time of an event; None for what is no time before the year 10000, which is in the item only."""
    return timestamp_of(seconds) if isinstance(seconds, int | float) and _FIRST <= seconds < _LAST else None


def _branch(branch: str) -> str:
    """The branch if an event can have it; a path has no empty segments. Others are in the item only."""
    segments = branch.split(".")
    fits = all(segments) and len(segments) <= 64 and len(branch.encode()) <= 1024
    return branch if fits else ""


def _object(holder: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = holder.get(key)
    return value if isinstance(value, Mapping) else {}


def _objects(holder: Mapping[str, Any], key: str) -> Iterator[Mapping[str, Any]]:
    value = holder.get(key)
    yield from (each for each in value if isinstance(each, Mapping)) if isinstance(value, list) else ()


def _text(holder: Mapping[str, Any], key: str) -> str:
    return cleaned(holder.get(key))


def _bytes(holder: Mapping[str, Any], key: str) -> bytes:
    """Bytes in base64, in either alphabet, padded or not."""
    text = _text(holder, key).replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        return b""
