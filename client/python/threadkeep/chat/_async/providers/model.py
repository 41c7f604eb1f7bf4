"""The protocol of models, which the adapters implement."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Protocol, cast, runtime_checkable

from ...types.options import ChatOptions
from ...types.requests import Prompt
from ...types.responses import ChatResponse


@runtime_checkable
class AsyncChatModel(Protocol):
    """One model of one provider. It can be shared by requests.

    The client has already merged a request's options with `default_options`. Both methods raise ModelFailed or ModelTimeout.
    Canceling a call cancels the provider's request.
    """

    @property
    def provider(self) -> str:
        """The provider as in OpenTelemetry's `gen_ai.provider.name`: "openai", "anthropic", "gcp.gemini"."""

    @property
    def default_options(self) -> ChatOptions:
        """The default options; `model` at least."""

    async def call(self, prompt: Prompt) -> ChatResponse:
        """Returns the whole answer."""

    def stream(self, prompt: Prompt) -> AsyncIterator[ChatResponse]:
        """Yields the answer in chunks: new text as it arrives, each tool call whole in one chunk, usage and finish reason when
        known.

        Closing the iterator cancels the request.
        """


Pieces = AsyncGenerator[ChatResponse, None]


def closable(pieces: AsyncIterator[ChatResponse]) -> Pieces:
    """Returns a stream that can be closed: a custom model may return any iterator."""
    if hasattr(pieces, "aclose"):
        return cast("Pieces", pieces)
    return _read(pieces)


async def _read(pieces: AsyncIterator[ChatResponse]) -> Pieces:
    async for piece in pieces:
        yield piece
