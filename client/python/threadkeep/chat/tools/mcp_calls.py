"""Calls of an MCP server, and conversion of its tools and results. Imports the MCP library on use."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..types.messages import Data, Media, Text
from .outputs import refusal
from .schemas import checked_object
from .tool import ToolDefinition, ToolOutput

if TYPE_CHECKING:
    from mcp import Client, ClientSession, types

_NAME_CHARACTERS = 64
_REFUSED = re.compile(r"[^a-zA-Z0-9_-]")


async def listed(server: Client | ClientSession, timeout: float) -> list[types.Tool]:
    """Returns all tools of the server, from all pages. Raises TimeoutError after `timeout` seconds: a server may be silent, or
    have no last page."""
    async with asyncio.timeout(timeout):
        return await _pages(server)


async def _pages(server: Client | ClientSession) -> list[types.Tool]:
    from mcp import ClientSession, types

    tools: list[types.Tool] = []
    cursor: str | None = None
    while True:
        if isinstance(server, ClientSession):
            page = await server.list_tools(params=types.PaginatedRequestParams(cursor=cursor))
        else:
            page = await server.list_tools(cursor=cursor, cache_mode="refresh")
        tools += page.tools
        cursor = page.next_cursor
        if not cursor:
            return tools


async def called(server: Client | ClientSession, name: str, arguments: str, timeout: float | None) -> ToolOutput:
    """Returns the output of a tool. Raises MCPError if the server rejects the call or does not answer within `timeout`
    seconds."""
    try:
        values = json.loads(arguments)
    except ValueError as error:
        return refusal(f"The arguments are not valid JSON: {error}")
    if not isinstance(values, dict):
        return refusal(f"The arguments must be an object, not {json.dumps(values)[:100]}")
    result = await server.call_tool(name, values, read_timeout_seconds=timeout)
    return output_of_result(result)


def definition_of(tool: types.Tool, prefix: str) -> ToolDefinition:
    """Returns the definition of a server's tool; see `model_name`."""
    name = model_name(tool.name, prefix)
    title = tool.title or (tool.annotations.title if tool.annotations else None)
    return ToolDefinition(name, tool.description or title or "", checked_object(name, tool.input_schema))


def model_name(name: str, prefix: str) -> str:
    """Returns the tool's name with prefix and underscore, in at most 64 characters that every provider accepts.

    Other characters become underscores. A longer name ends with 8 hexadecimal digits of its SHA-256, so that names stay
    distinct.
    """
    whole = f"{prefix}_{name}" if prefix else name
    clean = _REFUSED.sub("_", whole)
    if len(clean) <= _NAME_CHARACTERS:
        return clean
    return f"{clean[: _NAME_CHARACTERS - 9]}_{hashlib.sha256(whole.encode()).hexdigest()[:8]}"


def output_of_result(result: types.CallToolResult) -> ToolOutput:
    """Converts texts, images, sounds and resources to parts, and a structured result to JSON without a text that repeats it."""
    structured = result.structured_content
    parts = tuple(_part(block) for block in result.content)
    if structured is None:
        return ToolOutput(parts, is_error=result.is_error)
    text = json.dumps(structured, ensure_ascii=False)
    if not isinstance(structured, dict):
        return ToolOutput(parts or (Text(text),), is_error=result.is_error)
    kept = tuple(part for part in parts if not _repeats(part, structured))
    return ToolOutput(kept, text, result.is_error)


def _repeats(part: Text | Media | Data, structured: Mapping[str, Any]) -> bool:
    try:
        return isinstance(part, Text) and json.loads(part.text) == structured
    except ValueError:
        return False


def _part(block: types.ContentBlock) -> Text | Media | Data:
    match block.type:
        case "text":
            return Text(block.text)
        case "image" | "audio":
            return Media(block.mime_type, data=base64.b64decode(block.data))
        case "resource":
            return _resource(block.resource)
        case _:
            return Text(block.model_dump_json(by_alias=True, exclude_none=True))  # a link


def _resource(held: types.TextResourceContents | types.BlobResourceContents) -> Text | Media:
    if hasattr(held, "text"):
        return Text(held.text)
    return Media(held.mime_type or "application/octet-stream", data=base64.b64decode(held.blob), name=str(held.uri))
