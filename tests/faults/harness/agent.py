"""An agent on the kit that sends questions in a session, and first resumes an open turn.

`python -m tests.faults.harness.agent` forks an agent for each line of JSON settings on its input and prints its process id:
importing takes a second, and most agents live for less. An agent exits with 0 when all questions are answered.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
import traceback
from dataclasses import dataclass

import openai.resources.chat  # noqa: F401 - the adapter does it when it is first used

import threadkeep
from tests.support.servers.reconnect import RECONNECT
from threadkeep import chat
from threadkeep.chat import AsyncOpenAIModel
from threadkeep.v1.message_pb2 import ROLE_USER

APP, USER, SESSION = "faults", "agent", "story"
TOOL_SECONDS = 0.01


@dataclass(frozen=True)
class Settings:
    """`journal`: the file in which a tool records each of its runs."""

    address: str
    model_url: str
    journal: str
    questions: int


async def look_up(question: int) -> str:
    """Returns what is known about a question."""
    await asyncio.sleep(random.uniform(0, TOOL_SECONDS))
    return f"fact {question}"


async def live(settings: Settings) -> None:
    """Runs all remaining turns. Calling or streaming, and concurrent or serial tools, are chosen at random."""
    async with threadkeep.AsyncClient(settings.address, app=APP, user_id=USER, timeout=30, options=RECONNECT) as client:
        model = AsyncOpenAIModel("test-model", base_url=settings.model_url, api_key="none")
        manager = chat.AsyncToolCallingManager(concurrent=random.random() < 0.5)
        memory = chat.AsyncSessionMemoryAdvisor(client)
        kit = chat.AsyncChatClient(model, tools=[look_up], advisors=[memory], tool_manager=manager)
        requested = [event async for event in client.events(SESSION) if event.message.role == ROLE_USER]
        if requested:
            if random.random() < 0.5:
                await kit.prompt().session(SESSION).resume()
            else:
                _ = [chunk async for chunk in kit.prompt().session(SESSION).resume_stream()]
        for number in range(len(requested), settings.questions):
            prompt = kit.prompt(f"question {number}").session(SESSION)
            if random.random() < 0.5:
                await prompt.call()
            else:
                _ = [chunk async for chunk in prompt.stream()]


def main() -> None:
    for line in sys.stdin:
        settings = Settings(**json.loads(line))
        child = os.fork()
        if child == 0:
            status = 1
            try:
                with open(settings.journal, "a") as journal:  # noqa: PTH123
                    os.dup2(journal.fileno(), 2)
                random.seed()
                asyncio.run(live(settings))
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        print(child, flush=True)
        # This process is the parent of the agent: it waits for it and prints the exit status.
        _, code = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(code), flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    main()
