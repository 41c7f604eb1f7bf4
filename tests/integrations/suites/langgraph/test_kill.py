"""A server that is killed in the middle of a run, and the run that resumes."""

from __future__ import annotations

import asyncio
import threading
import time
import uuid
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from langchain_core.messages import HumanMessage, ToolMessage
from langgraph.graph import END, START, MessagesState, StateGraph

from tests.integrations.suites.conftest import Server
from tests.integrations.suites.langgraph.golden import config_of
from tests.integrations.suites.langgraph.scripted import ScriptedModel, weather_script
from threadkeep import AsyncClient, Client, event_filter
from threadkeep.errors import ThreadkeepError
from threadkeep.integrations.langgraph import ThreadkeepSaver

STORED_WITHIN = 0.5
"""LangGraph stores checkpoints while the next nodes run."""


@pytest.fixture
async def own_client(killable: Server) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(killable.address, app="killed", user_id="ada", timeout=3) as client:
        yield client


async def until_served(client: AsyncClient) -> None:
    """Returns when the channel has found the new server."""
    while True:
        try:
            await client.info()
            return
        except ThreadkeepError:
            await asyncio.sleep(0.1)


def served(client: Client) -> bool:
    try:
        client.info()
    except ThreadkeepError:
        return False
    return True


def agent(saver: ThreadkeepSaver, model: ScriptedModel, during_tool: Callable[[], None]) -> Any:
    """An agent in two nodes. `during_tool`: runs in the node of the tool."""

    def think(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    def act(state: MessagesState) -> dict[str, Any]:
        during_tool()
        call = state["messages"][-1].tool_calls[0]  # type: ignore[union-attr]
        return {"messages": [ToolMessage("4 °C", tool_call_id=call["id"], name=call["name"])]}

    def route(state: MessagesState) -> str:
        return "act" if getattr(state["messages"][-1], "tool_calls", None) else END

    builder = StateGraph(MessagesState).add_node("think", think).add_node("act", act)
    builder.add_edge(START, "think").add_conditional_edges("think", route, ["act", END]).add_edge("act", "think")
    return builder.compile(checkpointer=saver)


async def test_run_resumes_after_a_kill_and_nothing_is_twice(killable: Server, own_client: AsyncClient) -> None:
    config, model, killed = config_of(str(uuid.uuid4())), ScriptedModel(answer=weather_script), threading.Event()

    def kill_once() -> None:
        if not killed.is_set():
            killed.set()
            time.sleep(STORED_WITHIN)
            killable.kill()

    graph = agent(ThreadkeepSaver(own_client), model, kill_once)
    question = HumanMessage("How is the weather?", id="question")
    with pytest.raises(ThreadkeepError):
        await graph.ainvoke({"messages": [question]}, config)
    killable.start()
    await until_served(own_client)
    resumed = agent(ThreadkeepSaver(own_client), model, kill_once)
    done = await resumed.ainvoke(None, config)
    assert [message.type for message in done["messages"]] == ["human", "ai", "tool", "ai"]
    assert done["messages"][-1].text == "It is 4 °C."
    thread_id = config["configurable"]["thread_id"]
    events = [event async for event in own_client.events(thread_id, event_filter(branch_match="exact"))]
    assert [event.id for event in events] == [message.id for message in done["messages"]]
    assert [event.text for event in events if str(event.role) == "assistant"] == ["Let me look.", "It is 4 °C."]
    again = await resumed.ainvoke({"messages": [HumanMessage("And now?")]}, config)
    assert [message.type for message in again["messages"]] == ["human", "ai", "tool", "ai"] * 2


def test_blocking_run_resumes_after_a_kill_and_nothing_is_twice(killable: Server) -> None:
    config, model, killed = config_of(str(uuid.uuid4())), ScriptedModel(answer=weather_script), threading.Event()

    def kill_once() -> None:
        if not killed.is_set():
            killed.set()
            time.sleep(STORED_WITHIN)
            killable.kill()

    with Client(killable.address, app="killed", user_id="ada", timeout=3) as client:
        graph = agent(ThreadkeepSaver(client), model, kill_once)
        with pytest.raises(ThreadkeepError):
            graph.invoke({"messages": [HumanMessage("How is the weather?", id="question")]}, config, durability="sync")
        killable.start()
        while not served(client):
            time.sleep(0.1)
        done = agent(ThreadkeepSaver(client), model, kill_once).invoke(None, config)
        assert [message.type for message in done["messages"]] == ["human", "ai", "tool", "ai"]
        thread_id = config["configurable"]["thread_id"]
        events = list(client.events(thread_id, event_filter(branch_match="exact")))
        assert [event.id for event in events] == [message.id for message in done["messages"]]
    assert [len(messages) for messages in model.calls] == [1, 3]
