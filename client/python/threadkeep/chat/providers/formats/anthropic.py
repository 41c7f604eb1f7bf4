"""Requests of Anthropic's Messages API."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ...errors import UnsupportedContent
from ...tools.tool import ToolDefinition
from ...types.messages import Data, Media, Message, Part, Reasoning, Role, Text, ToolCall, ToolResult
from ...types.options import ChatOptions, ToolOptions
from ...types.requests import Prompt
from .reading import base64_of, object_of, own_content
from .signatures import is_own

PROVIDER = "anthropic"
DEFAULT_MAX_TOKENS = 4096
"""The API requires a limit; this one applies without `max_tokens`."""
_CHOICES = {"auto": "auto", "none": "none", "required": "any"}
_NOT_IN_IDS = re.compile(r"[^a-zA-Z0-9_-]")


def request(prompt: Prompt, *, stream: bool = False) -> dict[str, Any]:
    """Returns the JSON of a request. The API has no seed. SYSTEM messages come before all others. Raises UnsupportedContent."""
    options = prompt.options or ChatOptions()
    system = [{"type": "text", "text": each.text} for each in prompt.messages if each.role is Role.SYSTEM and each.text.strip()]
    body: dict[str, Any] = {
        "model": options.model,
        "max_tokens": options.max_tokens or DEFAULT_MAX_TOKENS,
        "system": system or None,
        "messages": _messages(prompt.messages),
        "temperature": options.temperature,
        "top_p": options.top_p,
        "stop_sequences": list(options.stop) if options.stop else None,
    }
    if isinstance(options, ToolOptions) and options.tools:
        body["tools"] = [_tool(each.definition) for each in options.tools]
        body["tool_choice"] = _choice(options)
    return {name: value for name, value in body.items() if value is not None} | dict(options.extra) | {"stream": stream}


def _tool(definition: ToolDefinition) -> dict[str, Any]:
    tool: dict[str, Any] = {
        "name": definition.name,
        "description": definition.description,
        "input_schema": dict(definition.input_schema),
    }
    return tool | ({"strict": True} if definition.strict else {})


def _choice(options: ToolOptions) -> dict[str, Any] | None:
    wanted, parallel = options.tool_choice, options.parallel_tool_calls
    if wanted is None and parallel is None:
        return None
    kind = _CHOICES.get(wanted or "auto", "tool")
    choice: dict[str, Any] = {"type": kind} | ({"name": wanted} if kind == "tool" else {})
    return choice if parallel is None or kind == "none" else choice | {"disable_parallel_tool_use": not parallel}


def _messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Returns alternating user and assistant messages: consecutive ones are merged, empty ones left out."""
    found: list[dict[str, Any]] = []
    for message in messages:
        content = [] if message.role is Role.SYSTEM else _content(message)
        role = "assistant" if message.role is Role.ASSISTANT else "user"
        if content and found and found[-1]["role"] == role:
            found[-1]["content"] += content
        elif content:
            found.append({"role": role, "content": content})
    return found


def _content(message: Message) -> list[dict[str, Any]]:
    own = is_own(message, PROVIDER)
    return [block for part in message.parts if (block := _block(part, own)) is not None]


def _block(part: Part, own: bool) -> dict[str, Any] | None:
    match part:
        case Text():
            return {"type": "text", "text": part.text} if part.text.strip() else None  # blank ones are refused
        case Reasoning():
            return _thinking(part) if own else None
        case ToolCall():
            return {"type": "tool_use", "id": _id(part.id), "name": part.name, "input": object_of(part.arguments)}
        case ToolResult():
            return _result(part)
        case Media():
            return _media(part)
        case Data():
            return own_content(part, PROVIDER)


def _thinking(part: Reasoning) -> dict[str, Any] | None:
    """Returns a reasoning block unchanged. Reasoning without a signature is rejected by the API and left out."""
    if part.encrypted and part.encrypted.isascii():
        return {"type": "redacted_thinking", "data": part.encrypted.decode()}
    if part.signature and part.signature.isascii():
        return {"type": "thinking", "thinking": part.text, "signature": part.signature.decode()}
    return None


def _result(result: ToolResult) -> dict[str, Any]:
    media = [_media(each) for each in result.parts if isinstance(each, Media)]
    text = [{"type": "text", "text": result.text}] if result.text.strip() else []
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": _id(result.call_id)}
    if content := [*text, *media]:
        block["content"] = content
    return block | ({"is_error": True} if result.is_error else {})


def _media(media: Media) -> dict[str, Any]:
    if media.mime_type.startswith("image/"):
        return {"type": "image", "source": _source(media)}
    if media.mime_type not in ("application/pdf", "text/plain"):
        raise UnsupportedContent(f"Anthropic's messages take images, PDF and plain text, not {media.mime_type}")
    return {"type": "document", "source": _source(media)} | ({"title": media.name} if media.name else {})


def _source(media: Media) -> dict[str, Any]:
    if media.file_id is not None:
        return {"type": "file", "file_id": media.file_id}
    if media.uri is not None:
        return {"type": "url", "url": media.uri}
    if media.mime_type == "text/plain":
        return {"type": "text", "media_type": "text/plain", "data": (media.data or b"").decode(errors="replace")}
    return {"type": "base64", "media_type": media.mime_type, "data": base64_of(media)}


def _id(call_id: str) -> str:
    """Replaces characters that ids of other providers may have and that this API rejects."""
    return _NOT_IN_IDS.sub("_", call_id)
