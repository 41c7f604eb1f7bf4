"""An agent of LlamaIndex whose memory is kept by the server of THREADKEEP_ADDRESS, by default the local one.

It needs no key: the model is a script. Run it twice: the second run continues the conversation of the first.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.memory import Memory

from threadkeep import AsyncClient
from threadkeep.integrations.llama_index import ThreadkeepChatStore, ThreadkeepRecallBlock


def answer(messages: Sequence[ChatMessage], **kwargs: Any) -> ChatMessage:
    """In place of a model: calls the tool, then says what it returned."""
    if messages[-1].role.value == "tool":
        return ChatMessage(role="assistant", content=f"It is {messages[-1].content}.")
    call = ToolCallBlock(tool_call_id="call_1", tool_name="weather", tool_kwargs={"city": "Lisbon"})
    return ChatMessage(role="assistant", blocks=[call])


def weather(city: str) -> str:
    """The weather in a city."""
    return f"21 degrees and clear in {city}"


async def main() -> None:
    async with AsyncClient(app="forecast", user_id="ada") as client:
        memory = Memory.from_defaults(
            session_id="lisbon",
            chat_store=ThreadkeepChatStore(client),
            memory_blocks=[ThreadkeepRecallBlock(client)],
            tokenizer_fn=str.split,  # the default one is downloaded
        )
        before = len(await memory.aget_all())
        model = MockFunctionCallingLLM(response_generator=answer, is_chat_model=True)
        agent = FunctionAgent(tools=[weather], llm=model, streaming=False)
        print("agent:", await agent.run("How warm is it in Lisbon?", memory=memory))
        print("messages of this run:", len(await memory.aget_all()) - before)


if __name__ == "__main__":
    asyncio.run(main())
