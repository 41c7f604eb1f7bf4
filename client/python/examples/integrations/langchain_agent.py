"""An agent of LangChain's `create_agent` whose conversation is kept by Threadkeep.

A rule replaces the model. The server is that of THREADKEEP_ADDRESS, by default the local one.
"""

import asyncio
import uuid
from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain.tools import tool
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from threadkeep import AsyncClient, assistant
from threadkeep.integrations.langchain import ThreadkeepMiddleware


class Rule(BaseChatModel):
    """Calls the tool, and then says what it returned; or says how many messages it was given."""

    @property
    def _llm_type(self) -> str:
        return "rule"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        """The rule knows its tool."""
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        last = messages[-1]
        if isinstance(last, ToolMessage):
            answer = AIMessage(f"It is {last.text}.")
        elif "weather" in last.text:
            answer = AIMessage("", tool_calls=[{"name": "weather", "args": {"city": "Oslo"}, "id": "call_1"}])
        else:
            answer = AIMessage(f"I read {len(messages)} messages.")
        return ChatResult(generations=[ChatGeneration(message=answer)])


@tool
def weather(city: str) -> str:
    """The weather in a city."""
    return f"4 °C in {city}"


async def main() -> None:
    """Two runs of agents that share nothing but the session; between them another agent writes to it."""
    async with AsyncClient(app="examples", user_id="ada") as client:
        session_id = str(uuid.uuid4())
        for question in ("How is the weather in Oslo?", "What did you read?"):
            agent = create_agent(Rule(), [weather], middleware=[ThreadkeepMiddleware(client, session_id)])
            result = await agent.ainvoke({"messages": [{"role": "user", "content": question}]})
            print(result["messages"][-1].text)
            await client.append(session_id, assistant("Rain from six o'clock.", author="planner"))
        async for event in client.events(session_id):
            called = [call.name for call in event.tool_calls] + [result.text for result in event.tool_results]
            print(event.role, event.author or "-", event.text or called)


asyncio.run(main())
