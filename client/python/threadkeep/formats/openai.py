"""OpenAI chat messages: from a message to an event, and back.

`event_of` stores a message twice: as the typed parts that every reader understands, and verbatim as the event's native
content, which keeps fields that no part represents.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from ..v1 import event_pb2, message_pb2
from .fields import FieldError

NATIVE = "openai.chat.message/1"
_ROLES = {
    "system": message_pb2.ROLE_SYSTEM,
    "developer": message_pb2.ROLE_SYSTEM,
    "user": message_pb2.ROLE_USER,
    "assistant": message_pb2.ROLE_ASSISTANT,
    "tool": message_pb2.ROLE_TOOL,
    "function": message_pb2.ROLE_TOOL,
}
_NAMES = {
    message_pb2.ROLE_SYSTEM: "system",
    message_pb2.ROLE_USER: "user",
    message_pb2.ROLE_ASSISTANT: "assistant",
    message_pb2.ROLE_TOOL: "tool",
}
_NAME = re.compile(r"[^\s<|\\/>]{1,64}")
AUDIO = {"wav": "audio/wav", "mp3": "audio/mpeg"}


def event_of(message: object, event_id: str, field: str = "") -> event_pb2.SessionEvent:
    """The event of one message. `field` is the path of the message in its record, for FieldError."""
    if not isinstance(message, dict):
        raise FieldError(field, f"a message is an object, not {_kind(message)}")
    at = f"{field}." if field else ""
    role_name = message.get("role")
    role = _ROLES.get(role_name) if isinstance(role_name, str) else None
    if role is None:
        raise FieldError(f"{at}role", f"must be one of {', '.join(_ROLES)}; it is {shown(role_name)}")
    event = event_pb2.SessionEvent(
        event_id=event_id,
        message=message_pb2.ChatMessage(role=role),
        native=event_pb2.NativeContent(format=NATIVE, content=verbatim(message)),
    )
    parts = event.message.parts
    content = list(_content(message.get("content"), f"{at}content"))
    if role == message_pb2.ROLE_TOOL:
        result = parts.add().tool_result
        result.call_id = _text(message, "tool_call_id", at, required=role_name == "tool")
        result.name = _text(message, "name", at)
        result.parts.extend(content)
        return event
    event.author = _text(message, "name", at)
    if reasoning := _text(message, "reasoning_content", at):
        parts.add().reasoning.text = reasoning
    parts.extend(content)
    if refusal := _text(message, "refusal", at):
        parts.append(_data("openai.refusal", refusal))
    if isinstance(message.get("audio"), dict):
        parts.append(_data("openai.audio", message["audio"]))
    parts.extend(_tool_calls(message, at))
    return event


def message_of(event: event_pb2.SessionEvent) -> list[dict[str, Any]]:
    """The messages of one event: the native one if it is OpenAI's, otherwise those of its parts."""
    if (native := native_item(event, NATIVE)) is not None:
        return [native]
    message = event.message
    results = [part.tool_result for part in message.parts if part.WhichOneof("content") == "tool_result"]
    if results:
        return [
            {"role": "tool", "tool_call_id": each.call_id, **({"name": each.name} if each.name else {}), "content": _flat(each)}
            for each in results
        ]
    out: dict[str, Any] = {"role": _NAMES.get(message.role, "user"), "content": _flat(message)}
    if event.author:
        out["name"] = event.author
    calls = [part.tool_call for part in message.parts if part.WhichOneof("content") == "tool_call"]
    if calls:
        out["tool_calls"] = [_call_of(each) for each in calls]
    return [out]


def messages_of(events: Iterable[event_pb2.SessionEvent]) -> list[dict[str, Any]]:
    """The messages of events, without empty ones and without names that OpenAI rejects."""
    found: list[dict[str, Any]] = []
    for message in (message for event in events for message in message_of(event)):
        if not _NAME.fullmatch(message.get("name", "")):
            message.pop("name", None)
        if message.get("content") is not None or message.keys() - {"role", "content", "name"}:
            found.append(message)
    return found


def verbatim(value: object) -> bytes:
    """The value's JSON in UTF-8. Lone surrogates, which UTF-8 cannot represent, stay escapes."""
    try:
        return json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value).encode("ascii")


def native_item(event: event_pb2.SessionEvent, native_format: str) -> dict[str, Any] | None:
    """The item that `verbatim` kept of an event; None of an event of another format, or of something other than an object."""
    if event.native.format != native_format:
        return None
    native = json.loads(event.native.content)
    return native if isinstance(native, dict) else None


