"""An MCP server for tests, based on the official library: `python -m tests.chat.fakes.mcp_demo stdio`, or `http PORT`."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

from mcp import types
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

PIXEL = b"\x89PNG\r\n\x1a\n"
server = MCPServer("demo")
meetings: dict[int, asyncio.Barrier] = {}


@server.tool()
def add(a: int, b: int = 1) -> dict[str, int]:
    """Adds two numbers."""
    return {"sum": a + b}


@server.tool(name="files.read/v1")
def read(path: str) -> str:
    """Reads a file."""
    return f"content of {path}"


@server.tool(structured_output=False)
def look() -> Any:
    from mcp.server.mcpserver import Image

    return ["a picture", Image(data=PIXEL, format="png")]


@server.tool(structured_output=False)
def everything() -> Any:
    blob = types.BlobResourceContents(uri="demo://blob", mime_type="application/pdf", blob="UERG")
    text = types.TextResourceContents(uri="demo://text", mime_type="text/plain", text="kept")
    return types.CallToolResult(
        content=[
            types.AudioContent(type="audio", data="YWE=", mime_type="audio/wav"),
            types.EmbeddedResource(type="resource", resource=blob),
            types.EmbeddedResource(type="resource", resource=text),
            types.ResourceLink(type="resource_link", uri="demo://link", name="link"),
        ]
    )


@server.tool()
def fail(why: str) -> str:
    raise ToolError(why)


@server.tool(structured_output=False)
async def wait(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "done"


@server.tool(structured_output=False)
async def meet(calls: int) -> str:
    """Returns when this many calls run at the same time."""
    await meetings.setdefault(calls, asyncio.Barrier(calls)).wait()
    return "met"


@server.tool(structured_output=False)
def die() -> str:
    os._exit(3)


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        server.run("stdio")
    else:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
