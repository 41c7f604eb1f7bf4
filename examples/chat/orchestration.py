"""Several agents on one session: a planner calls researchers, each on its own branch: `python -m examples.chat.orchestration`

A researcher sees the planner's conversation and its own events, not those of the other researcher. The planner sees their
reports. The program prints the log of the session at the end.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from tests.chat.reasoning import Thought, turn_of

from threadkeep import AsyncClient, chat, new_event_id, text_of
from threadkeep.chat import ToolContext

from .stand_in import a_model
from .stopping import quiet

FACTS = {"Lisbon": "mild, 21 degrees, a tram to the sea", "Oslo": "cold, 4 degrees, a train to the snow"}


def look_up(city: str) -> str:
    """Returns the guide book's entry for a city."""
    return FACTS.get(city, "nothing")


def think(requested: dict[str, Any]) -> Thought:
    """The stand-in for both agents; the instructions identify the agent."""
    turn = turn_of(requested)
    answered = [str(message["content"]) for message in turn if message["role"] == "tool"]
    if "researcher" in str(requested["messages"][0]["content"]):
        city = str(turn[0]["content"]).rpartition(" ")[2]
        return f"{city}: {answered[-1]}" if answered else [("look_up", {"city": city})]
    return "Take Lisbon. " + "; ".join(answered) if answered else [("research", {"city": city}) for city in FACTS]


async def main() -> None:
    async with AsyncClient(app="orchestration", user_id="ada") as memory, a_model(think) as model:
        session = f"trip-{new_event_id()}"

        async def research(city: str, context: ToolContext) -> str:
            """Lets a researcher report on one city."""
            # Each event that it stores has its branch and author.
            own = chat.AsyncSessionMemoryAdvisor(memory, author=f"researcher of {city}", branch=f"planner.{city.lower()}")
            agent = chat.AsyncChatClient(model, system="You are a researcher.", tools=[look_up], advisors=[own])
            answer = await agent.prompt(f"Find out about {city}").session(context.values["session"]).call()
            return answer.text

        planner = chat.AsyncChatClient(
            model,
            system="You plan trips. Request research on each city, then recommend one.",
            tools=[research],
            advisors=[chat.AsyncSessionMemoryAdvisor(memory, author="planner", branch="planner")],
        )
        answer = await planner.prompt("Lisbon or Oslo?").session(session).call()
        print(f"planner says: {answer.text}\n")
        async for event in memory.events(session):
            print(f"{event.seq:>2}  {event.branch or '-':<15} {event.author or 'user':<21} {_summary(event)}")
        for branch in ("planner", "planner.oslo"):
            seen = (await memory.get_context(session, branch=branch)).events
            print(f"\non branch {branch}: {[event.seq for event in seen]}")


def _summary(event: Any) -> str:
    calls = [part.tool_call for part in event.message.parts if part.HasField("tool_call")]
    results = [part.tool_result for part in event.message.parts if part.HasField("tool_result")]
    if calls:
        return "calls " + ", ".join(f"{call.name}({', '.join(json.loads(call.arguments_json).values())})" for call in calls)
    if results:
        return "gets " + " | ".join(result.parts[0].text for result in results)
    return text_of(event)


if __name__ == "__main__":
    with quiet():
        asyncio.run(main())
