"""The roles of messages."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """The role of a message. Members are equal to their names in lower case."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
