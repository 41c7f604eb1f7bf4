"""The conversation of a graph, as others read it, and what they add to it."""

from __future__ import annotations

import uuid
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, MessagesState, StateGraph

from tests.integrations.suites.langgraph.golden import config_of, conversation, graph_of
from tests.integrations.suites.langgraph.test_saver import delta_graph
from threadkeep import AsyncClient, Event, assistant, event_filter, tool_result, user
from threadkeep import tool_call as call_part
from threadkeep.formats import langchain
from threadkeep.integrations.langgraph import ThreadkeepSaver

ROOT = event_filter(branch_match="exact")


async def events_of(client: AsyncClient, config: RunnableConfig) -> list[Event]:
    return [event async for event in client.events(config["configurable"]["thread_id"], ROOT)]


def new_thread() -> RunnableConfig:
    return config_of(str(uuid.uuid4()))


async def test_messages_of_a_run_are_events_once_and_in_order(client: AsyncClient) -> None:
    config = new_thread()
    for _ in range(2):
        await graph_of(ThreadkeepSaver(client)).ainvoke({"messages": conversation()}, config)
    events = await events_of(client, config)
    assert [event.id for event in events] == [f"m{number}" for number in range(1, 8)]
    assert {event.pb.native.format for event in events} == {langchain.NATIVE}
    assert [str(event.role) for event in events] == ["user", "assistant", "tool", "tool", "assistant", "tool", "assistant"]
    assert [call.id for call in events[1].tool_calls] == ["call_lisbon", "call_oslo"]
    assert events[3].tool_results[0].is_error
    state = await graph_of(ThreadkeepSaver(client)).aget_state(config)
    assert state.values["messages"] == conversation()


async def test_usage_author_and_run_are_fields_of_the_event(client: AsyncClient) -> None:
    config = new_thread()
    usage: Any = {"input_tokens": 7, "output_tokens": 2, "total_tokens": 9, "input_token_details": {"cache_read": 3}}
    config["metadata"] = {"run_id": "run-1"}
    message = AIMessage("hello", name="planner", usage_metadata=usage)
    await graph_of(ThreadkeepSaver(client)).ainvoke({"messages": [message]}, config)
    (event,) = await events_of(client, config)
    assert (event.author, event.invocation_id) == ("planner", "run-1")
    assert (event.usage.input_tokens, event.usage.total_tokens, event.usage.cached_tokens) == (7, 9, 3)


async def test_messages_of_others_are_taken_up_and_not_stored_again(client: AsyncClient) -> None:
    config = new_thread()
    thread_id = config["configurable"]["thread_id"]
    saver = ThreadkeepSaver(client)
    await graph_of(saver).ainvoke({"messages": [HumanMessage("one", id="1")]}, config)
    await client.append(
        thread_id,
        user("two", event_id="2"),
        assistant("let me see", tool_calls=[call_part("c1", "look", {"at": 1})], event_id="3", author="planner"),
        tool_result("c1", {"found": True}, event_id="4"),
    )
    others = await ThreadkeepSaver(client).amessages_of_others(config)
    assert [(message.type, message.id) for message in others] == [("human", "2"), ("ai", "3"), ("tool", "4")]
    assert isinstance(others[1], AIMessage)
    assert others[1].tool_calls[0]["args"] == {"at": 1}
    assert isinstance(others[2], ToolMessage)
    assert others[2].text == '{"found":true}'
    await graph_of(ThreadkeepSaver(client)).ainvoke({"messages": [*others, HumanMessage("five", id="5")]}, config)
    assert [event.id for event in await events_of(client, config)] == ["1", "2", "3", "4", "5"]
    assert (await client.get_event(thread_id, "3")).author == "planner"
    assert await saver.amessages_of_others(config) == []


async def test_edited_message_replaces_its_event_and_removed_one_stays(client: AsyncClient) -> None:
    config = new_thread()
    thread_id = config["configurable"]["thread_id"]
    graph = graph_of(ThreadkeepSaver(client))
    await graph.ainvoke({"messages": [HumanMessage("one", id="1"), HumanMessage("two", id="2")]}, config)
    edit: Any = [HumanMessage("ONE", id="1"), RemoveMessage("2"), HumanMessage("three", id="3")]
    await graph.ainvoke({"messages": edit}, config)
    active = [event async for event in client.events(thread_id, event_filter(branch_match="exact", view="active"))]
    assert [event.text for event in active] == ["ONE", "two", "three"]
    assert await graph_of(ThreadkeepSaver(client)).aget_state(config) == await graph.aget_state(config)


async def test_messages_of_a_delta_channel_are_events(client: AsyncClient) -> None:
    config = new_thread()
    for number in range(3):
        graph = delta_graph(ThreadkeepSaver(client))
        await graph.ainvoke({"messages": [HumanMessage(f"hello {number}", id=f"hello-{number}")]}, config)
    assert [event.id for event in await events_of(client, config)] == [
        "hello-0",
        "seen-1",
        "hello-1",
        "seen-3",
        "hello-2",
        "seen-5",
    ]


async def test_messages_of_a_subgraph_are_stored_once(client: AsyncClient) -> None:
    def speak(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage("from below", id="below")]}

    inner = StateGraph(MessagesState).add_node("speak", speak).add_edge(START, "speak").add_edge("speak", END)
    outer = StateGraph(MessagesState).add_node("inner", inner.compile(checkpointer=True))
    graph = outer.add_edge(START, "inner").add_edge("inner", END).compile(checkpointer=ThreadkeepSaver(client))
    config = new_thread()
    await graph.ainvoke({"messages": [HumanMessage("one", id="1")]}, config)
    assert [event.id for event in await events_of(client, config)] == ["1", "below"]
    branches = [branch.name async for branch in client.branches(config["configurable"]["thread_id"])]
    assert branches[:2] == ["", "langgraph"]
    assert len(branches) == 3


async def test_saver_without_a_channel_stores_no_messages(client: AsyncClient) -> None:
    config = new_thread()
    await graph_of(ThreadkeepSaver(client, messages=None)).ainvoke({"messages": [HumanMessage("one")]}, config)
    assert await events_of(client, config) == []


async def test_deleted_run_takes_its_messages_along(client: AsyncClient) -> None:
    config, graph = new_thread(), graph_of(ThreadkeepSaver(client))
    thread_id = config["configurable"]["thread_id"]
    for run_id in ("run-1", "run-2"):
        await graph.ainvoke({"messages": [HumanMessage(run_id, id=run_id)]}, {**config, "metadata": {"run_id": run_id}})
    await client.append(thread_id, user("by another", event_id="other", invocation_id="run-2"))
    await ThreadkeepSaver(client).adelete_for_runs(["run-2"])
    events = [event async for event in client.events(thread_id, event_filter(branch_match="exact", view="active"))]
    assert [event.id for event in events] == ["run-1", "other"]
    state = await graph_of(ThreadkeepSaver(client)).aget_state(config)
    assert [message.id for message in state.values["messages"]] == ["run-1"]


async def test_readers_of_the_window_find_no_text_in_checkpoints(client: AsyncClient) -> None:
    config = new_thread()
    await graph_of(ThreadkeepSaver(client)).ainvoke({"messages": [HumanMessage("one", id="1")]}, config)
    context = await client.get_context(config["configurable"]["thread_id"])
    assert [event.text for event in context.events if event.pb.message.parts] == ["one"]
    assert all(not langchain.items_of(event.pb) for event in context.events if not event.pb.message.parts)
