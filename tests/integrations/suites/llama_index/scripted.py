"""A model that follows a script, on the framework's own base of models that call tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM

Step = ChatMessage | str | Callable[[], ChatMessage | str]
"""What the model answers: a message, a text, or what a function returns when the model is called."""


def scripted(*steps: Step) -> tuple[MockFunctionCallingLLM, list[list[ChatMessage]]]:
    """The framework's scripted model, which answers each call with the next step, and the messages of each call."""
    left, requests = list(steps), list[list[ChatMessage]]()

    def answer(messages: Sequence[ChatMessage], **kwargs: Any) -> ChatMessage:
        requests.append(list(messages))
        step = left.pop(0)
        said = step() if callable(step) else step
        return ChatMessage(role="assistant", content=said) if isinstance(said, str) else said

    return MockFunctionCallingLLM(response_generator=answer, is_chat_model=True), requests


def call(name: str, call_id: str = "call_1", **arguments: Any) -> ChatMessage:
    """A message that calls a tool."""
    return ChatMessage(role="assistant", blocks=[ToolCallBlock(tool_call_id=call_id, tool_name=name, tool_kwargs=arguments)])


def said(messages: Sequence[ChatMessage]) -> list[tuple[str, str]]:
    """The roles and texts of messages; a call is its name."""
    found = []
    for message in messages:
        calls = [block.tool_name for block in message.blocks if isinstance(block, ToolCallBlock)]
        found.append((message.role.value, message.content or " ".join(calls)))
    return found
