"""Conversation files: what `threadkeep import` reads and `threadkeep export` writes. See docs/import-export.md."""

from .conversations import ReadOptions
from .items import EventItem, Item, Malformed, Origin, SessionStart, StateItem, WindowChange, WindowItem
from .reading import FORMATS, FileReader, UnknownFormat

__all__ = [
    "FORMATS",
    "EventItem",
    "FileReader",
    "Item",
    "Malformed",
    "Origin",
    "ReadOptions",
    "SessionStart",
    "StateItem",
    "UnknownFormat",
    "WindowChange",
    "WindowItem",
]
