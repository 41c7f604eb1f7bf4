"""An agent of pydantic-ai whose conversations are kept by the server of THREADKEEP_ADDRESS, by default the local one.

It needs no key: the model is a script. The agent waits for approval in one process and books in another; then the conversation
is branched, and forked.
"""

from __future__ import annotations

import asyncio

from pydantic_ai import Agent, Conversation
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.tools import DeferredToolRequests

from threadkeep import AsyncClient, new_event_id
from threadkeep.integrations.pydantic_ai import ThreadkeepConversationStore


def script(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Calls the tool, and says what the tool returned."""
    last = messages[-1].parts[-1]
    if isinstance(last, ToolReturnPart):
        return ModelResponse(parts=[TextPart(f"Done: {last.content}.")])
    return ModelResponse(parts=[ToolCallPart("book", {"city": "Lisbon"})])


agent = Agent(FunctionModel(script), output_type=[str, DeferredToolRequests])


@agent.tool_plain(requires_approval=True)
def book(city: str) -> str:
    """Books a hotel."""
    return f"a hotel in {city} is booked"


async def main() -> None:
    trip = f"trip-{new_event_id()}"  # a new conversation, so that every run prints the same
    async with AsyncClient(app="travel", user_id="ada") as client:
        store = ThreadkeepConversationStore(client)
        await store.save(await agent.run("Book a hotel.", conversation=Conversation(conversation_id=trip)))

        conversation = await ThreadkeepConversationStore(client).load(trip)  # in another process
        if conversation is None or conversation.deferred_tool_requests is None:
            raise SystemExit("the conversation does not wait for approval")
        requests = conversation.deferred_tool_requests
        print("waits for:", requests.approvals[0].tool_name)
        approved = requests.build_results(approve_all=True)
        result = await agent.run(conversation=conversation, deferred_tool_results=approved)
        await store.save(result)
        print("agent:", result.output)

        entries = await store.load_entries(trip) or []
        fork = await store.fork(trip, at=1)
        await store.branch(trip, at=1, expected_revision=result.conversation.revision)
        print("entries:", len(entries), "of the fork:", len(fork.messages))
        print("in the window:", [event.text async for event in client.events(trip) if not event.archived])


if __name__ == "__main__":
    asyncio.run(main())
