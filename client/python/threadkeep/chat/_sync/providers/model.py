# Generated from _async by `make sync-client`. Do not edit.
"""The protocol of models, which the adapters implement."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Protocol, cast, runtime_checkable

from ...types.options import ChatOptions
from ...types.requests import Prompt
from ...types.responses import ChatResponse


@runtime_checkable
class ChatModel(Protocol):
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

    def call(self, prompt: Prompt) -> ChatResponse:
        """Returns the whole answer."""

    def stream(self, prompt: Prompt) -> Iterator[ChatResponse]:
        """Yields the answer in chunks: new text as it arrives, each tool call whole in one chunk, usage and finish reason when
        known.

        Closing the iterator cancels the request.
        """


Pieces = Generator[ChatResponse, None, None]


def closable(pieces: Iterator[ChatResponse]) -> Pieces:
    """Returns a stream that can be closed: a custom model may return any iterator."""
    if hasattr(pieces, "close"):
        return cast("Pieces", pieces)
    return _read(pieces)


def _read(pieces: Iterator[ChatResponse]) -> Pieces:
    for piece in pieces:
        yield piece
