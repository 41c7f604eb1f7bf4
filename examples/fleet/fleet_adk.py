"""An agent of Google's ADK: ADDRESS SESSION QUESTION ANSWER.

It reads the session, calls a tool, and answers; a script replaces the model.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncGenerator

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.genai import types

from threadkeep import AsyncClient
from threadkeep.integrations.adk import ThreadkeepSessionService

APP, USER = "fleet", "ada"


def weather(city: str) -> dict[str, int]:
    """The weather in a city."""
    return {"celsius": 21 if city == "Lisbon" else 4}


class Script(BaseLlm):
    """Calls the weather, then gives its answer and the number of answers that it read."""

    model: str = "script"
    answer: str

    async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> AsyncGenerator[LlmResponse, None]:
        """Generates the next message."""
        parts = [part for content in llm_request.contents for part in content.parts or []]
        if parts[-1].function_response is None:
            part = types.Part(function_call=types.FunctionCall(name="weather", args={"city": "Lisbon"}))
        else:
            read = {found for each in parts for found in re.findall("«(.+?)»", each.text or "")}
            part = types.Part(text=f"«{self.answer}» Answers read: {len(read)}.")
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


async def main(address: str, session: str, question: str, answer: str) -> None:
    """Takes one turn."""
    async with AsyncClient(address) as client:
        sessions = ThreadkeepSessionService(client)
        if await sessions.get_session(app_name=APP, user_id=USER, session_id=session) is None:
            await sessions.create_session(app_name=APP, user_id=USER, session_id=session)
        agent = LlmAgent(name="planner", model=Script(answer=answer), tools=[weather])
        runner = Runner(agent=agent, app_name=APP, session_service=sessions)
        message = types.Content(role="user", parts=[types.Part(text=question)])
        async for _ in runner.run_async(user_id=USER, session_id=session, new_message=message):
            pass


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
