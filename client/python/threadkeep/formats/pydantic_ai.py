"""Messages of pydantic-ai: to events, and from events.

A message is a dict, as `ModelMessagesTypeAdapter` writes it. A request may mix what the system, the user and tools say, which
is an event for each; see `split`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from .._convert import timestamp
from ..v1.event_pb2 import SessionEvent
from ..v1.message_pb2 import ROLE_ASSISTANT, ROLE_SYSTEM, ROLE_TOOL, ROLE_USER, ChatMessage, Part, Role, ToolResultPart
from ..v1.session_pb2 import TokenUsage
from .fields import FieldError, time_of
from .openai import clean, json_text, native_item
from .pydantic_ai_content import content_of, parts_of
from .split import member_of, part_of, runs_of, split

NATIVE = "pydantic_ai.message/1"
_ROLES = {
    "system-prompt": ROLE_SYSTEM,
    "user-prompt": ROLE_USER,
    "speech": ROLE_USER,
    "retry-feedback": ROLE_USER,
    "compaction": ROLE_USER,
    "tool-return": ROLE_TOOL,
    "builtin-tool-return": ROLE_TOOL,
}
"""The roles of parts of a request. A part that is not here, such as a change of settings, belongs to its neighbors."""
_FAILED = ("failed", "retried")
_PROVIDERS = {"google": "gemini", "google-cloud": "gemini", "google-gla": "gemini", "google-vertex": "gemini"}
_NAMES = {"gemini": "google"}


def events_of(message: object, event_id: str, *, metadata: Mapping[str, Any] | None = None) -> list[SessionEvent]:
    """The events of a message, the one with the message itself last. `metadata`: of that one. Raises FieldError."""
    if not isinstance(message, Mapping) or message.get("kind") not in ("request", "response"):
        raise FieldError("kind", "must be request or response")
    default = ROLE_USER if message["kind"] == "request" else ROLE_ASSISTANT
    signed = {"reasoning_of": provider} if (provider := _signer(message)) else {}
    events = split(runs_of(_parts(message), default), event_id, NATIVE, message, {**(metadata or {}), **signed})
    when, run_id = _time(message), message.get("run_id")
    for event in events:
        event.invocation_id = clean(run_id) if isinstance(run_id, str) else ""
        if when is not None:
            event.event_time.CopyFrom(when)
    if isinstance(usage := message.get("usage"), Mapping) and (counted := _usage(usage)).total_tokens:
        events[-1].usage.CopyFrom(counted)
    return events


def items_of(event: SessionEvent, names: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """The message of an event: the native one if it is of pydantic-ai, else that of its parts. None without content.

    `names`: the names of tools by the ids of their calls, for results that do not name theirs.
    """
    native = native_item(event, NATIVE)
    return rendered(event, names) if native is None else [native]


def rendered(event: SessionEvent, names: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """The message of the parts of an event; none without content. `names`: as `items_of` takes them."""
    if part_of(event):
        return []
    when = _shown_time(event)
    about = {"run_id": event.invocation_id or None, "timestamp": when}
    if event.message.role == ROLE_ASSISTANT:
        parts = list(_response_parts(event))
        usage = {"usage": _usage_of(event.usage)} if event.HasField("usage") else {}
        return [{"kind": "response", "parts": parts, **about, **usage}] if parts else []
    parts = [part | {"timestamp": when} for part in _request_parts(event.message, names or {})]
    return [{"kind": "request", "parts": parts, **about}] if parts else []


def tool_names(events: Iterable[SessionEvent]) -> dict[str, str]:
    """The names of tools by the ids of their calls."""
    calls = (part.tool_call for event in events for part in event.message.parts if part.HasField("tool_call"))
    return {call.id: call.name for call in calls}


def _parts(message: Mapping[str, Any]) -> Iterator[tuple[Role.ValueType | None, list[Part]]]:
    """The parts of a message with their roles."""
    for number, part in enumerate(message.get("parts") or ()):
        field = f"parts[{number}]"
        if not isinstance(part, Mapping) or not isinstance(part.get("part_kind"), str):
            raise FieldError(field, "must be an object with a part_kind")
        yield _role(message, part), _typed(part, field)


def _role(message: Mapping[str, Any], part: Mapping[str, Any]) -> Role.ValueType | None:
    if part["part_kind"] == "retry-prompt":
        return ROLE_TOOL if part.get("tool_name") else ROLE_USER
    if message["kind"] == "response":
        return ROLE_TOOL if part["part_kind"] == "builtin-tool-return" else ROLE_ASSISTANT
    return _ROLES.get(part["part_kind"])


def _typed(part: Mapping[str, Any], field: str) -> list[Part]:
    """The typed parts of a part."""
    content = part.get("content")
    match part["part_kind"]:
        case "system-prompt" | "text" | "user-prompt" | "file":
            return parts_of(content, f"{field}.content")
        case "retry-feedback":
            return [Part(text=clean(content) if isinstance(content, str) else json_text(content))]
        case "compaction" if isinstance(content, str):
            return [Part(text=clean(content))]
        case "speech":
            spoken = [part["transcript"]] if isinstance(part.get("transcript"), str) else []
            return parts_of([*spoken, *([part["audio"]] if part.get("audio") else [])], field)
        case "thinking":
            made = Part()
            made.reasoning.text = clean(str(content or ""))
            made.reasoning.signature = str(part.get("signature") or "").encode(errors="replace")
            return [made]
        case "tool-call" | "builtin-tool-call":
            return [_call(part)]
        case "tool-return" | "builtin-tool-return":
            return [_result(part, part.get("outcome") in _FAILED, f"{field}.content")]
        case "retry-prompt" if part.get("tool_name"):
            return [_result(part, True, f"{field}.content")]
        case "retry-prompt":
            return [Part(text=clean(content) if isinstance(content, str) else json_text(content))]
    return []  # records of the framework, such as changed settings or tools: no model reads them


def _call(part: Mapping[str, Any]) -> Part:
    made, arguments = Part(), part.get("args")
    made.tool_call.id = clean(str(part.get("tool_call_id") or ""))
    made.tool_call.name = clean(str(part.get("tool_name") or ""))
    made.tool_call.kind = "function" if part["part_kind"] == "tool-call" else "builtin"
    if arguments is not None:
        made.tool_call.arguments_json = clean(arguments) if isinstance(arguments, str) else json_text(arguments)
    return made


def _result(part: Mapping[str, Any], failed: bool, field: str) -> Part:
    content = part.get("content")
    result = ToolResultPart(call_id=clean(str(part.get("tool_call_id") or "")), name=clean(str(part.get("tool_name") or "")))
    result.is_error = failed
    media = isinstance(content, Mapping) and content.get("kind") in ("binary", "uploaded-file", "image-url", "document-url")
    listed = isinstance(content, list) and any(isinstance(each, Mapping) and "kind" in each for each in content)
    if isinstance(content, str) or media or listed:
        result.parts.extend(parts_of(content, field))
    else:
        result.structured_json = json_text(content)
    return Part(tool_result=result)


def _request_parts(message: ChatMessage, names: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """The parts of a request from those of an event of the system, the user or tools."""
    if message.role == ROLE_SYSTEM:
        yield from ({"part_kind": "system-prompt", "content": part.text} for part in message.parts if part.HasField("text"))
        return
    said = [part for part in message.parts if not part.HasField("tool_result")]
    for result in (part.tool_result for part in message.parts if part.HasField("tool_result")):
        yield {
            "part_kind": "tool-return",
            "tool_name": result.name or names.get(result.call_id) or "unknown",
            "tool_call_id": result.call_id,
            "content": json.loads(result.structured_json) if result.structured_json else content_of(result.parts),
            "outcome": "failed" if result.is_error else "success",
        }
    if content := content_of(said):
        yield {"part_kind": "user-prompt", "content": content}


def _response_parts(event: SessionEvent) -> Iterator[dict[str, Any]]:
    """The parts of a response from those of an event of the model."""
    provider = str(member_of(event, "reasoning_of") or "")
    for part in event.message.parts:
        match part.WhichOneof("content"):
            case "text" | "data":
                yield {"part_kind": "text", "content": part.text or part.data.json}
            case "reasoning":
                signature = part.reasoning.signature.decode(errors="replace")
                signed = {"signature": signature, "provider_name": _NAMES.get(provider, provider)}
                yield {"part_kind": "thinking", "content": part.reasoning.text, **(signed if signature and provider else {})}
            case "tool_call":
                call = part.tool_call
                known = {"tool_name": call.name, "args": call.arguments_json or None, "tool_call_id": call.id}
                yield {"part_kind": "tool-call", **known}
            case "media":
                content = content_of([part])
                kept = isinstance(content, Sequence) and isinstance(content[0], Mapping) and content[0].get("kind") == "binary"
                text = content if isinstance(content, str) else part.media.uri or part.media.file_id
                yield {"part_kind": "file", "content": content[0]} if kept else {"part_kind": "text", "content": text}


def _signer(message: Mapping[str, Any]) -> str:
    """The provider that signed the reasoning, as in the metadata of other events; empty if none did."""
    signed = [part for part in message.get("parts") or () if isinstance(part, Mapping) and part.get("signature")]
    if not signed:
        return ""
    name = str(signed[0].get("provider_name") or message.get("provider_name") or "")
    return _PROVIDERS.get(name, name)


def _time(message: Mapping[str, Any]) -> Any:
    """The time of a message: its own, else that of its first part that has one. None if there is none with a time zone."""
    for each in (message, *(message.get("parts") or ())):
        if (found := time_of(each.get("timestamp"))) is not None:
            return timestamp(found, "timestamp")
    return None


def _shown_time(event: SessionEvent) -> str:
    return (event.event_time if event.HasField("event_time") else event.record_time).ToJsonString()


def _usage(usage: Mapping[str, Any]) -> TokenUsage:
    def count(holder: object, name: str) -> int:
        value = holder.get(name) if isinstance(holder, Mapping) else None
        return value if isinstance(value, int) and value > 0 else 0

    sent, received = count(usage, "input_tokens"), count(usage, "output_tokens")
    return TokenUsage(
        input_tokens=sent,
        output_tokens=received,
        total_tokens=sent + received,
        cached_tokens=count(usage, "cache_read_tokens"),
        reasoning_tokens=count(usage.get("details"), "reasoning_tokens"),
    )


def _usage_of(usage: TokenUsage) -> dict[str, Any]:
    details = {"reasoning_tokens": usage.reasoning_tokens} if usage.reasoning_tokens else {}
    counts = {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_tokens": usage.cached_tokens,
    }
    return {**counts, "details": details}
