"""Names of the kit that are imported when they are first asked for: behind them stand libraries that not everybody has.

The package imports this first, and with it `_extra`: who lacks a library of the kit reads which extra to install.
"""

from __future__ import annotations

from typing import Any

from ._extra import required

_MODULES = {
    "AnthropicModel": "_sync.providers.anthropic_model",
    "AsyncAnthropicModel": "_async.providers.anthropic_model",
    "AsyncGeminiModel": "_async.providers.gemini_model",
    "AsyncOpenAIModel": "_async.providers.openai_model",
    "GeminiModel": "_sync.providers.gemini_model",
    "OpenAIModel": "_sync.providers.openai_model",
}


def loaded(name: str) -> Any:
    """Raises AttributeError for a name that is none, ImportError if the library is missing."""
    if name not in _MODULES:
        raise AttributeError(f"module 'threadkeep.chat' has no attribute {name!r}")
    return getattr(required(f"{__package__}.{_MODULES[name]}", name), name)
