"""Names of the kit that are imported when they are first asked for: behind them stand libraries that not everybody has."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_MODULES = {
    "AnthropicModel": "_sync.anthropic_model",
    "AsyncAnthropicModel": "_async.anthropic_model",
    "AsyncGeminiModel": "_async.gemini_model",
    "AsyncOpenAIModel": "_async.openai_model",
    "GeminiModel": "_sync.gemini_model",
    "OpenAIModel": "_sync.openai_model",
}


def loaded(name: str) -> Any:
    """Raises AttributeError for a name that is none, ImportError if the library is missing."""
    if name not in _MODULES:
        raise AttributeError(f"module 'threadkeep.chat' has no attribute {name!r}")
    try:
        module = import_module(f".{_MODULES[name]}", __package__)
    except ModuleNotFoundError as error:
        raise ImportError(f"{name} needs {error.name}; install the extra: pip install 'threadkeep[chat]'") from error
    return getattr(module, name)
