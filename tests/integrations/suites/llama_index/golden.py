"""The golden conversation in messages of the framework."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, ContentBlock, ImageBlock, TextBlock, ThinkingBlock, ToolCallBlock
from llama_index.core.memory import Memory
from llama_index.core.storage.chat_store.base_db import MessageStatus

from tests.integrations.golden import CONVERSATION, Atom
from threadkeep import AsyncClient
from threadkeep.integrations.llama_index import ThreadkeepChatStore


async def write(client: AsyncClient, session_id: str) -> None:
    """Puts the conversation into a memory as the framework's agents do: a message for each result."""
    messages: list[ChatMessage] = []
    for atom in CONVERSATION:
        if atom["kind"] == "result":
            value = atom["value"] if isinstance(atom["value"], str) else json.dumps(atom["value"])
            about = {"tool_call_id": atom["id"]}
            messages.append(ChatMessage(role="tool", blocks=[TextBlock(text=value)], additional_kwargs=about))
            continue
        if not messages or messages[-1].role.value != atom["role"]:
            messages.append(ChatMessage(role=atom["role"], blocks=[]))
        messages[-1].blocks.append(_block(atom))
    await Memory.from_defaults(session_id=session_id, chat_store=ThreadkeepChatStore(client)).aput_messages(messages)


async def read(client: AsyncClient, session_id: str) -> list[Atom]:
    """The atoms of the active messages of a session; the archived ones have earlier versions of replaced messages too."""
    memory = Memory.from_defaults(session_id=session_id, chat_store=ThreadkeepChatStore(client))
    messages = await memory.aget_all(MessageStatus.ACTIVE)
    return [atom for message in messages for block in message.blocks for atom in _atoms(message, block)]


def _block(atom: Atom) -> Any:
    match atom["kind"]:
        case "text":
            return TextBlock(text=atom["text"])
        case "reasoning":
            return ThinkingBlock(content=atom["text"])
        case "media":
            return ImageBlock(image=atom["data"].encode(), image_mimetype=atom["mime"])
    return ToolCallBlock(tool_call_id=atom["id"], tool_name=atom["name"], tool_kwargs=atom["arguments"])


def _atoms(message: ChatMessage, block: ContentBlock) -> Iterator[Atom]:
    role = message.role.value
    match block:
        case TextBlock() if role == "tool":
            yield {"role": role, "kind": "result", "id": message.additional_kwargs["tool_call_id"], "value": block.text}
        case TextBlock():
            yield {"role": role, "kind": "text", "text": block.text}
        case ThinkingBlock():
            yield {"role": role, "kind": "reasoning", "text": block.content}
        case ImageBlock():
            data = block.image.decode() if isinstance(block.image, bytes) else ""
            yield {"role": role, "kind": "media", "mime": block.image_mimetype, "data": data}
        case ToolCallBlock():
            about = {"id": block.tool_call_id, "name": block.tool_name, "arguments": block.tool_kwargs}
            yield {"role": role, "kind": "call"} | about
