"""Requests of OpenAI's chat completions, which many other servers support."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import UnsupportedContent
from ...tools.tool import ToolDefinition
from ...types.messages import Media, Message, Part, Reasoning, Role, Text, ToolCall, ToolResult
from ...types.options import ChatOptions, ToolOptions
from ...types.requests import Prompt
from .reading import base64_of, data_url, own_content

PROVIDER = "openai"
_AUDIO = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/wave": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}
_CHOICES = ("auto", "none", "required")


@dataclass(frozen=True, slots=True)
class Dialect:
    """Differences between servers.

    `limit`: the parameter for the maximum of output tokens; OpenAI's newer models reject "max_tokens", many other servers know
    only this one. `reasoning`: the message field for reasoning of earlier answers; empty to send none, as OpenAI requires.
    `stream_usage`: request the usage of a stream, which some servers reject.
    """

    limit: str = "max_tokens"
    reasoning: str = ""
    stream_usage: bool = True


def request(prompt: Prompt, dialect: Dialect = Dialect(), *, stream: bool = False) -> dict[str, Any]:
    """Returns the JSON of a request. Raises UnsupportedContent."""
    options = prompt.options or ChatOptions()
    body: dict[str, Any] = {
        "model": options.model,
        "messages": [each for message in prompt.messages for each in _messages(message, dialect)],
        "temperature": options.temperature,
        "top_p": options.top_p,
        dialect.limit: options.max_tokens,
        "stop": list(options.stop) if options.stop else None,
        "seed": options.seed,
    }
    if isinstance(options, ToolOptions) and options.tools:
        body |= {
            "tools": [_tool(each.definition) for each in options.tools],
            "tool_choice": _choice(options.tool_choice),
            "parallel_tool_calls": options.parallel_tool_calls,
        }
    if stream and dialect.stream_usage:
        body["stream_options"] = {"include_usage": True}
    return {name: value for name, value in body.items() if value is not None} | dict(options.extra) | {"stream": stream}


def _tool(definition: ToolDefinition) -> dict[str, Any]:
    function: dict[str, Any] = {
        "name": definition.name,
        "description": definition.description,
        "parameters": dict(definition.input_schema),
    }
    return {"type": "function", "function": function | ({"strict": True} if definition.strict else {})}


def _choice(choice: str | None) -> Any:
    return choice if choice is None or choice in _CHOICES else {"type": "function", "function": {"name": choice}}


def _messages(message: Message, dialect: Dialect) -> Iterator[dict[str, Any]]:
    match message.role:
        case Role.TOOL:
            yield from _results(message.tool_results)
        case Role.ASSISTANT:
            yield _answer(message, dialect)
        case Role.SYSTEM:
            yield {"role": "system", "content": _content(message)}
        case Role.USER:
            yield {"role": "user", "content": _content(message)}


def _answer(message: Message, dialect: Dialect) -> dict[str, Any]:
    said: dict[str, Any] = {"role": "assistant", "content": message.text or None}
    if message.tool_calls:
        said["tool_calls"] = [_call(each) for each in message.tool_calls]
    elif said["content"] is None:
        said["content"] = ""  # a message without content is rejected
    if dialect.reasoning and message.reasoning:
        said[dialect.reasoning] = message.reasoning
    return said


def _call(call: ToolCall) -> dict[str, Any]:
    if call.kind == "custom":
        return {"id": call.id, "type": "custom", "custom": {"name": call.name, "input": call.arguments}}
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments or "{}"}}


def _results(results: Sequence[ToolResult]) -> Iterator[dict[str, Any]]:
    """Yields one message per result. The API has no error flag. Media follow in a user message, because a tool message cannot
    contain them."""
    for result in results:
        yield {"role": "tool", "tool_call_id": result.call_id, "content": result.text}
    shown: list[dict[str, Any]] = []
    for result in results:
        if media := [each for each in result.parts if isinstance(each, Media)]:
            shown.append({"type": "text", "text": f"What the call {result.call_id} returned in addition to its text:"})
            shown.extend(_media(each) for each in media)
    if shown:
        yield {"role": "user", "content": shown}


def _content(message: Message) -> str | list[dict[str, Any]]:
    if all(isinstance(part, Text | Reasoning) for part in message.parts):
        return message.text
    return [content for part in message.parts if (content := _part(part)) is not None]


def _part(part: Part) -> dict[str, Any] | None:
    match part:
        case Text():
            return {"type": "text", "text": part.text}
        case Media():
            return _media(part)
    return own_content(part, PROVIDER)


def _media(media: Media) -> dict[str, Any]:
    kind = media.mime_type.partition("/")[0]
    if media.file_id is not None:
        return {"type": "file", "file": {"file_id": media.file_id}}
    if kind == "image":
        image = {"url": media.uri or data_url(media)}
        return {"type": "image_url", "image_url": image | ({"detail": media.detail} if media.detail else {})}
    if media.uri is not None:
        raise UnsupportedContent(f"chat completions take no {media.mime_type} by its address, only images; give its data")
    if kind == "audio":
        if media.mime_type not in _AUDIO:
            raise UnsupportedContent(f"chat completions take audio as wav or mp3, not {media.mime_type}")
        return {"type": "input_audio", "input_audio": {"data": base64_of(media), "format": _AUDIO[media.mime_type]}}
    return {"type": "file", "file": {"filename": media.name or "file", "file_data": data_url(media)}}
