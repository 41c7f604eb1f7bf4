"""Libraries of the extra `threadkeep[chat]`. `_lazy_imports` imports this module before the rest of the package."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def required(module: str, by: str) -> ModuleType:
    """Imports a module. Raises ImportError with one line that names the extra if the module or one of its dependencies is
    missing."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        lacks = error.name or module
        raise ImportError(f'{by} needs {lacks}, which is not installed: pip install "threadkeep[chat]"', name=lacks) from None


for _name in ("docstring_parser", "jsonschema", "pydantic", "referencing"):
    required(_name, "threadkeep.chat")
