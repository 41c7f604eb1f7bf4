"""Messages of LlamaIndex, as `ChatMessage.model_dump(mode="json")` writes them: to events, and from events.

One message is one event. It is stored twice: as typed parts, and verbatim as the event's native content. No message is refused:
a block of a type that has no part is kept as data.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
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
from .data_urls import fill, media_of
from .openai import clean, cleaned, json_text, native_item, verbatim

NATIVE = "llama_index.message/1"
PROVIDER = "llama_index"

Item = dict[str, Any]
_ROLES = {
    "system": ROLE_SYSTEM,
    "developer": ROLE_SYSTEM,
    "user": ROLE_USER,
    "assistant": ROLE_ASSISTANT,
    "chatbot": ROLE_ASSISTANT,
    "model": ROLE_ASSISTANT,
    "tool": ROLE_TOOL,
    "function": ROLE_TOOL,
}
_NAMES = {ROLE_SYSTEM: "system", ROLE_USER: "user", ROLE_ASSISTANT: "assistant", ROLE_TOOL: "tool"}
_MEDIA = {
    "image": ("image", "image_mimetype"),
    "audio": ("audio", ""),
    "video": ("video", "video_mimetype"),
    "document": ("data", "document_mimetype"),
}
"""The blocks of media: the fields of their data, which is base64, and of their type."""


def event_of(item: Mapping[str, Any], event_id: str = "") -> SessionEvent:
    """The event of one message."""
    role = _ROLES.get(cleaned(item.get("role")), ROLE_USER)
    about = item.get("additional_kwargs")
    extra: Mapping[str, Any] = about if isinstance(about, Mapping) else {}
    parts = list(_parts(item.get("blocks")))
    if role == ROLE_TOOL:
        call_id, name = cleaned(extra.get("tool_call_id")), cleaned(extra.get("name"))
        parts = [Part(tool_result=ToolResultPart(call_id=call_id, name=name, parts=parts))]
    elif not any(part.HasField("tool_call") for part in parts):
        parts += _calls(extra.get("tool_calls"))
    return SessionEvent(
        event_id=event_id,
        message=ChatMessage(role=role, parts=parts),
        native=NativeContent(format=NATIVE, content=verbatim(item)),
    )


def items_of(event: SessionEvent) -> list[Item]:
    """The messages of one event: the native one if it is of this format, otherwise one for each tool result, and one for the
    other parts; none without content."""
    native = native_item(event, NATIVE)
    return rendered(event) if native is None else [native]


def rendered(event: SessionEvent) -> list[Item]:
    """The messages of the parts of one event, as `items_of` describes them."""
    parts = event.message.parts
    found = [_result_item(part.tool_result) for part in parts if part.HasField("tool_result")]
    blocks = [block for part in parts if (block := _block(part)) is not None]
    if blocks:
        found.append({"role": _NAMES.get(event.message.role, "user"), "blocks": blocks})
    return found


def _parts(blocks: object) -> Iterator[Part]:
    for block in blocks if isinstance(blocks, list) else ():
        if isinstance(block, Mapping):
            yield from _part(block)


def _part(block: Mapping[str, Any]) -> Iterator[Part]:
    kind = cleaned(block.get("block_type"))
    match kind:
        case "text":
            yield Part(text=cleaned(block.get("text")))
        case "thinking":
            extra = block.get("additional_information")
            signature = cleaned(extra.get("signature")).encode() if isinstance(extra, Mapping) else b""
            yield Part(reasoning=ReasoningPart(text=cleaned(block.get("content")), signature=signature))
        case "tool_call":
            call_id, name = cleaned(block.get("tool_call_id")), cleaned(block.get("tool_name"))
            yield Part(tool_call=_call(call_id, name, block.get("tool_kwargs")))
        case "citable":  # what it cites is text that a model reads
            yield from _parts(block.get("content"))
        case _ if kind in _MEDIA and (media := _media(kind, block)).WhichOneof("source"):
            yield Part(media=media)
        case _:
            yield Part(data=DataPart(type=clean(f"{PROVIDER}.{kind}"), json=json_text(block)))


def _media(kind: str, block: Mapping[str, Any]) -> MediaPart:
    field, typed = _MEDIA[kind]
    form = cleaned(block.get("format"))
    mime_type = cleaned(block.get(typed)) or (f"audio/{form}" if kind == "audio" and form else "")
    title, detail = cleaned(block.get("title")), cleaned(block.get("detail"))
    media = MediaPart(mime_type=mime_type or f"{'application' if kind == 'document' else kind}/*", name=title, detail=detail)
    if fill(media, cleaned(block.get(field))) and media.data:
        return media
    media.ClearField("data")
    if where := cleaned(block.get("url")) or cleaned(block.get("path")):
        return media_of(where, media.mime_type, name=title, detail=detail)
    return media


def _calls(calls: object) -> Iterator[Part]:
    """The calls that older integrations keep outside of the blocks, in the form of OpenAI."""
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, Mapping) else None
        if isinstance(function, Mapping):
            yield Part(tool_call=_call(cleaned(call.get("id")), cleaned(function.get("name")), function.get("arguments")))


def _call(call_id: str, name: str, arguments: object) -> ToolCallPart:
    text = clean(arguments) if isinstance(arguments, str) else "" if arguments is None else json_text(arguments)
    return ToolCallPart(id=call_id, name=name, kind="function", arguments_json=text)


def _result_item(result: ToolResultPart) -> Item:
    blocks = [block for part in result.parts if (block := _block(part)) is not None]
    if not blocks:
        blocks = [{"block_type": "text", "text": result.structured_json}]
    return {"role": "tool", "blocks": blocks, "additional_kwargs": {"tool_call_id": result.call_id}}


def _block(part: Part) -> Item | None:
    match part.WhichOneof("content"):
        case "text":
            return {"block_type": "text", "text": part.text}
        case "reasoning" if part.reasoning.text:  # what a provider signed or encrypted is of no use to another one
            return {"block_type": "thinking", "content": part.reasoning.text}
        case "tool_call":
            call = part.tool_call
            return {
                "block_type": "tool_call",
                "tool_call_id": call.id,
                "tool_name": call.name,
                "tool_kwargs": _arguments(call.arguments_json),
            }
        case "media" if part.media.WhichOneof("source") in ("data", "uri"):
            return _media_block(part.media)
    return None


def _arguments(text: str) -> dict[str, Any] | str:
    """The arguments of a call: an object, or the text that a model wrote in place of one."""
    try:
        value = json.loads(text) if text.strip() else {}
    except ValueError:
        return text
    return value if isinstance(value, dict) else text


def _media_block(media: MediaPart) -> Item:
    kind = media.mime_type.partition("/")[0]
    kind = kind if kind in _MEDIA else "document"
    field, typed = _MEDIA[kind]
    block: Item = {"block_type": kind}
    if media.WhichOneof("source") == "data":
        block[field] = base64.b64encode(media.data).decode("ascii")
    else:
        block["url"] = media.uri
    if typed and not media.mime_type.endswith("/*"):
        block[typed] = media.mime_type
    if kind == "audio":
        block["format"] = media.mime_type.partition("/")[2]
    if kind == "document" and media.name:
        block["title"] = media.name
    return block
