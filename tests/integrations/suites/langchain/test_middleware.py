"""The middleware: what an agent reads and stores, with both kinds of client."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.tools import tool
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.runtime import Runtime

from tests.integrations.suites.langgraph.scripted import ScriptedModel, weather_script
from threadkeep import AsyncClient, Client, SessionRef, assistant, event_filter, system, user
from threadkeep import tool_call as call_part
from threadkeep.formats.langchain import event_of
from threadkeep.integrations.langchain import ThreadkeepMiddleware
from threadkeep.memory import MemoryProvider


@tool
def weather(city: str) -> str:
    """The weather in a city."""
    return f"4 °C in {city}"


def agent_of(middleware: ThreadkeepMiddleware, model: ScriptedModel | None = None, **options: Any) -> Any:
    return create_agent(model or ScriptedModel(answer=weather_script), [weather], middleware=[middleware], **options)


def types(messages: Sequence[BaseMessage]) -> list[str]:
    return [message.type for message in messages]


ROUND = ["human", "ai", "tool", "ai"]


async def test_run_is_stored_and_the_next_one_begins_with_it(client: AsyncClient) -> None:
    session_id, model = str(uuid.uuid4()), ScriptedModel(answer=weather_script)
    first = await agent_of(ThreadkeepMiddleware(client, session_id), model).ainvoke({"messages": ["How is Oslo?"]})
    assert types(first["messages"]) == ROUND
    events = [event async for event in client.events(session_id)]
    assert [event.id for event in events] == [message.id for message in first["messages"]]
    assert [event.usage.total_tokens for event in events] == [0, 15, 0, 15]
    second = await agent_of(ThreadkeepMiddleware(client, session_id), model).ainvoke({"messages": ["And now?"]})
    assert types(second["messages"]) == ROUND * 2
    assert types(model.calls[2]) == [*ROUND, "human"]
    assert [event.id async for event in client.events(session_id)] == [message.id for message in second["messages"]]


async def test_agent_reads_what_others_wrote_without_their_instructions(client: AsyncClient) -> None:
    session_id, model = str(uuid.uuid4()), ScriptedModel(answer=weather_script)
    await client.append(
        session_id, system("Be brief."), user("one"), assistant("two", author="planner"), create_if_missing=True
    )
    await agent_of(ThreadkeepMiddleware(client, session_id), model).ainvoke({"messages": ["three"]})
    assert [(message.type, message.text, message.name) for message in model.calls[0]] == [
        ("human", "one", None),
        ("ai", "two", "planner"),
        ("human", "three", None),
    ]
    assert len([event async for event in client.events(session_id)]) == 7


async def test_session_is_the_thread_of_the_config_or_what_a_function_returns(client: AsyncClient) -> None:
    by_thread = agent_of(ThreadkeepMiddleware(client))
    await by_thread.ainvoke({"messages": ["one"]}, {"configurable": {"thread_id": "by-thread"}})

    def of_run(runtime: Runtime[Any]) -> SessionRef:
        return SessionRef(app=client.app, user_id=runtime.context["user"], session_id="by-context")

    by_context = agent_of(ThreadkeepMiddleware(client, of_run), context_schema=dict)
    await by_context.ainvoke({"messages": ["one"]}, context={"user": "bob"})
    found = {(session.ref.user_id, session.ref.session_id) async for session in client.sessions(any_user=True)}
    assert found == {("ada", "by-thread"), ("bob", "by-context")}
    with pytest.raises(ValueError, match="thread_id"):
        await by_thread.ainvoke({"messages": ["one"]})


async def test_agent_with_a_checkpointer_has_each_message_once(client: AsyncClient) -> None:
    agent = agent_of(ThreadkeepMiddleware(client), checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": str(uuid.uuid4())}}
    for _ in range(2):
        result = await agent.ainvoke({"messages": ["How is Oslo?"]}, config)
    assert types(result["messages"]) == ROUND * 2
    stored = [event.id async for event in client.events(config["configurable"]["thread_id"])]
    assert stored == [message.id for message in result["messages"]]


async def test_reader_stores_nothing(client: AsyncClient) -> None:
    session_id = str(uuid.uuid4())
    await client.append(session_id, user("one"), assistant("two"), create_if_missing=True)
    memory = MemoryProvider.read_only()
    result = await agent_of(ThreadkeepMiddleware(client, session_id, memory=memory)).ainvoke({"messages": ["three"]})
    assert types(result["messages"]) == ["human", "ai", *ROUND]
    assert len([event async for event in client.events(session_id)]) == 2


async def test_open_call_of_a_broken_run_is_carried_out_when_it_resumes(client: AsyncClient) -> None:
    session_id, model = str(uuid.uuid4()), ScriptedModel(answer=weather_script)
    call = call_part("call_1", "weather", {"city": "Oslo"})
    await client.append(session_id, user("How is Oslo?"), assistant(tool_calls=[call]), create_if_missing=True)
    result = await agent_of(ThreadkeepMiddleware(client, session_id), model).ainvoke({"messages": []})
    assert types(result["messages"]) == ROUND
    assert result["messages"][-1].text == "It is 4 °C in Oslo."
    assert len(model.calls) == 1
    assert len([event async for event in client.events(session_id)]) == 4


async def test_open_call_before_a_new_message_gets_an_error(client: AsyncClient) -> None:
    session_id, model = str(uuid.uuid4()), ScriptedModel(answer=weather_script)
    call = call_part("call_0", "weather", {"city": "Oslo"})
    await client.append(session_id, user("How is Oslo?"), assistant(tool_calls=[call]), create_if_missing=True)
    await agent_of(ThreadkeepMiddleware(client, session_id), model).ainvoke({"messages": ["Hello?"]})
    assert types(model.calls[0]) == ["human", "ai", "tool", "human"]
    events = [event async for event in client.events(session_id, event_filter(roles=["tool"]))]
    assert [event.tool_results[0].is_error for event in events] == [True, False]


async def test_agent_without_tools_and_history_answers(client: AsyncClient) -> None:
    model = ScriptedModel(answer=lambda messages: AIMessage("hello"))
    agent = create_agent(model, middleware=[ThreadkeepMiddleware(client, "plain")])
    result = await agent.ainvoke({"messages": [HumanMessage("one", id="1")]})
    assert types(result["messages"]) == ["human", "ai"]
    assert (await client.get_event("plain", "1")).text == "one"


def test_agent_with_a_blocking_client_runs_both_ways(sync_client: Client) -> None:
    agent = agent_of(ThreadkeepMiddleware(sync_client, "session"))
    agent.invoke({"messages": ["How is Oslo?"]})
    result = asyncio.run(agent.ainvoke({"messages": ["And now?"]}))
    assert types(result["messages"]) == ROUND * 2
    assert [event.id for event in sync_client.events("session")] == [message.id for message in result["messages"]]


async def test_message_of_a_newer_type_is_read_from_its_parts(client: AsyncClient) -> None:
    session_id, model = str(uuid.uuid4()), ScriptedModel(answer=weather_script)
    newer = {"type": "of_a_newer_version", "data": {"content": "one", "type": "of_a_newer_version"}}
    await client.append(session_id, event_of(newer, "e1"), create_if_missing=True)
    await agent_of(ThreadkeepMiddleware(client, session_id), model).ainvoke({"messages": ["two"]})
    assert [message.text for message in model.calls[0]] == ["one", "two"]