def clean(text: str) -> str:
    """Returns text that protobuf can encode: U+FFFD replaces each lone surrogate."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def cleaned(value: object) -> str:
    """The clean text; "" for a value that is no text."""
    return clean(value) if isinstance(value, str) else ""


def shown(value: object) -> str:
    """A value for an error message, cut short."""
    if value is None:
        return "absent"
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _content(content: object, field: str) -> Iterator[message_pb2.Part]:
    if content is None:
        return
    if isinstance(content, str):
        yield _text_part(content)
        return
    if not isinstance(content, list):
        raise FieldError(field, f"must be text, a list of parts or null, not {_kind(content)}")
    for index, part in enumerate(content):
        yield _text_part(part) if isinstance(part, str) else _content_part(part, f"{field}[{index}]")


def _content_part(part: object, field: str) -> message_pb2.Part:
    if not isinstance(part, dict) or not isinstance(part.get("type"), str):
        raise FieldError(field, "a part is an object with a type")
    kind = part["type"]
    if kind == "text":
        return _text_part(_text(part, "text", f"{field}.", required=True))
    if kind == "refusal":
        return _data("openai.refusal", _text(part, "refusal", f"{field}.", required=True))
    inner = part.get(kind)
    media = message_pb2.MediaPart()
    at = f"{field}.{kind}."
    if kind == "image_url" and isinstance(inner, (dict, str)):
        image = {"url": inner} if isinstance(inner, str) else inner
        media.uri = _text(image, "url", at, required=True)
        media.detail = _text(image, "detail", at)
        media.mime_type = _mime_of(media.uri)
    elif kind == "input_audio" and isinstance(inner, dict):
        try:
            media.data = base64.b64decode(_text(inner, "data", at, required=True), validate=True)
        except (binascii.Error, ValueError):
            raise FieldError(f"{at}data", "not valid base64") from None
        sound = _text(inner, "format", at)
        media.mime_type = AUDIO.get(sound, f"audio/{sound}" if sound else "")
    elif kind == "file" and isinstance(inner, dict):
        media.name = _text(inner, "filename", at)
        if file_id := _text(inner, "file_id", at):
            media.file_id = file_id
        elif data := _text(inner, "file_data", at):
            media.uri = data
            media.mime_type = _mime_of(data)
    else:
        return _data(f"openai.{clean(kind)}", part)
    return message_pb2.Part(media=media)


def _tool_calls(message: dict[str, Any], at: str) -> Iterator[message_pb2.Part]:
    calls = message.get("tool_calls")
    if calls is not None and not isinstance(calls, list):
        raise FieldError(f"{at}tool_calls", f"must be a list, not {_kind(calls)}")
    for index, call in enumerate(calls or []):
        yield _tool_call(call, f"{at}tool_calls[{index}]")
    legacy = message.get("function_call")
    if isinstance(legacy, dict):
        yield _tool_call({"type": "function", "function": legacy}, f"{at}function_call")


def _tool_call(call: object, field: str) -> message_pb2.Part:
    if not isinstance(call, dict):
        raise FieldError(field, f"a tool call is an object, not {_kind(call)}")
    kind = _text(call, "type", f"{field}.") or "function"
    inner = call.get(kind)
    if not isinstance(inner, dict):
        raise FieldError(f"{field}.{kind}", "must be an object with the tool's name")
    arguments = inner.get("arguments", inner.get("input"))
    return message_pb2.Part(
        tool_call=message_pb2.ToolCallPart(
            id=_text(call, "id", f"{field}."),
            name=_text(inner, "name", f"{field}.{kind}.", required=True),
            kind=kind,
            arguments_json=""
            if arguments is None
            else clean(arguments)
            if isinstance(arguments, str)
            else json_text(arguments),
        )
    )


def _call_of(call: message_pb2.ToolCallPart) -> dict[str, Any]:
    if call.kind == "custom":
        return {"id": call.id, "type": "custom", "custom": {"name": call.name, "input": call.arguments_json}}
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments_json}}


def _flat(holder: message_pb2.ChatMessage | message_pb2.ToolResultPart) -> str | list[dict[str, Any]] | None:
    """Content in OpenAI's form: a text if there is only text, otherwise a list of parts."""
    parts = [each for each in (_part_of(part) for part in holder.parts) if each is not None]
    if len(parts) == 1 and parts[0]["type"] == "text":
        return str(parts[0]["text"])
    if isinstance(holder, message_pb2.ToolResultPart):
        return parts or holder.structured_json
    return parts or None


def _part_of(part: message_pb2.Part) -> dict[str, Any] | None:
    kind = part.WhichOneof("content")
    if kind == "text":
        return {"type": "text", "text": part.text}
    if kind == "media":
        media = part.media
        source = media.WhichOneof("source")
        if source == "file_id":
            return {"type": "file", "file": {"file_id": media.file_id, **({"filename": media.name} if media.name else {})}}
        url = media.uri if source == "uri" else f"data:{media.mime_type};base64,{base64.b64encode(media.data).decode('ascii')}"
        if media.mime_type.startswith("audio/") and source == "data":
            form = next((name for name, mime in AUDIO.items() if mime == media.mime_type), media.mime_type[6:])
            return {"type": "input_audio", "input_audio": {"data": url.partition(",")[2], "format": form}}
        return {"type": "image_url", "image_url": {"url": url, **({"detail": media.detail} if media.detail else {})}}
    if kind == "data":
        return {"type": "text", "text": part.data.json}
    return None


def _text_part(text: str) -> message_pb2.Part:
    return message_pb2.Part(text=clean(text))


def _data(kind: str, value: object) -> message_pb2.Part:
    return message_pb2.Part(data=message_pb2.DataPart(type=kind, json=json_text(value)))


def json_text(value: object) -> str:
    """The value's JSON, as text that protobuf can carry."""
    return verbatim(value).decode("utf-8")


def _text(holder: dict[str, Any], key: str, at: str, *, required: bool = False) -> str:
    value = holder.get(key)
    if value is None and not required:
        return ""
    if not isinstance(value, str):
        raise FieldError(f"{at}{key}", f"must be text; it is {shown(value)}")
    return clean(value)


def _mime_of(uri: str) -> str:
    if not uri.startswith("data:"):
        return ""
    return uri[5:].partition(",")[0].partition(";")[0]


def _kind(value: object) -> str:
    return {dict: "an object", list: "a list", str: "text", bool: "a boolean", type(None): "null"}.get(type(value), "a number")
