"""An agent and a workflow of Microsoft's Agent Framework, kept by the server of THREADKEEP_ADDRESS, by default the local one.

It needs no key: the model is a script. Run it twice: the second run continues the conversation of the first.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    Message,
    WorkflowBuilder,
    WorkflowContext,
    executor,
)

from threadkeep import AsyncClient
from threadkeep.integrations.agent_framework import ThreadkeepCheckpointStorage, ThreadkeepHistoryProvider


class Scripted(FunctionInvocationLayer[Any], BaseChatClient[Any]):
    """In place of a model: calls the tool, then says what it returned."""

    async def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> ChatResponse:
        last = messages[-1].contents[-1]
        if last.type == "function_result":
            return ChatResponse(messages=Message("assistant", [f"It is {last.result}."]))
        call = Content.from_function_call("call_1", "weather", arguments={"city": "Lisbon"})
        return ChatResponse(messages=Message("assistant", [call]))


def weather(city: str) -> str:
    """The weather in a city."""
    return f"21 degrees and clear in {city}"


@executor(id="shout")
async def shout(text: str, ctx: WorkflowContext[str]) -> None:
    await ctx.send_message(text.upper())


@executor(id="end")
async def end(text: str, ctx: WorkflowContext[Any, str]) -> None:
    await ctx.yield_output(text)


async def main() -> None:
    async with AsyncClient(app="forecasts", user_id="ada") as client:
        history = ThreadkeepHistoryProvider(client)
        agent = Agent(client=Scripted(), name="forecaster", tools=[weather], context_providers=[history])
        before = len(await history.get_messages("lisbon"))
        response = await agent.run("How warm is it in Lisbon?", session=AgentSession(session_id="lisbon"))
        print("agent:", response.text)
        print("messages of this run:", len(await history.get_messages("lisbon")) - before)

        storage = ThreadkeepCheckpointStorage(client)
        workflow = WorkflowBuilder(name="shout", start_executor=shout, checkpoint_storage=storage).add_edge(shout, end).build()
        print("workflow:", (await workflow.run("hello")).get_outputs())
        latest = await storage.get_latest(workflow_name="shout")
        print("checkpoint of superstep", latest and latest.iteration_count)


if __name__ == "__main__":
    asyncio.run(main())
