"""Spans around requests and model calls, whole and in chunks."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from ...telemetry.choice import Telemetry
from ...types.options import ChatOptions
from ...types.requests import ChatClientRequest, ChatClientResponse, Prompt
from ...types.responses import ChatResponse
from ..providers.model import AsyncChatModel, closable
from .chain import AsyncAdvisorChain

Chunks = AsyncGenerator[ChatClientResponse, None]


class AsyncTracedModel:
    """A model whose calls are spans "chat {model}". `conversation`: the session id for the spans."""

    __slots__ = ("_conversation", "_model", "_telemetry")

    def __init__(self, model: AsyncChatModel, telemetry: Telemetry, conversation: str = "") -> None:
        self._model = model
        self._telemetry = telemetry
        self._conversation = conversation

    @property
    def provider(self) -> str:
        return self._model.provider

    @property
    def default_options(self) -> ChatOptions:
        return self._model.default_options

    async def call(self, prompt: Prompt) -> ChatResponse:
        with self._telemetry.chat_span(self._model.provider, prompt, conversation=self._conversation) as span:
            with span.current():
                response = await self._model.call(prompt)
            span.answered(response)
            return response

    async def stream(self, prompt: Prompt) -> AsyncIterator[ChatResponse]:
        with self._telemetry.chat_span(self._model.provider, prompt, conversation=self._conversation, streams=True) as span:
            try:
                async with aclosing(closable(self._model.stream(prompt))) as pieces:
                    while True:
                        with span.current():
                            piece = await anext(pieces, None)
                        if piece is None:
                            break
                        span.add(piece)
                        yield piece
            finally:
                span.finish()


async def traced_call(
    telemetry: Telemetry, name: str, conversation: str, chain: AsyncAdvisorChain, request: ChatClientRequest
) -> ChatClientResponse:
    """Returns the chain's response, in a span "invoke_agent {name}"."""
    with telemetry.agent_span(name, chain.model.provider, request.options, conversation) as span:
        with span.current():
            response = await chain.next_call(request)
        span.add(response)
        return response


async def traced_stream(
    telemetry: Telemetry, name: str, conversation: str, chain: AsyncAdvisorChain, request: ChatClientRequest
) -> Chunks:
    """Yields the chain's response in chunks. The span is current in each step, not in the reader's work between two steps."""
    with telemetry.agent_span(name, chain.model.provider, request.options, conversation) as span:
        async with aclosing(chain.next_stream(request)) as chunks:
            while True:
                with span.current():
                    chunk = await anext(chunks, None)
                if chunk is None:
                    break
                span.add(chunk)
                yield chunk
