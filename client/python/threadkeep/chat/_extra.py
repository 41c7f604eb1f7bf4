"""The libraries of the extra `threadkeep[chat]`. Imported before all else of the package: see `_lazily`."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def required(module: str, by: str) -> ModuleType:
    """The module. Raises ImportError, in one line that names the extra, if it or what it needs is not installed."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        lacks = error.name or module
        raise ImportError(f'{by} needs {lacks}, which is not installed: pip install "threadkeep[chat]"', name=lacks) from None


for _name in ("docstring_parser", "jsonschema", "pydantic", "referencing"):
    required(_name, "threadkeep.chat")
