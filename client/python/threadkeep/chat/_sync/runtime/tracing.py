# Generated from _async by `make sync-client`. Do not edit.
"""Spans around requests and model calls, whole and in chunks."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing

from ...telemetry.choice import Telemetry
from ...types.options import ChatOptions
from ...types.requests import ChatClientRequest, ChatClientResponse, Prompt
from ...types.responses import ChatResponse
from ..providers.model import ChatModel, closable
from .chain import AdvisorChain

Chunks = Generator[ChatClientResponse, None, None]


class TracedModel:
    """A model whose calls are spans "chat {model}". `conversation`: the session id for the spans."""

    __slots__ = ("_conversation", "_model", "_telemetry")

    def __init__(self, model: ChatModel, telemetry: Telemetry, conversation: str = "") -> None:
        self._model = model
        self._telemetry = telemetry
        self._conversation = conversation

    @property
    def provider(self) -> str:
        return self._model.provider

    @property
    def default_options(self) -> ChatOptions:
        return self._model.default_options

    def call(self, prompt: Prompt) -> ChatResponse:
        with self._telemetry.chat_span(self._model.provider, prompt, conversation=self._conversation) as span:
            with span.current():
                response = self._model.call(prompt)
            span.answered(response)
            return response

    def stream(self, prompt: Prompt) -> Iterator[ChatResponse]:
        with self._telemetry.chat_span(self._model.provider, prompt, conversation=self._conversation, streams=True) as span:
            try:
                with closing(closable(self._model.stream(prompt))) as pieces:
                    while True:
                        with span.current():
                            piece = next(pieces, None)
                        if piece is None:
                            break
                        span.add(piece)
                        yield piece
            finally:
                span.finish()


def traced_call(
    telemetry: Telemetry, name: str, conversation: str, chain: AdvisorChain, request: ChatClientRequest
) -> ChatClientResponse:
    """Returns the chain's response, in a span "invoke_agent {name}"."""
    with telemetry.agent_span(name, chain.model.provider, request.options, conversation) as span:
        with span.current():
            response = chain.next_call(request)
        span.add(response)
        return response


def traced_stream(
    telemetry: Telemetry, name: str, conversation: str, chain: AdvisorChain, request: ChatClientRequest
) -> Chunks:
    """Yields the chain's response in chunks. The span is current in each step, not in the reader's work between two steps."""
    with telemetry.agent_span(name, chain.model.provider, request.options, conversation) as span:
        with closing(chain.next_stream(request)) as chunks:
            while True:
                with span.current():
                    chunk = next(chunks, None)
                if chunk is None:
                    break
                span.add(chunk)
                yield chunk
