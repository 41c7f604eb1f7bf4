"""Creation of a summarizer from options. A new provider is an adapter like `openai_chat`, named here and in `options`."""

from __future__ import annotations

from collections.abc import Callable

from .base import Summarizer
from .bounded import ModelSummarizer
from .completion import ChatModel
from .options import SummarizerOptions


def open_summarizer(options: SummarizerOptions, count_tokens: Callable[[str], int]) -> Summarizer:
    """Returns a summarizer, not connected yet. Raises ValueError if the provider's library is missing."""
    return ModelSummarizer(_open_model(options), options, count_tokens)


def _open_model(options: SummarizerOptions) -> ChatModel:
    """Imports the provider's library late: it is optional, and its import takes seconds."""
    model, base_url, api_key = options.model, options.base_url, options.api_key
    try:
        if options.provider == "anthropic":
            from .anthropic_messages import AnthropicMessages

            return AnthropicMessages(model=model, base_url=base_url, api_key=api_key)
        from .openai_chat import OpenAIChat

        return OpenAIChat(model=model, base_url=base_url, api_key=api_key)
    except ModuleNotFoundError as exc:
        raise ValueError(
            f"the summarizer {options.provider!r} needs the package {exc.name!r}; install 'threadkeep[summarizer]'"
        ) from exc
