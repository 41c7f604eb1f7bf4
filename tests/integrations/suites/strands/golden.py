"""The golden conversation in the messages of Strands."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from strands.types.content import ContentBlock, Message
from strands.types.session import Session, SessionAgent, SessionMessage, SessionType

from tests.integrations.golden import CONVERSATION, Atom
from threadkeep import AsyncClient, Client
from threadkeep.integrations.strands import ThreadkeepSessionRepository

MESSAGE_ENDS = (2, 6, 8, 10, 11, 12)
"""Where the messages end in the conversation's atoms."""
AGENT = "default"


async def write(client: AsyncClient, session_id: str) -> None:
    """Writes the conversation as a session manager does."""
    await asyncio.to_thread(_write, client, session_id)


async def read(client: AsyncClient, session_id: str) -> list[Atom]:
    """The atoms of a conversation that any adapter wrote."""
    return await asyncio.to_thread(_read, client, session_id)


def _write(client: AsyncClient, session_id: str) -> None:
    with Client(client.address, app=client.app, user_id=client.user_id) as opened:
        repository = ThreadkeepSessionRepository(opened)
        repository.create_session(Session(session_id, SessionType.AGENT))
        repository.create_agent(session_id, SessionAgent(AGENT, {}, {}))
        starts = (0, *MESSAGE_ENDS[:-1])
        for number, (start, end) in enumerate(zip(starts, MESSAGE_ENDS, strict=True)):
            message = _message(CONVERSATION[start:end])
            repository.create_message(session_id, AGENT, SessionMessage.from_message(message, number))


def _read(client: AsyncClient, session_id: str) -> list[Atom]:
    with Client(client.address, app=client.app, user_id=client.user_id) as opened:
        messages = ThreadkeepSessionRepository(opened).list_messages(session_id, AGENT)
    assert [each.message_id for each in messages] == list(range(len(messages)))
    return [atom for each in messages for block in each.message["content"] for atom in _atoms(each.message["role"], block)]


def _message(atoms: Sequence[Atom]) -> Message:
    role: Any = "assistant" if atoms[0]["role"] == "assistant" else "user"
    return {"role": role, "content": [cast("ContentBlock", _block(atom)) for atom in atoms]}


def _block(atom: Atom) -> dict[str, Any]:
    match atom["kind"]:
        case "text":
            return {"text": atom["text"]}
        case "media":
            source = {"bytes": base64.b64decode(atom["data"])}
            return {"image": {"format": atom["mime"].removeprefix("image/"), "source": source}}
        case "reasoning":
            return {"reasoningContent": {"reasoningText": {"text": atom["text"]}}}
        case "call":
            return {"toolUse": {"toolUseId": atom["id"], "name": atom["name"], "input": atom["arguments"]}}
    value = {"text": atom["value"]} if isinstance(atom["value"], str) else {"json": atom["value"]}
    status = "error" if atom["error"] else "success"
    return {"toolResult": {"toolUseId": atom["id"], "status": status, "content": [value]}}


def _atoms(role: str, block: Mapping[str, Any]) -> Iterator[Atom]:
    match dict(block):
        case {"text": text}:
            yield {"role": role, "kind": "text", "text": text}
        case {"image": {"format": name, "source": {"bytes": data}}}:
            yield {"role": role, "kind": "media", "mime": f"image/{name}", "data": base64.b64encode(data).decode()}
        case {"reasoningContent": {"reasoningText": {"text": text}}}:
            yield {"role": role, "kind": "reasoning", "text": text}
        case {"toolUse": {"toolUseId": call_id, "name": name, "input": arguments}}:
            yield {"role": role, "kind": "call", "id": call_id, "name": name, "arguments": arguments}
        case {"toolResult": {"toolUseId": call_id, "status": status, "content": content}}:
            values = [each.get("json", each.get("text")) for each in content]
            value = values[0] if len(values) == 1 else "\n".join(map(str, values))
            yield {"role": "tool", "kind": "result", "id": call_id, "value": value, "error": status == "error"}
        case _:
            raise AssertionError(block)
