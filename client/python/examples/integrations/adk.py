"""An agent of Google's ADK whose sessions and memory are kept by the server of THREADKEEP_ADDRESS, by default the local one.

It needs no key: the model is a script. Each run of the program is a new session, and knows what the user said in earlier ones.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from threadkeep import AsyncClient
from threadkeep.integrations.adk import ThreadkeepMemoryService, ThreadkeepSessionService

APP, USER = "travel", "ada"


class Script(BaseLlm):
    """Calls the tool for a question, and says what the tool returned."""

    model: str = "script"

    async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> AsyncGenerator[LlmResponse, None]:
        """Answers."""
        last = (llm_request.contents[-1].parts or [])[-1]
        if last.function_response is not None:
            answer = types.Part(text=f"It is {(last.function_response.response or {})['celsius']} degrees.")
        else:
            answer = types.Part(function_call=types.FunctionCall(name="weather", args={"city": "Lisbon"}))
        yield LlmResponse(content=types.Content(role="model", parts=[answer]))


def weather(city: str, tool_context: ToolContext) -> dict[str, int]:
    """The weather in a city."""
    tool_context.state["user:questions"] = tool_context.state.get("user:questions", 0) + 1
    return {"celsius": 21}


async def main() -> None:
    async with AsyncClient() as client:
        sessions, memory = ThreadkeepSessionService(client), ThreadkeepMemoryService(client)
        agent = LlmAgent(name="forecaster", model=Script(), tools=[weather])
        runner = Runner(agent=agent, app_name=APP, session_service=sessions, memory_service=memory)
        session = await sessions.create_session(app_name=APP, user_id=USER)
        question = types.Content(role="user", parts=[types.Part(text="How warm is it in Lisbon?")])
        async for event in runner.run_async(user_id=USER, session_id=session.id, new_message=question):
            if event.is_final_response() and event.content and event.content.parts:
                print("agent:", event.content.parts[0].text)
        await memory.add_session_to_memory(session)
        if stored := await sessions.get_session(app_name=APP, user_id=USER, session_id=session.id):
            print("events of this session:", len(stored.events))
            print("questions of this user:", stored.state["user:questions"])
        found = await memory.search_memory(app_name=APP, user_id=USER, query="Lisbon")
        print("remembered:", len(found.memories))


if __name__ == "__main__":
    asyncio.run(main())
