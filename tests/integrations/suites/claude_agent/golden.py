"""The golden conversation as lines of a transcript."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Sequence
from typing import Any, cast

from claude_agent_sdk import SessionKey, SessionStoreEntry

from tests.integrations.golden import CONVERSATION, Atom
from threadkeep import AsyncClient
from threadkeep.integrations.claude_agent import ThreadkeepSessionStore

_LINES = ((0, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 8), (8, 9), (9, 10), (10, 11), (11, 12))
"""The atoms of each line: Claude Code writes each block of an answer as a line of its own."""


async def write(client: AsyncClient, session_id: str) -> None:
    """Writes the conversation in batches, as the SDK mirrors it."""
    lines: list[SessionStoreEntry] = []
    for start, end in _LINES:
        lines.append(_line(CONVERSATION[start:end], session_id, lines[-1]["uuid"] if lines else None))
    store = ThreadkeepSessionStore(client)
    for batch in (lines[:4], lines[4:]):
        await store.append(_key(client, session_id), batch)


async def read(client: AsyncClient, session_id: str) -> list[Atom]:
    """Reads a session as lines, and flattens them."""
    lines = await ThreadkeepSessionStore(client).load(_key(client, session_id)) or []
    return [atom for line in lines for atom in _atoms(cast("dict[str, Any]", line))]


def _key(client: AsyncClient, session_id: str) -> SessionKey:
    return {"project_key": client.app, "session_id": session_id}


def _line(atoms: Sequence[Atom], session_id: str, parent: str | None) -> SessionStoreEntry:
    blocks = [_block(atom) for atom in atoms]
    role = "assistant" if atoms[0]["role"] == "assistant" else "user"
    line = {
        "parentUuid": parent,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/work",
        "sessionId": session_id,
        "type": role,
        "message": {"role": role, "content": blocks},
        "uuid": str(uuid.uuid4()),
        "timestamp": "2026-11-27T08:00:00.123Z",
    }
    return cast("SessionStoreEntry", line)


def _block(atom: Atom) -> dict[str, Any]:
    match atom["kind"]:
        case "media":
            return {"type": "image", "source": {"type": "base64", "media_type": atom["mime"], "data": atom["data"]}}
        case "reasoning":
            return {"type": "thinking", "thinking": atom["text"], "signature": "c2lnbmVk"}
        case "call":
            return {"type": "tool_use", "id": atom["id"], "name": atom["name"], "input": atom["arguments"]}
        case "result":
            value = atom["value"] if isinstance(atom["value"], str) else json.dumps(atom["value"])
            return {"type": "tool_result", "tool_use_id": atom["id"], "content": value, "is_error": atom["error"]}
    return {"type": "text", "text": atom["text"]}


def _atoms(line: dict[str, Any]) -> Iterator[Atom]:
    message = line.get("message", {})
    content: Any = message.get("content", [])
    blocks: list[dict[str, Any]] = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for block in blocks:
        match block["type"]:
            case "text":
                yield {"role": message["role"], "kind": "text", "text": block["text"]}
            case "image":
                source = block["source"]
                yield {"role": message["role"], "kind": "media", "mime": source["media_type"], "data": source["data"]}
            case "thinking":
                yield {"role": "assistant", "kind": "reasoning", "text": block["thinking"]}
            case "tool_use":
                yield {
                    "role": "assistant",
                    "kind": "call",
                    "id": block["id"],
                    "name": block["name"],
                    "arguments": block["input"],
                }
            case "tool_result":
                value, error = block["content"], block.get("is_error", False)
                yield {"role": "tool", "kind": "result", "id": block["tool_use_id"], "value": value, "error": error}
