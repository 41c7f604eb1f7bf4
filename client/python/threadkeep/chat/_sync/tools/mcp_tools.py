# Generated from _async by `make sync-client`. Do not edit.
"""The tools of an MCP server as tools of a conversation."""

from __future__ import annotations

from collections.abc import Collection
from types import TracebackType
from typing import Any, Self

from ...errors import InvalidTool
from ...tools._mcp_threads import Connection
from ...tools.mcp_calls import called, definition_of, listed
from ...tools.tool import Tool, ToolContext, ToolDefinition, ToolOutput, duplicates


class McpServer:
    """A connection to an MCP server, over the official library (`mcp`).

    `target`: an argument of `mcp.Client` (StdioServerParameters of a program to start, the URL of a server over streamable
    HTTP, or a transport of the library); a configured `mcp.Client`; or a function that returns an asyncio context manager of
    any of these, for objects that belong to the connection's event loop, such as an HTTP client with headers. Where calls are
    awaited also a connected ClientSession or Client, which is not closed.

        with McpServer(StdioServerParameters(command="threadkeep", args=["mcp", "--user", "alice"])) as server:
            tools = server.tools()

    `prefix`: comes before each tool's name with an underscore; distinguishes servers with tools of the same name. `only`: names
    of the tools to use, as on the server; default all. `return_direct`: names of tools whose result is the answer. `timeout`:
    seconds of one call, after which it is canceled on the server; None for no limit. `connect_timeout`: seconds to connect, and
    seconds to list the tools.
    """

    def __init__(
        self,
        target: Any,
        *,
        prefix: str = "",
        only: Collection[str] | None = None,
        return_direct: Collection[str] = (),
        timeout: float | None = None,
        connect_timeout: float = 30.0,
    ) -> None:
        self._connection = Connection(target)
        self._prefix = prefix
        self._only = only
        self._return_direct = return_direct
        self._timeout = timeout
        self._connect_timeout = connect_timeout

    def __enter__(self) -> Self:
        """Connects. Raises the library's errors, and TimeoutError."""
        self._connection.open(self._connect_timeout)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._connection.close()

    def tools(self) -> tuple[Tool, ...]:
        """Returns the tools that the server offers now; each call requests the list.

        They work while the connection is open. Names that providers reject are changed, see `model_name`. A call that the
        server rejects raises MCPError; an error result goes to the model. Raises InvalidTool for duplicate names and for a
        name of `only` that the server does not have, and TimeoutError.
        """
        offered = self._connection.ask(lambda server: listed(server, self._connect_timeout))
        found = [each for each in offered if self._only is None or each.name in self._only]
        missing = set(self._only or ()) - {each.name for each in found}
        if missing:
            raise InvalidTool(f"the MCP server has no tool {', '.join(sorted(missing))}")
        tools = tuple(self._tool(each.name, definition_of(each, self._prefix)) for each in found)
        if twice := duplicates(each.name for each in tools):
            raise InvalidTool(f"the MCP server has several tools whose names come to {', '.join(twice)}")
        return tools

    def _tool(self, name: str, definition: ToolDefinition) -> Tool:
        def run(arguments: str, context: ToolContext) -> ToolOutput:
            return self._connection.ask(lambda server: called(server, name, arguments, self._timeout))

        return Tool(definition, run, name in self._return_direct, self._timeout)
