"""An agent of Strands whose session and memory are kept by the server of THREADKEEP_ADDRESS, by default the local one.

It needs no key: the model is a script. The agent books in one process and knows it in another.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterable
from typing import Any

from strands import Agent, tool
from strands.models.model import Model
from strands.session import SnapshotSessionManager
from strands.types.content import Messages
from strands.types.streaming import StreamEvent

from threadkeep import Client, new_event_id
from threadkeep.integrations.strands import ThreadkeepMemoryStore, ThreadkeepSessionManager, ThreadkeepStorage


class Script(Model):
    """Calls the tool for a prompt, and says what the tool returned."""

    def update_config(self, **model_config: Any) -> None:
        """Nothing is configured."""

    def get_config(self) -> dict[str, Any]:
        """Nothing is configured."""
        return {}

    def structured_output(self, *_args: Any, **_kwargs: Any) -> AsyncGenerator[dict[str, Any], None]:
        """Not needed here."""
        raise NotImplementedError

    async def stream(self, messages: Messages, *_args: Any, **_kwargs: Any) -> AsyncIterable[StreamEvent]:
        """The answer, as a provider streams it."""
        last = messages[-1]["content"][-1]
        yield {"messageStart": {"role": "assistant"}}
        if "toolResult" in last:
            yield {"contentBlockDelta": {"delta": {"text": last["toolResult"]["content"][0]["text"]}}}
        else:
            yield {"contentBlockStart": {"start": {"toolUse": {"name": "book", "toolUseId": new_event_id()}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps({"city": "Lisbon"})}}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if "toolResult" in last else "tool_use"}}


@tool
def book(city: str) -> str:
    """Books a hotel."""
    return f"A hotel in {city} is booked."


async def remember(client: Client, fact: str) -> str:
    """Adds a fact, and returns what is found."""
    memory = ThreadkeepMemoryStore(client)
    await memory.add(fact)
    return (await memory.search("hotel"))[0].content


def main() -> None:
    trip = f"trip-{new_event_id()}"  # a new session, so that every run prints the same
    with Client(app="travel", user_id="ada") as client:
        first = Agent(Script(), tools=[book], session_manager=ThreadkeepSessionManager(trip, client), callback_handler=None)
        print("agent:", str(first("Book a hotel.")).strip())
        again = Agent(Script(), tools=[book], session_manager=ThreadkeepSessionManager(trip, client), callback_handler=None)
        print("messages in another process:", len(again.messages))
        print("events:", [str(event.role) for event in client.events(trip)])

        snapshots = SnapshotSessionManager(trip, storage=ThreadkeepStorage(client))
        Agent(Script(), tools=[book], session_manager=snapshots, callback_handler=None)("Book a hotel.")
        print("snapshots:", [key.rpartition("/")[2] for key in asyncio.run(ThreadkeepStorage(client).list(f"session/{trip}"))])
        print("remembered:", asyncio.run(remember(client, "The hotel in Lisbon is booked.")))


if __name__ == "__main__":
    main()
