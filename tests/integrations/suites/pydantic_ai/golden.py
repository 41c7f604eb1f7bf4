"""The golden conversation in the messages of pydantic-ai."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic_ai import Conversation
from pydantic_ai.messages import (
    BinaryContent,
    FilePart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)

from tests.integrations.golden import CONVERSATION, Atom
from threadkeep import AsyncClient
from threadkeep.integrations.pydantic_ai import ThreadkeepConversationStore

MESSAGE_ENDS = (2, 6, 8, 10, 11, 12)
"""Where the messages end in the conversation's atoms."""


async def write(client: AsyncClient, session_id: str) -> None:
    """Writes the conversation as one that a run returned."""
    starts = (0, *MESSAGE_ENDS[:-1])
    messages = [_message(CONVERSATION[start:end]) for start, end in zip(starts, MESSAGE_ENDS, strict=True)]
    await ThreadkeepConversationStore(client).save(Conversation(messages=messages, conversation_id=session_id))


async def read(client: AsyncClient, session_id: str) -> list[Atom]:
    """The atoms of a conversation that any adapter wrote."""
    conversation = await ThreadkeepConversationStore(client).load(session_id)
    assert conversation is not None
    return [atom for message in conversation.messages for atom in _atoms(message)]


def _message(atoms: Sequence[Atom]) -> ModelMessage:
    if atoms[0]["role"] == "user":
        content: list[UserContent] = [
            BinaryContent(base64.b64decode(atom["data"]), media_type=atom["mime"]) if atom["kind"] == "media" else atom["text"]
            for atom in atoms
        ]
        return ModelRequest(parts=[UserPromptPart(content)])
    if atoms[0]["role"] == "tool":
        return ModelRequest(
            parts=[
                ToolReturnPart(_tool(atom["id"]), atom["value"], atom["id"], outcome="failed" if atom["error"] else "success")
                for atom in atoms
            ]
        )
    return ModelResponse(parts=[_response_part(atom) for atom in atoms])


def _response_part(atom: Atom) -> TextPart | ThinkingPart | ToolCallPart:
    if atom["kind"] == "reasoning":
        return ThinkingPart(atom["text"])
    if atom["kind"] == "call":
        return ToolCallPart(atom["name"], atom["arguments"], atom["id"])
    return TextPart(atom["text"])


def _tool(call_id: str) -> str:
    return next(str(atom["name"]) for atom in CONVERSATION if atom["kind"] == "call" and atom["id"] == call_id)


def _atoms(message: ModelMessage) -> Iterator[Atom]:
    for part in message.parts:
        match part:
            case SystemPromptPart(content=text):
                yield {"role": "system", "kind": "text", "text": text}
            case UserPromptPart(content=content):
                yield from map(_prompt, [content] if isinstance(content, str) else content)
            case ToolReturnPart():
                failed = part.outcome == "failed"
                yield {"role": "tool", "kind": "result", "id": part.tool_call_id, "value": part.content, "error": failed}
            case TextPart(content=text):
                yield {"role": "assistant", "kind": "text", "text": text}
            case ThinkingPart(content=text):
                yield {"role": "assistant", "kind": "reasoning", "text": text}
            case ToolCallPart():
                call = {"id": part.tool_call_id, "name": part.tool_name, "arguments": part.args_as_dict()}
                yield {"role": "assistant", "kind": "call", **call}
            case FilePart(content=content):
                yield _media("assistant", content)
            case _:
                raise AssertionError(part)


def _prompt(item: Any) -> Atom:
    if isinstance(item, BinaryContent):
        return _media("user", item)
    assert isinstance(item, str | TextContent), item
    return {"role": "user", "kind": "text", "text": item if isinstance(item, str) else item.content}


def _media(role: str, content: BinaryContent) -> Atom:
    return {"role": role, "kind": "media", "mime": content.media_type, "data": base64.b64encode(content.data).decode()}
