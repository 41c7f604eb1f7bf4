"""The golden conversation in messages of the framework."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator

from agent_framework import Content, Message

from tests.integrations.golden import CONVERSATION, Atom
from threadkeep import AsyncClient
from threadkeep.integrations.agent_framework import ThreadkeepHistoryProvider


async def write(client: AsyncClient, session_id: str) -> None:
    """Saves the conversation as the framework's agents do: neighboring contents of one role are one message."""
    messages: list[Message] = []
    for atom in CONVERSATION:
        if not messages or messages[-1].role != atom["role"]:
            messages.append(Message(atom["role"], []))
        messages[-1].contents.append(_content(atom))
    await ThreadkeepHistoryProvider(client).save_messages(session_id, messages)


async def read(client: AsyncClient, session_id: str) -> list[Atom]:
    """The atoms of the messages of a session."""
    messages = await ThreadkeepHistoryProvider(client).get_messages(session_id)
    return [atom for message in messages for content in message.contents for atom in _atoms(message.role, content)]


def _content(atom: Atom) -> Content:
    match atom["kind"]:
        case "text":
            return Content.from_text(atom["text"])
        case "reasoning":
            return Content.from_text_reasoning(text=atom["text"])
        case "media":
            return Content.from_data(base64.b64decode(atom["data"]), atom["mime"])
        case "call":
            return Content.from_function_call(atom["id"], atom["name"], arguments=json.dumps(atom["arguments"]))
    failure = "ToolError" if atom["error"] else None
    return Content.from_function_result(atom["id"], result=atom["value"], exception=failure)


def _atoms(role: str, content: Content) -> Iterator[Atom]:
    match content.type:
        case "text":
            yield {"role": role, "kind": "text", "text": content.text}
        case "text_reasoning":
            yield {"role": role, "kind": "reasoning", "text": content.text}
        case "data":
            data = str(content.uri).partition(",")[2]
            yield {"role": role, "kind": "media", "mime": content.media_type, "data": data}
        case "function_call":
            arguments = content.parse_arguments()
            yield {"role": role, "kind": "call", "id": content.call_id, "name": content.name, "arguments": arguments}
        case "function_result":
            failed = content.exception is not None
            yield {"role": role, "kind": "result", "id": content.call_id, "value": content.result, "error": failed}
