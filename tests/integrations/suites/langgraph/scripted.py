"""A model that answers by a script, and the tools that it calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

Answer = Callable[[Sequence[BaseMessage]], AIMessage]


class ScriptedModel(BaseChatModel):
    """A chat model that answers what a function of the messages returns. `calls`: the messages of each call."""

    answer: Answer
    calls: list[list[BaseMessage]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        """The model itself: the script knows the tools."""
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self.calls.append(messages)
        return ChatResult(generations=[ChatGeneration(message=self.answer(messages))])


def weather_script(messages: Sequence[BaseMessage]) -> AIMessage:
    """Calls the tool `weather` once for each user message, then answers with its result."""
    last = messages[-1]
    usage: Any = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    if last.type == "tool":
        return AIMessage(f"It is {last.text}.", usage_metadata=usage)
    number = sum(message.type == "human" for message in messages)
    call: Any = {"name": "weather", "args": {"city": "Oslo"}, "id": f"call_{number}"}
    return AIMessage("Let me look.", tool_calls=[call], usage_metadata=usage)
