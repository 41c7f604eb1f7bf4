"""The golden conversation, written and read with ADK's own events."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from google.adk.events import Event
from google.genai import types

from tests.integrations.golden import CONVERSATION, Atom
from threadkeep import AsyncClient
from threadkeep.integrations.adk import ThreadkeepSessionService

AGENT = "traveler"


async def write(client: AsyncClient, session_id: str) -> None:
    """Writes the conversation."""
    service = ThreadkeepSessionService(client)
    session = await service.create_session(app_name=client.app, user_id=client.user_id, session_id=session_id)
    for role, atoms in groupby(CONVERSATION, lambda atom: atom["role"]):
        content = types.Content(role="model" if role == "assistant" else "user", parts=[_part(atom) for atom in atoms])
        await service.append_event(session, Event(author="user" if role == "user" else AGENT, content=content))


async def read(client: AsyncClient, session_id: str) -> list[Atom]:
    """Reads a conversation."""
    service = ThreadkeepSessionService(client)
    session = await service.get_session(app_name=client.app, user_id=client.user_id, session_id=session_id)
    assert session is not None
    return [atom for event in session.events for atom in _atoms(event)]


_NAMES = {atom["id"]: atom["name"] for atom in CONVERSATION if atom["kind"] == "call"}


def _part(atom: Atom) -> types.Part:
    match atom["kind"]:
        case "text":
            return types.Part(text=atom["text"])
        case "reasoning":
            return types.Part(text=atom["text"], thought=True)
        case "media":
            return types.Part.from_bytes(data=base64.b64decode(atom["data"]), mime_type=atom["mime"])
        case "call":
            return types.Part(function_call=types.FunctionCall(id=atom["id"], name=atom["name"], args=atom["arguments"]))
        case _:
            name, response = _NAMES[atom["id"]], {"error": atom["value"]} if atom["error"] else atom["value"]
            return types.Part(function_response=types.FunctionResponse(id=atom["id"], name=name, response=response))


def _atoms(event: Event) -> Iterator[Atom]:
    parts: Sequence[types.Part] = (event.content and event.content.parts) or ()
    role = "user" if event.author == "user" else "assistant"
    for part in parts:
        if part.function_response is not None:
            yield _result(part.function_response)
        elif part.function_call is not None:
            call = part.function_call
            yield {"role": role, "kind": "call", "id": call.id, "name": call.name, "arguments": call.args}
        elif part.inline_data is not None and part.inline_data.data is not None:
            data = base64.b64encode(part.inline_data.data).decode()
            yield {"role": role, "kind": "media", "mime": part.inline_data.mime_type, "data": data}
        elif part.thought:
            yield {"role": role, "kind": "reasoning", "text": part.text}
        elif part.text is not None:
            yield {"role": role, "kind": "text", "text": part.text}


def _result(result: types.FunctionResponse) -> Atom:
    response: Mapping[str, Any] = result.response or {}
    failed = "error" in response
    value = response.get("error") if failed else response.get("output", response)
    return {"role": "tool", "kind": "result", "id": result.id, "value": value, "error": failed}
