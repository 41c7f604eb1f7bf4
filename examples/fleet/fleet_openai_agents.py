"""An agent of the OpenAI Agents SDK: ADDRESS SESSION QUESTION ANSWER.

It prints the session as the items that it reads, calls a tool, and answers; a script replaces the model.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import uuid
from typing import Any

from agents import Agent, RunConfig, Runner, function_tool
from agents.testing import ScriptedModel, assistant_message, function_call

from threadkeep import AsyncClient
from threadkeep.integrations.openai_agents import ThreadkeepSession

APP, USER = "fleet", "ada"
RETRY = {
    "maxAttempts": 5,
    "initialBackoff": "0.1s",
    "maxBackoff": "2s",
    "backoffMultiplier": 2,
    "retryableStatusCodes": ["UNAVAILABLE"],
}
PATIENT = [("grpc.service_config", json.dumps({"methodConfig": [{"name": [{}], "waitForReady": True, "retryPolicy": RETRY}]}))]
"""A call waits for a server that is started again."""


@function_tool
def hotels(city: str) -> str:
    """The hotels of a city."""
    return f"Avenida, 120 euros a night in {city}"


def show(item: Any) -> None:
    """Prints an item: a message, a call, or the output of a call."""
    match item:
        case {"type": "function_call"}:
            print(f"function_call calls {item['name']} {item['arguments']} [{item['call_id']}]")
        case {"type": "function_call_output"}:
            print(f"function_call_output returns {item['output']} [{item['call_id']}]")
        case {"role": role, "content": str(text)}:
            print(f"{role}: {text}")
        case {"role": role, "content": parts}:
            print(f"{role}: {''.join(part['text'] for part in parts)}")


async def main(address: str, session_id: str, question: str, answer: str) -> None:
    """Takes one turn."""
    async with AsyncClient(address, app=APP, user_id=USER, timeout=120, options=PATIENT) as client:
        session = ThreadkeepSession(client, session_id)
        items: list[Any] = list(await session.get_items())
        for item in items:
            show(item)
        read = set(re.findall("«(.+?)»", json.dumps(items, ensure_ascii=False)))
        model = ScriptedModel(
            [
                [function_call("hotels", {"city": "Lisbon"}, call_id=f"call_{uuid.uuid4()}")],
                [assistant_message(f"«{answer}» Answers read: {len(read)}.")],
            ]
        )
        agent = Agent(name="booker", model=model, tools=[hotels])
        await Runner.run(agent, question, session=session, run_config=RunConfig(tracing_disabled=True))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
