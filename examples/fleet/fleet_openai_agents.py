"""An agent of the OpenAI Agents SDK. It reads the whole session, calls a tool, and answers; a script replaces the model."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from typing import Any

from agents import Agent, RunConfig, Runner, function_tool
from agents.testing import ScriptedModel, assistant_message, function_call

from threadkeep import AsyncClient
from threadkeep.integrations.openai_agents import ThreadkeepSession

APP, USER, SESSION = "fleet", "ada", "trip"


@function_tool
def hotels(city: str) -> str:
    """The hotels of a city."""
    return f"Avenida, 120 euros a night in {city}"


async def main(question: str, answer: str) -> None:
    """Takes one turn."""
    async with AsyncClient(app=APP, user_id=USER) as client:
        session = ThreadkeepSession(client, SESSION)
        items: list[Any] = list(await session.get_items())
        read = set(re.findall("«(.+?)»", json.dumps(items, ensure_ascii=False)))
        model = ScriptedModel(
            [
                [function_call("hotels", {"city": "Lisbon"}, call_id="call_hotels")],
                [assistant_message(f"«{answer}» Answers read: {len(read)}.")],
            ]
        )
        agent = Agent(name="booker", model=model, tools=[hotels])
        await Runner.run(agent, question, session=session, run_config=RunConfig(tracing_disabled=True))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
