"""An agent with its history in a session: it reads the context, thinks and appends until there is an answer; a subscription
follows it.

A rule replaces the model. The server is that of THREADKEEP_ADDRESS, by default the local one.
"""

import asyncio
import sys
from collections.abc import Sequence

from threadkeep import (
    AsyncClient,
    LogVersion,
    SessionEvent,
    assistant,
    errors,
    new_event_id,
    text_of,
    tool_call,
    tool_result,
    user,
)


def think(context: Sequence[SessionEvent]) -> list[SessionEvent]:
    """What a model would say to this context, and what the tools that it calls answer."""
    part = context[-1].message.parts[0]
    if part.HasField("tool_result"):
        return [assistant(f"It is {part.tool_result.parts[0].text} in Lisbon.")]
    call = tool_call("c1", "temperature", {"city": "Lisbon"})
    return [assistant(tool_calls=[call]), tool_result("c1", "21 degrees", name="temperature")]


async def answer(memory: AsyncClient, session: str, question: str) -> None:
    """Has the agent answer what the user says."""
    await memory.append(session, user(question), create_if_missing=True)
    answered = False
    while not answered:
        seen = await memory.get_context(session)
        said = think(seen.events)
        try:
            # Nobody else may have written since the context was read: else the agent would answer what it did not see.
            await memory.append(session, *said, expect=LogVersion(seen.log_version))
        except errors.VersionMismatch:
            continue
        answered = bool(text_of(said[0]))


async def follow(memory: AsyncClient, session: str) -> None:
    """Prints what is said, until the answer."""
    async for change in memory.watch(session, from_beginning=True):
        for event in change.batch.events:
            print(event.seq, describe(event))
            if event.seq > 1 and text_of(event):
                return


def describe(event: SessionEvent) -> str:
    part = event.message.parts[0]
    if part.HasField("tool_call"):
        return f"calls {part.tool_call.name} {part.tool_call.arguments_json}"
    if part.HasField("tool_result"):
        return f"result {part.tool_result.parts[0].text}"
    return text_of(event)


async def main() -> None:
    async with AsyncClient(app="travel", user_id="alice") as memory:
        session = f"agent-{new_event_id()}"
        await asyncio.gather(answer(memory, session, "How warm is it in Lisbon?"), follow(memory, session))


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        sys.exit(130)
