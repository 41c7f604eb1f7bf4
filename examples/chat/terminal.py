"""A chat in the terminal, streamed and stored: `python -m examples.chat.terminal [SESSION]`. An empty line ends it.

Run it with the same session to continue. THREADKEEP_ADDRESS is the server; OPENAI_API_KEY or OPENAI_BASE_URL selects the
model.
"""

from __future__ import annotations

import asyncio
import datetime
import re
import sys
from contextlib import AsyncExitStack, aclosing
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.markdown import Markdown
from tests.chat.reasoning import Thought, turn_of

from threadkeep import AsyncClient, chat

from .stand_in import a_model
from .stopping import quiet

USER = "ada"


def today() -> str:
    """Returns today's date as YYYY-MM-DD."""
    return datetime.datetime.now().astimezone().date().isoformat()


def think(requested: dict[str, Any]) -> Thought:
    """The stand-in: gets the date from a tool, and the user's name from the history."""
    turn = turn_of(requested)
    said = str(turn[0]["content"])
    if turn[-1]["role"] == "tool":
        return f"Today is **{turn[-1]['content']}**."
    if re.search(r"\b(date|today)\b", said):
        return [("today", {})]
    names = [re.search(r"my name is (\w+)", str(message["content"]), re.IGNORECASE) for message in requested["messages"]]
    known = [found.group(1) for found in names if found]
    return f"Of course I remember you, *{known[-1]}*." if known else "I do not know your name yet. What is it?"


async def agent(stack: AsyncExitStack) -> chat.AsyncChatClient:
    memory = await stack.enter_async_context(AsyncClient(app="terminal", user_id=USER))
    model = await stack.enter_async_context(a_model(think))
    return chat.AsyncChatClient(
        model,
        system="Answer in a sentence or two.",
        tools=[today, *await chat.AsyncRecallTools(memory).all()],
        advisors=[chat.AsyncSessionMemoryAdvisor(memory)],
    )


async def answer(client: chat.AsyncChatClient, session: str, said: str) -> None:
    text = ""
    with Live(console=Console(), refresh_per_second=12) as live:
        async with aclosing(client.prompt(said).session(session).stream()) as chunks:
            async for chunk in chunks:
                text += chunk.text
                live.update(Markdown(text))


def main(session: str) -> None:
    # The event loop runs only during a turn, so that Ctrl-C interrupts input().
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        try:
            client = runner.run(agent(stack))
            while said := _line().strip():
                runner.run(answer(client, session, said))
        finally:
            runner.run(stack.aclose())


def _line() -> str:
    try:
        return input("> ")
    except EOFError:
        return ""


if __name__ == "__main__":
    with quiet():
        main(sys.argv[1] if len(sys.argv) > 1 else "terminal")
