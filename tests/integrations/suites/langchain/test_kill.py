"""A server that is killed in the middle of an agent's run, and the run that resumes."""

from __future__ import annotations

import asyncio

import pytest
from langchain.agents import create_agent
from langchain.tools import tool
from langchain_core.messages import HumanMessage

from tests.integrations.suites.conftest import Server
from tests.integrations.suites.langgraph.scripted import ScriptedModel, weather_script
from threadkeep import AsyncClient
from threadkeep.errors import ThreadkeepError
from threadkeep.integrations.langchain import ThreadkeepMiddleware


async def test_run_resumes_after_a_kill_and_nothing_is_twice(killable: Server) -> None:
    model, cities = ScriptedModel(answer=weather_script), []

    @tool
    def weather(city: str) -> str:
        """The weather in a city."""
        cities.append(city)
        if len(cities) == 1:
            killable.kill()
        return "4 °C"

    async with AsyncClient(killable.address, app="killed", user_id="ada", timeout=3) as client:
        agent = create_agent(model, [weather], middleware=[ThreadkeepMiddleware(client, "session")])
        with pytest.raises(ThreadkeepError):
            await agent.ainvoke({"messages": [HumanMessage("How is Oslo?", id="question")]})
        killable.start()
        for _ in range(600):
            try:
                await client.info()
                break
            except ThreadkeepError:
                await asyncio.sleep(0.1)
        done = await agent.ainvoke({"messages": []})
        assert [message.type for message in done["messages"]] == ["human", "ai", "tool", "ai"]
        assert done["messages"][-1].text == "It is 4 °C."
        events = [event async for event in client.events("session")]
        assert [event.id for event in events] == [message.id for message in done["messages"]]
    assert [len(messages) for messages in model.calls] == [1, 3]
    assert cities == ["Oslo", "Oslo"]
