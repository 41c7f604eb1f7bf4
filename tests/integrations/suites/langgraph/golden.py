"""The golden conversation, written and read through the state of a graph."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph

from tests.integrations.golden import PIXEL, Atom
from threadkeep import AsyncClient
from threadkeep.integrations.langgraph import ThreadkeepSaver


def conversation() -> list[AnyMessage]:
    """The golden conversation in LangChain's own messages."""
    return [
        HumanMessage(
            [
                {"type": "text", "text": "Compare the weather in Lisbon and Oslo with this map."},
                {"type": "image", "base64": PIXEL, "mime_type": "image/png"},
            ],
            id="m1",
        ),
        AIMessage(
            [
                {"type": "reasoning", "reasoning": "Two cities need two calls."},
                {"type": "text", "text": "Let me look at both."},
            ],
            tool_calls=[
                {"name": "weather", "args": {"city": "Lisbon"}, "id": "call_lisbon"},
                {"name": "weather", "args": {"city": "Oslo"}, "id": "call_oslo"},
            ],
            id="m2",
        ),
        ToolMessage(json.dumps({"celsius": 21, "sky": "clear"}), tool_call_id="call_lisbon", name="weather", id="m3"),
        ToolMessage("the station is offline", tool_call_id="call_oslo", name="weather", status="error", id="m4"),
        AIMessage(
            "Lisbon has 21 °C. Oslo's station is offline. Shall I book Lisbon?",
            tool_calls=[{"name": "book", "args": {"city": "Lisbon", "nights": 2}, "id": "call_book"}],
            id="m5",
        ),
        ToolMessage(json.dumps({"booked": True}), tool_call_id="call_book", name="book", id="m6"),
        AIMessage("Booked. Enjoy Lisbon. 🌞", id="m7"),
    ]


def graph_of(saver: ThreadkeepSaver) -> CompiledStateGraph[MessagesState, None, MessagesState, MessagesState]:
    """A graph that only keeps messages."""

    def keep(state: MessagesState) -> dict[str, Any]:
        return {}

    builder = StateGraph(MessagesState)
    builder.add_node("keep", keep)
    builder.add_edge(START, "keep")
    builder.add_edge("keep", END)
    return builder.compile(checkpointer=saver)


def config_of(session_id: str) -> RunnableConfig:
    """The config of a thread."""
    return {"configurable": {"thread_id": session_id}}


async def write(client: AsyncClient, session_id: str) -> None:
    """Writes the conversation in two runs: the first one ends with the call that waits for a person."""
    graph = graph_of(ThreadkeepSaver(client))
    messages = conversation()
    for some in (messages[:5], messages[5:]):
        await graph.ainvoke({"messages": some}, config_of(session_id))


async def read(client: AsyncClient, session_id: str) -> list[Atom]:
    """Reads the state of the graph, and what others wrote."""
    saver = ThreadkeepSaver(client)
    state = await graph_of(saver).aget_state(config_of(session_id))
    others = await saver.amessages_of_others(config_of(session_id))
    return list(atoms_of([*state.values.get("messages", ()), *others]))


def atoms_of(messages: Iterable[BaseMessage]) -> Iterator[Atom]:
    """The atoms of messages."""
    roles = {"human": "user", "ai": "assistant", "tool": "tool", "system": "system"}
    for message in messages:
        role = roles[message.type]
        if isinstance(message, ToolMessage):
            error = message.status == "error"
            yield {"role": role, "kind": "result", "id": message.tool_call_id, "value": message.text, "error": error}
            continue
        yield from ({"role": role, **atom} for atom in _content(message.content))
        if isinstance(message, AIMessage):
            for call in message.tool_calls:
                yield {"role": role, "kind": "call", "id": call["id"], "name": call["name"], "arguments": call["args"]}


def _content(content: str | Sequence[str | dict[Any, Any]]) -> Iterator[Atom]:
    for block in [content] if isinstance(content, str) else content:
        if isinstance(block, str):
            if block:
                yield {"kind": "text", "text": block}
        elif block["type"] == "text":
            yield {"kind": "text", "text": block["text"]}
        elif block["type"] == "reasoning":
            yield {"kind": "reasoning", "text": block["reasoning"]}
        else:
            yield {"kind": "media", "mime": block["mime_type"], "data": block["base64"]}
