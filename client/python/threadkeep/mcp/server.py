"""The recall tools as MCP tools, bound to one user. The Threadkeep server runs them (ToolService).

The user, the app and the session are set when this server starts, never by the model: no argument of a tool accesses other
data.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.server.stdio import stdio_server

from .. import AsyncClient
from ..errors import ThreadkeepError
from ..v1.session_pb2 import SessionRef
from ..v1.tool_service_pb2 import ToolDefinition

_INSTRUCTIONS = (
    "What this user said in earlier conversations. Use load_memory for facts about the user, cross_session_search for what was "
    "said in any conversation, conversation_search for one conversation."
)
_OF_ONE_SESSION = "conversation_search"
_READS = types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
_ADDS = types.ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)
_REMEMBER = types.Tool(
    name="remember",
    description="Remember a fact about the user for later conversations: one short sentence that makes sense on its own.",
    input_schema={
        "type": "object",
        "properties": {"text": {"type": "string", "minLength": 1, "description": "What to remember."}},
        "required": ["text"],
        "additionalProperties": False,
    },
    annotations=_ADDS,
)
_SESSION_ID: dict[str, Any] = {
    "type": "string",
    "minLength": 1,
    "description": "The conversation's id, as returned by cross_session_search.",
}


@dataclass(frozen=True, slots=True)
class Binding:
    """The app, user and session of a server.

    `app` "" is an app of that name. Without `session_id` the model names a session of the user. `writes`: offer `remember` too.
    """

    user_id: str
    app: str = ""
    session_id: str = ""
    writes: bool = False

    def ref(self, session_id: str = "") -> SessionRef:
        return SessionRef(app=self.app, user_id=self.user_id, session_id=self.session_id or session_id)


class RecallServer:
    """The MCP server of a binding. `mcp` is what a transport runs."""

    def __init__(self, client: AsyncClient, binding: Binding) -> None:
        self._client = client
        self._binding = binding
        self.mcp: Server[Any] = Server(
            "threadkeep",
            version=version("threadkeep"),
            title="Threadkeep",
            instructions=_INSTRUCTIONS,
            on_list_tools=self._list,
            on_call_tool=self._call,
        )

    async def _list(self, ctx: ServerRequestContext[Any], params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        try:
            tools = [self._tool(each) for each in await self._client.tools() if each.declared]
        except ThreadkeepError as error:
            raise MCPError(types.INTERNAL_ERROR, _told(error)) from None
        return types.ListToolsResult(tools=[*tools, *([_REMEMBER] if self._binding.writes else ())])

    def _tool(self, definition: ToolDefinition) -> types.Tool:
        schema = json.loads(definition.parameters_json_schema)
        if definition.name == _OF_ONE_SESSION and not self._binding.session_id:
            schema["properties"]["session_id"] = _SESSION_ID
            schema["required"] = [*schema.get("required", ()), "session_id"]
        return types.Tool(name=definition.name, description=definition.description, input_schema=schema, annotations=_READS)

    async def _call(self, ctx: ServerRequestContext[Any], params: types.CallToolRequestParams) -> types.CallToolResult:
        arguments = dict(params.arguments or {})
        try:
            if params.name == _REMEMBER.name and self._binding.writes:
                return await self._remember(arguments)
            return await self._run_recall_tool(params.name, arguments)
        except ThreadkeepError as error:
            return _failed(_told(error))

    async def _run_recall_tool(self, name: str, arguments: dict[str, Any]) -> types.CallToolResult:
        if name not in (offered := [each.name for each in await self._client.tools() if each.declared]):
            return _failed(f"there is no tool {name!r}; there are {', '.join(offered)}")
        session_id = ""
        if name == _OF_ONE_SESSION and not self._binding.session_id:
            named = arguments.pop("session_id", None)
            if not isinstance(named, str) or not named:
                return _failed("session_id must be the id of a conversation; cross_session_search returns ids")
            session_id = named
        called = await self._client.call_tool(name, json.dumps(arguments), session=self._binding.ref(session_id))
        structured = json.loads(called.result_json)
        text = types.TextContent(type="text", text=called.result_json)
        return types.CallToolResult(content=[text], structured_content=structured, is_error=called.is_error)

    async def _remember(self, arguments: dict[str, Any]) -> types.CallToolResult:
        text = arguments.pop("text", None)
        if arguments or not isinstance(text, str) or not text.strip():
            return _failed("remember takes one argument, text: a sentence that is not blank")
        memory = self._client.memory(user_id=self._binding.user_id, app=self._binding.app)
        added = await memory.add(text)
        result = json.dumps({"remembered": added[0].id})
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=result)], structured_content=json.loads(result)
        )


async def serve_stdio(client: AsyncClient, binding: Binding) -> None:
    """Serves one MCP client over standard input and output, until it closes them."""
    server = RecallServer(client, binding).mcp
    async with stdio_server() as (received, sent):
        await server.run(received, sent, server.create_initialization_options())


def _told(error: ThreadkeepError) -> str:
    return error.message or error.reason or error.code.name


def _failed(problem: str) -> types.CallToolResult:
    """A failure that the model can act on."""
    return types.CallToolResult(content=[types.TextContent(type="text", text=problem)], is_error=True)
