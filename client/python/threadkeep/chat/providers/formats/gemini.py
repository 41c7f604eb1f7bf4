"""Requests of Gemini's generateContent."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...tools.tool import ToolDefinition
from ...types.messages import Data, Media, Message, Part, Reasoning, Role, Text, ToolCall, ToolResult
from ...types.options import ChatOptions, ToolOptions
from ...types.requests import Prompt
from .reading import base64_of, object_of, own_content
from .signatures import is_own

PROVIDER = "gemini"
_CHOICES = {"auto": "AUTO", "none": "NONE", "required": "ANY"}


def request(prompt: Prompt) -> dict[str, Any]:
    """Returns the JSON of a request, whole or streamed; the address contains the model. SYSTEM messages come before all
    others.

    `strict` and `parallel_tool_calls` are not supported. Mappings in `extra` are merged with the request's own.
    """
    options = prompt.options or ChatOptions()
    system = [{"text": each.text} for each in prompt.messages if each.role is Role.SYSTEM and each.text.strip()]
    config = {
        "temperature": options.temperature,
        "topP": options.top_p,
        "maxOutputTokens": options.max_tokens,
        "stopSequences": list(options.stop) if options.stop else None,
        "seed": options.seed,
    }
    body: dict[str, Any] = {
        "systemInstruction": {"parts": system} if system else None,
        "contents": _contents(prompt.messages),
        "generationConfig": {name: value for name, value in config.items() if value is not None} or None,
    }
    if isinstance(options, ToolOptions) and options.tools:
        body["tools"] = [{"functionDeclarations": [_tool(each.definition) for each in options.tools]}]
        body["toolConfig"] = _choice(options.tool_choice)
    return _joined({name: value for name, value in body.items() if value is not None}, options.extra)


def _joined(body: dict[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    for name, value in extra.items():
        mine = body.get(name)
        body[name] = {**mine, **value} if isinstance(mine, dict) and isinstance(value, Mapping) else value
    return body


def _tool(definition: ToolDefinition) -> dict[str, Any]:
    return {
        "name": definition.name,
        "description": definition.description,
        "parametersJsonSchema": dict(definition.input_schema),
    }


def _choice(choice: str | None) -> dict[str, Any] | None:
    if choice is None:
        return None
    one = {} if choice in _CHOICES else {"allowedFunctionNames": [choice]}
    return {"functionCallingConfig": {"mode": _CHOICES.get(choice, "ANY")} | one}


def _contents(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Returns alternating user and model contents: consecutive messages are merged, empty ones left out."""
    found: list[dict[str, Any]] = []
    names = {call.id: call.name for message in messages for call in message.tool_calls}
    for message in messages:
        parts = [] if message.role is Role.SYSTEM else list(_parts(message, names))
        role = "model" if message.role is Role.ASSISTANT else "user"
        if parts and found and found[-1]["role"] == role:
            found[-1]["parts"] += parts
        elif parts:
            found.append({"role": role, "parts": parts})
    return found


def _parts(message: Message, names: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yields the parts. A signature is attached to the part that follows it, or to an empty part at the end. Thoughts are not
    sent back."""
    own = is_own(message, PROVIDER)
    signature: dict[str, Any] = {}
    for part in message.parts:
        if isinstance(part, Reasoning):
            if own and part.signature:
                signature = {"thoughtSignature": base64.b64encode(part.signature).decode()}
            continue
        for said in _said(part, names):
            yield said | signature
            signature = {}
    if signature:
        yield {"text": ""} | signature


def _said(part: Part, names: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    match part:
        case Text():
            if part.text:
                yield {"text": part.text}
        case ToolCall():
            yield {"functionCall": {"id": part.id, "name": part.name, "args": object_of(part.arguments)}}
        case ToolResult():
            yield {"functionResponse": _response(part, names)}
            yield from (_media(each) for each in part.parts if isinstance(each, Media))
        case Media():
            yield _media(part)
        case Data():
            if (own := own_content(part, PROVIDER)) is not None:
                yield own


def _response(result: ToolResult, names: Mapping[str, str]) -> dict[str, Any]:
    """Returns a JSON object unchanged, and a text under the names of Google's guide for results and errors."""
    output = object_of(result.structured_json) if result.structured_json else {"output": result.text}
    response = {"error": output.get("output", output)} if result.is_error else output
    return {"id": result.call_id, "name": result.name or names.get(result.call_id, "unknown"), "response": response}


def _media(media: Media) -> dict[str, Any]:
    if media.data is not None:
        return {"inlineData": {"mimeType": media.mime_type, "data": base64_of(media)}}
    return {"fileData": {"mimeType": media.mime_type, "fileUri": media.uri or media.file_id}}
