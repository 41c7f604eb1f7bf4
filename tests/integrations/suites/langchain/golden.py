"""The golden conversation, written and read by an agent of `create_agent`."""

from __future__ import annotations

import json
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import wrap_tool_call
from langchain.tools import tool
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from tests.integrations.golden import PIXEL, Atom
from tests.integrations.suites.langgraph.golden import atoms_of
from tests.integrations.suites.langgraph.scripted import ScriptedModel
from threadkeep import AsyncClient
from threadkeep.integrations.langchain import ThreadkeepMiddleware
from threadkeep.memory import MemoryProvider

ANSWERS = (
    AIMessage(
        [
            {"type": "reasoning", "reasoning": "Two cities need two calls."},
            {"type": "text", "text": "Let me look at both."},
        ],
        tool_calls=[
            {"name": "weather", "args": {"city": "Lisbon"}, "id": "call_lisbon"},
            {"name": "weather", "args": {"city": "Oslo"}, "id": "call_oslo"},
        ],
    ),
    AIMessage(
        "Lisbon has 21 °C. Oslo's station is offline. Shall I book Lisbon?",
        tool_calls=[{"name": "book", "args": {"city": "Lisbon", "nights": 2}, "id": "call_book"}],
    ),
    AIMessage("Booked. Enjoy Lisbon. 🌞"),
)


class Offline(Exception):
    """The station does not answer."""


class Waiting(Exception):
    """A person has to confirm."""


@wrap_tool_call
async def failures(request: Any, handler: Any) -> Any:
    """The result of a tool that fails is its error."""
    try:
        return await handler(request)
    except Offline as error:
        call = request.tool_call
        return ToolMessage(str(error), tool_call_id=call["id"], name=call["name"], status="error")


def agent_of(client: AsyncClient, session_id: str, *, confirmed: bool = True) -> Any:
    """The agent of the conversation. Without a confirmation its run breaks off where it books."""

    @tool
    def weather(city: str) -> str:
        """The weather in a city."""
        if city == "Oslo":
            raise Offline("the station is offline")
        return json.dumps({"celsius": 21, "sky": "clear"})

    @tool
    def book(city: str, nights: int) -> str:
        """Books a stay."""
        if not confirmed:
            raise Waiting
        return json.dumps({"booked": True})

    def answer(messages: Any) -> AIMessage:
        return ANSWERS[sum(isinstance(message, AIMessage) for message in messages)].model_copy()

    middleware = [ThreadkeepMiddleware(client, session_id), failures]
    return create_agent(ScriptedModel(answer=answer), [weather, book], middleware=middleware)


async def write(client: AsyncClient, session_id: str) -> None:
    """Writes the conversation in two runs: the first one breaks off at the call that waits for a person."""
    question = HumanMessage(
        [
            {"type": "text", "text": "Compare the weather in Lisbon and Oslo with this map."},
            {"type": "image", "base64": PIXEL, "mime_type": "image/png"},
        ]
    )
    try:
        await agent_of(client, session_id, confirmed=False).ainvoke({"messages": [question]})
    except Waiting:
        await agent_of(client, session_id).ainvoke({"messages": []})


async def read(client: AsyncClient, session_id: str) -> list[Atom]:
    """Reads what an agent is given when its run begins."""
    given: list[list[BaseMessage]] = []

    def answer(messages: Any) -> AIMessage:
        given.append(list(messages))
        return AIMessage("read")

    memory = MemoryProvider.limited_window().without_system().read_only()
    reader = ThreadkeepMiddleware(client, session_id, memory=memory)
    await create_agent(ScriptedModel(answer=answer), middleware=[reader]).ainvoke({"messages": []})
    return list(atoms_of(given[0]))
