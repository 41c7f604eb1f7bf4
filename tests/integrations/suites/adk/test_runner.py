"""Runs of ADK's runner with a scripted model."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from google.adk.agents import BaseAgent, ParallelAgent, SequentialAgent
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.runners import Runner
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from tests.integrations.suites.adk.support import USER, agent, call, content, read, run, scripted, texts
from threadkeep import AsyncClient, SessionRef
from threadkeep.integrations.adk import ThreadkeepSessionService

Service = ThreadkeepSessionService


def weather(city: str, tool_context: ToolContext) -> dict[str, Any]:
    """The weather in a city."""
    tool_context.state["seen"] = [*tool_context.state.get("seen", []), city]
    tool_context.state["user:last_city"] = city
    tool_context.state["temp:now"] = city
    if city == "Oslo":
        return {"error": "the station is offline"}
    return {"celsius": 21}


async def test_run_with_parallel_tools_is_stored_as_it_was(service: Service, app: str) -> None:
    model = scripted(
        content(types.Part(text="Both."), call("weather", "c1", city="Lisbon"), call("weather", "c2", city="Oslo")),
        "21 and unknown.",
    )
    runner = Runner(agent=agent(model, weather), app_name=app, session_service=service)
    session = await service.create_session(app_name=app, user_id=USER, session_id="s1", state={"seen": []})
    events = await run(runner, "s1", "How warm is it?")
    found = await read(service, app, "s1")
    assert found.events[1:] == events
    assert texts(found) == ["How warm is it?", "Both.", "21 and unknown."]
    responses = {each.id: each.response for event in events for each in event.get_function_responses()}
    assert responses == {"c1": {"celsius": 21}, "c2": {"error": "the station is offline"}}
    assert sorted(found.state["seen"]) in (["Lisbon", "Oslo"], ["Lisbon"], ["Oslo"])  # ADK merges parallel deltas
    assert found.state["user:last_city"] in ("Lisbon", "Oslo")
    assert "temp:now" not in found.state
    assert session.id == found.id


async def test_runs_continue_the_session(service: Service, app: str) -> None:
    model = scripted("one", "two", "three")
    runner = Runner(agent=agent(model), app_name=app, session_service=service, auto_create_session=True)
    for text in ("first", "second", "third"):
        await run(runner, "s1", text)
    assert texts(await read(service, app, "s1")) == ["first", "one", "second", "two", "third", "three"]
    assert [part.text for each in model.requests[2].contents for part in each.parts or ()] == [
        "first",
        "one",
        "second",
        "two",
        "third",
    ]


async def test_missing_session_is_reported_by_the_runner(service: Service, app: str) -> None:
    runner = Runner(agent=agent(scripted("x")), app_name=app, session_service=service)
    with pytest.raises(SessionNotFoundError):
        await run(runner, "missing", "hello")


async def test_delta_of_a_run_is_stored_with_the_message(service: Service, app: str) -> None:
    runner = Runner(agent=agent(scripted("x")), app_name=app, session_service=service, auto_create_session=True)
    await run(runner, "s1", "hello", state_delta={"k": 1, "app:k": 2, "temp:k": 3})
    found = await read(service, app, "s1")
    assert found.state == {"k": 1, "app:k": 2}
    assert found.events[0].actions.state_delta == {"k": 1, "app:k": 2}


async def test_agents_in_sequence_pass_temporary_state(service: Service, app: str) -> None:
    writer = agent(scripted("draft"), output_key="temp:draft")
    model = scripted("final")
    reader = agent(model, instruction="Improve: {temp:draft}", output_key="text")
    writer.name, reader.name = "writer", "reader"
    runner = Runner(
        agent=SequentialAgent(name="both", sub_agents=[writer, reader]),
        app_name=app,
        session_service=service,
        auto_create_session=True,
    )
    await run(runner, "s1", "write")
    assert "Improve: draft" in str(model.requests[0].config.system_instruction)
    assert (await read(service, app, "s1")).state == {"text": "final"}


async def test_agents_in_parallel_are_all_stored(service: Service, client: AsyncClient, app: str) -> None:
    agents: list[BaseAgent] = []
    for n in range(4):
        each = agent(scripted(f"answer {n}"), output_key=f"k{n}")
        each.name = f"agent_{n}"
        agents.append(each)
    runner = Runner(
        agent=ParallelAgent(name="all", sub_agents=agents), app_name=app, session_service=service, auto_create_session=True
    )
    await run(runner, "s1", "go")
    found = await read(service, app, "s1")
    assert sorted(texts(found)) == ["answer 0", "answer 1", "answer 2", "answer 3", "go"]
    assert found.state == {f"k{n}": f"answer {n}" for n in range(4)}
    loaded = await client.load_session(SessionRef(app=app, user_id=USER, session_id="s1"))
    assert {each.branch for each in loaded.events if each.author != "user"} == {
        event.branch or "" for event in found.events if event.author != "user"
    }


async def test_confirmation_that_a_run_waits_for_resumes_it(service: Service, app: str) -> None:
    """The call waits in the session for a person; the answer begins the next run."""

    async def book(city: str) -> None:
        """Books, after a person agreed."""

    model = scripted(content(call("book", "c1", city="Lisbon")), "Booked.")
    asking = agent(model)
    asking.tools = [LongRunningFunctionTool(func=book)]
    runner = Runner(agent=asking, app_name=app, session_service=service, auto_create_session=True)
    events = await run(runner, "s1", "Book Lisbon.")
    assert any(event.long_running_tool_ids == {"c1"} for event in events)
    answer = types.FunctionResponse(id="c1", name="book", response={"booked": True})
    await run(runner, "s1", types.Content(role="user", parts=[types.Part(function_response=answer)]))
    assert texts(await read(service, app, "s1"))[-1] == "Booked."


async def test_two_runners_of_one_session_leave_no_half_turn(service: Service, client: AsyncClient, app: str) -> None:
    """Two processes answer one session at a time: the one that is stale stops with an error, and nothing is interleaved."""
    started, go = asyncio.Event(), asyncio.Event()

    async def slow() -> dict[str, Any]:
        """Waits."""
        started.set()
        await go.wait()
        return {"done": True}

    await service.create_session(app_name=app, user_id=USER, session_id="s1")
    first = Runner(agent=agent(scripted(content(call("slow", "c1")), "late"), slow), app_name=app, session_service=service)
    second = Runner(agent=agent(scripted("quick")), app_name=app, session_service=ThreadkeepSessionService(client))
    running = asyncio.create_task(run(first, "s1", "one"))
    await started.wait()
    await run(second, "s1", "two")
    go.set()
    with pytest.raises(ValueError, match="modified in storage"):
        await running
    found = await read(service, app, "s1")
    assert texts(found) == ["one", "two", "quick"]
    assert not any(event.get_function_responses() for event in found.events)


async def test_synchronous_run_works_in_its_own_loop(address: str, app: str) -> None:
    """`Runner.run` makes an event loop in a thread, so the client must be made for it: it belongs to the loop that uses it."""
    client = AsyncClient(address)
    service = ThreadkeepSessionService(client)
    runner = Runner(agent=agent(scripted("hello")), app_name=app, session_service=service, auto_create_session=True)
    message = types.Content(role="user", parts=[types.Part(text="hi")])
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.extend(runner.run(user_id=USER, session_id="s1", new_message=message)))
    thread.start()
    await asyncio.to_thread(thread.join)
    assert [event.content.parts[0].text for event in found] == ["hello"]
    async with AsyncClient(address) as other:
        assert texts(await read(ThreadkeepSessionService(other), app, "s1")) == ["hi", "hello"]
