"""The golden conversation as items of the Responses API."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

from agents import ItemHelpers, TResponseInputItem
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputItem,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseReasoningItem,
)
from openai.types.responses.response_reasoning_item import Summary

from tests.integrations.golden import CONVERSATION, Atom
from threadkeep import AsyncClient
from threadkeep.integrations.openai_agents import ThreadkeepSession

_ROLES = {"user": "user", "assistant": "assistant", "system": "system"}


async def write(client: AsyncClient, session_id: str) -> None:
    """Writes the conversation, the results of parallel calls in one append, as a runner does."""
    session = ThreadkeepSession(client, session_id)
    await session.add_items(_question(CONVERSATION[:2]))
    for n, atom in enumerate(CONVERSATION[2:]):
        await session.add_items([_item(atom, n)])


async def read(client: AsyncClient, session_id: str) -> list[Atom]:
    """Reads a session as items, and flattens them."""
    items = await ThreadkeepSession(client, session_id).get_items()
    return [atom for item in items for atom in _atoms(cast("dict[str, Any]", item))]


def _question(atoms: object) -> list[TResponseInputItem]:
    text, image = cast("list[Atom]", atoms)
    url = f"data:{image['mime']};base64,{image['data']}"
    content = [{"type": "input_text", "text": text["text"]}, {"type": "input_image", "detail": "auto", "image_url": url}]
    return ItemHelpers.input_to_new_input_list([{"role": "user", "content": cast("Any", content)}])


def _item(atom: Atom, n: int) -> TResponseInputItem:
    match atom["kind"]:
        case "text":
            text = ResponseOutputText(type="output_text", text=atom["text"], annotations=[])
            return _input(
                ResponseOutputMessage(id=f"msg_{n}", type="message", role="assistant", status="completed", content=[text])
            )
        case "reasoning":
            summary = [Summary(type="summary_text", text=atom["text"])]
            return _input(ResponseReasoningItem(id=f"rs_{n}", type="reasoning", summary=summary))
        case "call":
            arguments = json.dumps(atom["arguments"])
            return _input(
                ResponseFunctionToolCall(
                    id=f"fc_{n}", type="function_call", call_id=atom["id"], name=atom["name"], arguments=arguments
                )
            )
    value = atom["value"] if isinstance(atom["value"], str) else json.dumps(atom["value"])
    return {"type": "function_call_output", "call_id": atom["id"], "output": value}


def _input(item: ResponseOutputItem) -> TResponseInputItem:
    """An item of a response as the runner stores it."""
    return cast("TResponseInputItem", item.model_dump(exclude_unset=True))


def _atoms(item: dict[str, Any]) -> Iterator[Atom]:
    match item.get("type", "message"):
        case "message":
            yield from _content(_ROLES[item["role"]], item["content"])
        case "reasoning":
            yield from ({"role": "assistant", "kind": "reasoning", "text": part["text"]} for part in item["summary"])
        case "function_call":
            arguments = json.loads(item["arguments"])
            yield {"role": "assistant", "kind": "call", "id": item["call_id"], "name": item["name"], "arguments": arguments}
        case "function_call_output":
            yield {"role": "tool", "kind": "result", "id": item["call_id"], "value": item["output"], "error": False}


def _content(role: str, content: str | list[dict[str, Any]]) -> Iterator[Atom]:
    for block in [{"text": content}] if isinstance(content, str) else content:
        if "text" in block:
            yield {"role": role, "kind": "text", "text": block["text"]}
        else:
            mime, _, data = block["image_url"].removeprefix("data:").partition(";base64,")
            yield {"role": role, "kind": "media", "mime": mime, "data": data}
