"""An agent of the OpenAI Agents SDK whose session is kept by the server of THREADKEEP_ADDRESS, by default the local one.

It needs no key: the model is a script. Run it twice: the second run continues the conversation of the first.
"""

import asyncio

from agents import Agent, RunConfig, Runner, function_tool
from agents.testing import ScriptedModel, assistant_message, function_call

from threadkeep import AsyncClient
from threadkeep.integrations.openai_agents import ThreadkeepSession


@function_tool
def weather(city: str) -> str:
    """The weather in a city."""
    return f"21 degrees and clear in {city}"


async def main() -> None:
    model = ScriptedModel(
        [
            [function_call("weather", {"city": "Lisbon"}, call_id="call_1")],
            [assistant_message("It is 21 degrees in Lisbon.")],
        ]
    )
    agent = Agent(name="forecaster", model=model, tools=[weather])
    async with AsyncClient(app="forecast", user_id="ada") as client:
        session = ThreadkeepSession(client, "lisbon")
        before = len(await session.get_items())
        result = await Runner.run(
            agent, "How warm is it in Lisbon?", session=session, run_config=RunConfig(tracing_disabled=True)
        )
        print("agent:", result.final_output)
        print("items of this run:", len(await session.get_items()) - before)
        for hit in [hit async for hit in client.search("lisbon", page_size=1)][:1]:
            print("found in session", hit.session.session_id)


if __name__ == "__main__":
    asyncio.run(main())
