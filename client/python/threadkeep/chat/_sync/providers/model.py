# Generated from _async by `make sync-client`. Do not edit.
"""What answers: the protocol that adapters of providers implement."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Protocol, cast, runtime_checkable

from ...types.options import ChatOptions
from ...types.requests import Prompt
from ...types.responses import ChatResponse


@runtime_checkable
class ChatModel(Protocol):
    """One model of one provider. Safe to share between requests.

    A request's options are final when they come here: the client has laid them over `default_options`. Both calls raise
    ModelFailed or ModelTimeout. Cancelling a call ends the request to the provider.
    """

    @property
    def provider(self) -> str:
        """In the words of OpenTelemetry's `gen_ai.provider.name`: "openai", "anthropic", "gcp.gemini"."""

    @property
    def default_options(self) -> ChatOptions:
        """What holds where a request says nothing; `model` at least."""

    def call(self, prompt: Prompt) -> ChatResponse:
        """The whole answer."""

    def stream(self, prompt: Prompt) -> Iterator[ChatResponse]:
        """The answer in chunks: new text as it comes, each tool call whole in one chunk, usage and finish reason when known.

        Closing the iterator ends the request.
        """


Pieces = Generator[ChatResponse, None, None]


def closable(pieces: Iterator[ChatResponse]) -> Pieces:
    """A stream of a model that can be closed: a model of one's own may give any iterator."""
    if hasattr(pieces, "close"):
        return cast("Pieces", pieces)
    return _read(pieces)


def _read(pieces: Iterator[ChatResponse]) -> Pieces:
    for piece in pieces:
        yield piece
