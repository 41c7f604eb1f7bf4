"""Items of OpenAI's Responses API, which its agent SDK for Python stores: to events, and from events.

One item is one event. It is stored twice: as typed parts, and verbatim as the event's native content. Items are anyone's JSON
(an encrypted envelope, a type of next year): none is refused, and one without a role and a known type has no parts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ...v1.event_pb2 import NativeContent, SessionEvent
from ...v1.message_pb2 import (
    ROLE_ASSISTANT,
    ROLE_SYSTEM,
    ROLE_TOOL,
    ROLE_USER,
    ChatMessage,
    Part,
    ReasoningPart,
    Role,
    ToolResultPart,
)
from ..anthropic import reasoning_provider
from ..openai import verbatim
from .content import block_of, data, parts_of, text_of
from .tools import tool_parts

NATIVE = "openai.responses.item/1"
PROVIDER = "openai"
COMPACTION = "openai.responses.compact"
"""The source of the events that a compaction by the provider left."""

Item = dict[str, Any]
_ROLES = {"user": ROLE_USER, "assistant": ROLE_ASSISTANT, "system": ROLE_SYSTEM, "developer": ROLE_SYSTEM}
_NAMES = {ROLE_USER: "user", ROLE_ASSISTANT: "assistant", ROLE_SYSTEM: "system", ROLE_TOOL: "user"}
_REASONED = json.dumps({"reasoning_of": PROVIDER}, separators=(",", ":"))


def event_of(item: Mapping[str, Any], event_id: str, *, invocation_id: str = "") -> SessionEvent:
    """The event of one item. `invocation_id`: the run that it belongs to."""
    kind = text_of(item.get("type")) or ("message" if "role" in item else "")
    role, parts = _projected(kind, item)
    return SessionEvent(
        event_id=event_id,
        invocation_id=invocation_id,
        message=ChatMessage(role=role, parts=parts),
        native=NativeContent(format=NATIVE, content=verbatim(item)),
        metadata_json=_REASONED if any(part.reasoning.encrypted for part in parts) else "",
        synthetic=kind == "compaction",
        compaction_source=COMPACTION if kind == "compaction" else "",
    )


def _projected(kind: str, item: Mapping[str, Any]) -> tuple[Role.ValueType, list[Part]]:
    """The role and the parts of an item."""
    if found := tool_parts(kind, item):
        return found
    if kind == "message":
        return _ROLES.get(text_of(item.get("role")), ROLE_USER), list(parts_of(item.get("content")))
    if kind == "reasoning":
        return ROLE_ASSISTANT, [_reasoning(item)]
    if kind == "mcp_approval_response":  # what an approval returns goes back to the model as a tool's result does
        return ROLE_TOOL, [data(kind, item)]
    return ROLE_ASSISTANT, [data(kind, item)] if kind else []


def _reasoning(item: Mapping[str, Any]) -> Part:
    """The summary of the reasoning, or the reasoning itself, with its encrypted form."""
    texts = [part.text for name in ("summary", "content") for part in parts_of(item.get(name)) if part.text]
    encrypted = text_of(item.get("encrypted_content")).encode()
    return Part(reasoning=ReasoningPart(text="\n\n".join(texts), encrypted=encrypted))


def items_of(event: SessionEvent) -> list[Item]:
    """The items of one event: the native one if it is of this format, otherwise those of its parts. None of a damaged item
    without parts, or of an event without content."""
    if event.native.format == NATIVE:
        try:
            item = json.loads(event.native.content)
        except ValueError:
            item = None
        if isinstance(item, dict):
            return [item]
    return list(_rendered(event))


def _rendered(event: SessionEvent) -> Iterator[Item]:
    """Messages between the items of reasoning, calls and results, in the order of the parts."""
    said = event.message.role == ROLE_ASSISTANT
    blocks: list[Item] = []
    for part in event.message.parts:
        if block := block_of(part, said=said):
            blocks.append(block)
        elif item := _item_of(part, event):
            yield from _message(event, blocks)
            blocks = []
            yield item
    yield from _message(event, blocks)


def _message(event: SessionEvent, blocks: list[Item]) -> Iterator[Item]:
    role = _NAMES.get(event.message.role, "user")
    if len(blocks) == 1 and "text" in blocks[0]:
        yield {"role": role, "content": blocks[0]["text"]}
    elif blocks and role == "assistant":
        yield {"type": "message", "role": role, "status": "completed", "content": blocks}
    elif blocks:
        yield {"role": role, "content": blocks}


def _item_of(part: Part, event: SessionEvent) -> Item | None:
    """The item of a part that is no content of a message; None for what the API does not accept."""
    match part.WhichOneof("content"):
        case "tool_call":
            call = part.tool_call
            arguments = call.arguments_json or "{}"
            return {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments}
        case "tool_result":
            result = part.tool_result
            return {"type": "function_call_output", "call_id": result.call_id, "output": _output(result)}
        case "reasoning":
            return _reasoning_item(part.reasoning, own=reasoning_provider(event) == PROVIDER)
    return None


def _reasoning_item(reasoning: ReasoningPart, *, own: bool) -> Item | None:
    """Reasoning without an id, which is the provider's to give. Another provider's encrypted form would be rejected."""
    encrypted = {"encrypted_content": reasoning.encrypted.decode(errors="replace")} if own and reasoning.encrypted else {}
    if not reasoning.text and not encrypted:
        return None
    return {"type": "reasoning", "summary": [{"type": "summary_text", "text": reasoning.text}], **encrypted}


def _output(result: ToolResultPart) -> str | list[Item]:
    blocks = [block for part in result.parts if (block := block_of(part))]
    if not blocks:
        return result.structured_json
    return str(blocks[0]["text"]) if len(blocks) == 1 and "text" in blocks[0] else blocks
