"""Conversations of other frameworks, read by ADK and continued by its agents."""

from __future__ import annotations

from typing import Any

import pytest
from google.adk.runners import Runner
from google.genai import types

from tests.integrations.suites.adk.support import USER, agent, read, run, scripted, texts
from threadkeep import AsyncClient, SessionRef, assistant, compaction, reasoning, system, tool_call, tool_error, user
from threadkeep.integrations.adk import ThreadkeepSessionService

Service = ThreadkeepSessionService
PIXEL = "iVBORw0KGgo="
OPENAI: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "Is it warm?"},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
        ],
    },
    {
        "role": "assistant",
        "content": "Let me look.",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Lisbon"}'}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "21 degrees"},
    {"role": "assistant", "content": "Yes, 21 degrees."},
]


@pytest.fixture
def ref(app: str) -> SessionRef:
    """A session that ADK did not create."""
    return SessionRef(app=app, user_id=USER, session_id="s1")


async def test_messages_of_openai_are_read_as_contents(
    service: Service, client: AsyncClient, app: str, ref: SessionRef
) -> None:
    await client.append(ref, OPENAI, create_if_missing=True)
    session = await read(service, app, "s1")
    parts = [part for event in session.events if event.content for part in event.content.parts or ()]
    assert [event.author for event in session.events] == ["system", "user", "assistant", "assistant", "assistant"]
    assert [event.content.role for event in session.events if event.content] == ["user", "user", "model", "user", "model"]
    assert texts(session) == ["Be brief.", "Is it warm?", "Let me look.", "Yes, 21 degrees."]
    assert parts[2].inline_data is not None
    assert parts[2].inline_data.data == b"\x89PNG\r\n\x1a\n"
    assert session.events[2].get_function_calls() == [types.FunctionCall(id="c1", name="weather", args={"city": "Lisbon"})]
    (response,) = session.events[3].get_function_responses()
    assert (response.id, response.name, response.response) == ("c1", "weather", {"output": "21 degrees"})


async def test_reasoning_and_errors_are_read(service: Service, client: AsyncClient, app: str, ref: SessionRef) -> None:
    thinking = assistant(reasoning("Look.", signature=b"s"), tool_calls=[tool_call("c1", "weather", {})], author="planner")
    await client.append(ref, user("Warm?"), thinking, tool_error("c1", "offline"), create_if_missing=True)
    _, first, second = (await read(service, app, "s1")).events
    assert first.author == "planner"
    assert first.content is not None
    assert first.content.parts is not None
    assert (first.content.parts[0].text, first.content.parts[0].thought) == ("Look.", True)
    assert second.get_function_responses()[0].response == {"error": "offline"}


async def test_agent_continues_what_another_framework_began(
    service: Service, client: AsyncClient, app: str, ref: SessionRef
) -> None:
    await client.append(ref, OPENAI, create_if_missing=True)
    model = scripted("Then pack light.")
    runner = Runner(agent=agent(model), app_name=app, session_service=service)
    await run(runner, "s1", "And tomorrow?")
    seen = str(model.requests[0].contents)
    assert all(each in seen for each in ("Is it warm?", "21 degrees", "And tomorrow?"))
    found = [(each.role, each.text) async for each in client.events(ref)]
    assert found[-2:] == [("user", "And tomorrow?"), ("assistant", "Then pack light.")]


async def test_summaries_of_the_server_take_the_place_of_what_they_stand_for(
    service: Service, client: AsyncClient, app: str, ref: SessionRef
) -> None:
    await client.append(ref, system("Be brief."), *(user(f"question {n}") for n in range(5)), create_if_missing=True)

    async def summarize(_: object) -> str:
        return "Four questions so far."

    await client.compact_with(ref, summarize, compaction.recursive_summary(keep=1, overlap=0))
    found = texts(await read(service, app, "s1"))
    assert any("Four questions so far." in text for text in found)
    assert found[-1] == "question 4"
    assert "question 0" not in found
