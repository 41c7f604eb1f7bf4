"""Reads a set of conversations of any known layout from a file or a directory. Nothing is downloaded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from . import beam, house, locomo, longmemeval
from .model import Conversation
from .reading import BadFile, read_json

Reader = Callable[[Path, Any], Iterator[Conversation]]

_LAYOUTS: dict[str, tuple[Callable[[Any], bool], Reader]] = {
    "own": (house.matches, house.read),
    "locomo": (locomo.matches, locomo.read),
    "longmemeval": (longmemeval.matches, longmemeval.read),
    "beam": (beam.matches, beam.read),
}

LAYOUTS = tuple(_LAYOUTS)

OWN = Path(__file__).parent / "own"
"""The set that was written for this repository."""


def load(path: Path, layout: str | None = None) -> Iterator[Conversation]:
    """The conversations of a file, or of the JSON files of a directory, in the order of their names. The layout is detected
    from the content unless it is given. Raises BadFile if there are no conversations, or if they do not have that layout."""
    if layout is not None and layout not in _LAYOUTS:
        raise BadFile(path, f"expected a layout of {', '.join(LAYOUTS)}, not {layout!r}")
    if not path.exists():
        raise BadFile(path, "expected a file or a directory, found neither")
    if path.is_file():
        return _load_file(path, layout)
    if layout in (None, "beam") and (chats := beam.chats(path)):
        return (beam.read_chat(chat) for chat in chats)
    files = sorted(path.glob("*.json"))
    if not files:
        raise BadFile(path, "expected JSON files, or directories with a chat.json and its probing_questions, found none")
    return (conversation for file in files for conversation in _load_file(file, layout))


def _load_file(path: Path, layout: str | None) -> Iterator[Conversation]:
    if path.name == "chat.json" and layout in (None, "beam"):
        yield beam.read_chat(path)
        return
    data = read_json(path)
    for name, (matches, read) in _LAYOUTS.items():
        if (layout is None or name == layout) and matches(data):
            yield from read(path, data)
            return
    raise BadFile(path, f"expected the layout of {layout or ', '.join(LAYOUTS)}, found {_sketch(data)}")


def _sketch(data: Any) -> str:
    if isinstance(data, list):
        return f"a list of {len(data)}" + (f", of {_sketch(data[0])} first" if data else "")
    if isinstance(data, dict):
        return f"an object with {', '.join(map(repr, sorted(data)[:12]))}"
    return type(data).__name__
