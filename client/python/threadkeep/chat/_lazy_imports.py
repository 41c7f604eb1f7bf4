"""Names that are imported on first use, because they need libraries that may not be installed.

The package imports this module first, and with it `_extra`, so that a missing library raises an error that names the extra.
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
    """Returns the object. Raises AttributeError for an unknown name, ImportError for a missing library."""
    if name not in _MODULES:
        raise AttributeError(f"module 'threadkeep.chat' has no attribute {name!r}")
    return getattr(required(f"{__package__}.{_MODULES[name]}", name), name)
