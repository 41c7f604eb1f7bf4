# Generated from _async by `make sync-client`. Do not edit.
"""Recall tools for a model; the server defines and runs them (see ToolService in the protos)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from .... import Client
from ...._convert import session_ref
from ....v1.session_pb2 import Session, SessionRef
from ....v1.tool_service_pb2 import ToolDefinition as OfServer
from ...runtime.arguments import check_sdk
from ...tools.tool import Tool, ToolContext, ToolDefinition, ToolOutput
from ...types.messages import Text

_OF_A_USER = "load_memory"


class RecallTools:
    """The recall tools of a server for a model: `.tools(*RecallTools(client).all())`.

    They search the session in the value "session" of the request's tool context, which `.session(...)` sets, for the user in
    "user_id" or the client's. Without a session load_memory, which needs only the user, still searches; the others return an
    error. Invalid arguments of the model return an error for it; an unreachable server or an unknown session raises an
    exception.
    """

    def __init__(self, client: Client) -> None:
        """Raises TypeError for a client of the other form."""
        check_sdk(client, "RecallTools")
        self._client = client

    def all(self) -> tuple[Tool, ...]:
        """Returns the tools that the server offers to models: load_memory, conversation_search and cross_session_search,
        except those that are switched off."""
        return tuple(self._tool(each) for each in self._client.tools() if each.declared)

    def named(self, *names: str) -> tuple[Tool, ...]:
        """Returns some of the tools. Raises ValueError for another name; preload_memory is for the program, see `preload`."""
        tools = {each.name: each for each in self._client.tools() if each.declared}
        for name in names:
            if name not in tools:
                raise ValueError(f"the server has no tool {name!r} for a model; it has {', '.join(tools)}")
        return tuple(self._tool(tools[name]) for name in names)

    def preload(self, session: str | SessionRef | Session, text: str | None = None, *, max_entries: int = 5) -> str:
        """Returns the memory of the session's user that matches `text`, default the user's last message.

        Put it before the instructions; it is empty without a match. `max_entries`: 1 to 50.
        """
        arguments = {"max_entries": max_entries, **({} if text is None else {"text": text})}
        answer = self._client.call_tool("preload_memory", arguments, session=session)
        answered = json.loads(answer.result_json)
        if answer.is_error:
            raise ValueError(answered["error"])
        return str(answered["text"])

    def _tool(self, offered: OfServer) -> Tool:
        schema = json.loads(offered.parameters_json_schema)
        return Tool(ToolDefinition(offered.name, offered.description, schema), self._runs(offered.name))

    def _runs(self, name: str) -> Callable[[str, ToolContext], Any]:
        def run(arguments: str, context: ToolContext) -> ToolOutput:
            session = context.values.get("session") or ""
            if not session and name != _OF_A_USER:
                return _failed("there is no conversation to search: the request names no session")
            user_id = context.values.get("user_id") or self._client.user_id
            ref = session_ref(session, self._client.app, user_id)
            answer = self._client.call_tool(name, arguments, session=ref)
            return ToolOutput((Text(answer.result_json),), is_error=answer.is_error)

        return run


def _failed(problem: str) -> ToolOutput:
    return ToolOutput((Text(json.dumps({"error": problem})),), is_error=True)
