"""The server is killed in the middle of runs and appends, and started again: nothing is lost, nothing is there twice."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest
from google.adk.apps import App, ResumabilityConfig
from google.adk.events import Event
from google.adk.runners import Runner
from google.genai import types

from tests.integrations.suites.adk.support import USER, agent, call, content, read, run, said, scripted, texts
from tests.integrations.suites.conftest import Server
from threadkeep import AsyncClient, ThreadkeepError
from threadkeep.integrations.adk import ThreadkeepSessionService


def calls_and_answers(events: list[Event]) -> list[str]:
    """What happened, in short."""
    found = []
    for event in events:
        found += [f"call {each.id}" for each in event.get_function_calls()]
        found += [f"answer {each.id}" for each in event.get_function_responses()]
        found += [part.text for part in (event.content.parts or ()) if part.text] if event.content else []
    return found


async def test_run_goes_on_when_the_server_is_back_in_time(killable: Server, app: str) -> None:
    async def work() -> dict[str, Any]:
        """Works while the server is killed and started again."""
        await asyncio.to_thread(killable.kill)
        await asyncio.to_thread(killable.start)
        return {"done": True}

    model = scripted(content(call("work", "c1")), "It is done.")
    image = types.Part.from_bytes(data=bytes(range(256)), mime_type="image/png")
    async with AsyncClient(killable.address) as client:
        service = ThreadkeepSessionService(client)
        runner = Runner(agent=agent(model, work), app_name=app, session_service=service)
        await service.create_session(app_name=app, user_id=USER, session_id="s1", state={"k": [1], "app:k": None})
        events = await run(runner, "s1", types.Content(role="user", parts=[types.Part(text="Work."), image]))
        found = await read(service, app, "s1")
    assert calls_and_answers(found.events) == ["Work.", "call c1", "answer c1", "It is done."]
    assert found.events[1:] == events
    assert found.events[0].content == types.Content(role="user", parts=[types.Part(text="Work."), image])
    assert found.state == {"k": [1], "app:k": None}


async def test_run_that_failed_is_resumed_after_a_restart(killable: Server, app: str) -> None:
    worked = 0

    async def work() -> dict[str, Any]:
        """Works; the first time, the server is killed meanwhile."""
        nonlocal worked
        worked += 1
        if worked == 1:
            await asyncio.to_thread(killable.kill)
        return {"done": worked}

    model = scripted(content(call("work", "c1")), "It is done.")
    resumable = App(name=app, root_agent=agent(model, work), resumability_config=ResumabilityConfig(is_resumable=True))
    async with AsyncClient(killable.address, timeout=5) as client:
        service = ThreadkeepSessionService(client)
        runner = Runner(app=resumable, session_service=service, auto_create_session=True)
        with pytest.raises(ThreadkeepError):
            await run(runner, "s1", "Work.")
    await asyncio.to_thread(killable.start)
    async with AsyncClient(killable.address) as client:
        service = ThreadkeepSessionService(client)
        before = await read(service, app, "s1")
        assert calls_and_answers(before.events) == ["Work.", "call c1"]
        runner = Runner(app=resumable, session_service=service)
        again = runner.run_async(user_id=USER, session_id="s1", invocation_id=before.events[0].invocation_id)
        assert [event async for event in again]
        found = await read(service, app, "s1")
    assert calls_and_answers(found.events) == ["Work.", "call c1", "answer c1", "It is done."]
    assert worked == 2  # ADK promises at least once for tools
    assert len(model.requests) == 2


async def test_events_delivered_again_after_kills_are_stored_once_and_in_order(killable: Server, app: str) -> None:
    chance, done = random.Random(7), asyncio.Event()

    async def kill_and_start() -> None:
        for _ in range(2):
            await asyncio.sleep(chance.uniform(0.05, 0.3))
            await asyncio.to_thread(killable.kill)
            await asyncio.to_thread(killable.start)
        done.set()

    async with AsyncClient(killable.address) as client:
        service = ThreadkeepSessionService(client)
        session = await service.create_session(app_name=app, user_id=USER, session_id="s1")
        killing = asyncio.create_task(kill_and_start())
        expected: list[str] = []
        while not done.is_set():
            event = said(str(len(expected)))
            event.actions.state_delta = {"count": len(expected) + 1}
            while True:
                try:
                    await service.append_event(session, event)
                    break
                except ThreadkeepError:
                    await asyncio.sleep(0.05)
            expected.append(str(len(expected)))
        await killing
        found = await read(service, app, "s1")
    assert texts(found) == expected
    assert found.state == {"count": len(expected)}
    assert found == session
