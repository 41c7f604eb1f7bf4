"""The attributes of errors."""

from __future__ import annotations

from typing import Protocol


class _WithMetadata(Protocol):
    metadata: dict[str, str]


class Text:
    """An attribute that is read from the error's metadata; empty when the server did not send it."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._key = name

    def __get__(self, error: _WithMetadata | None, owner: type) -> str:
        return error.metadata.get(self._key, "") if error else ""


class Number(Text):
    """An int attribute; 0 when the server did not send it."""

    def __get__(self, error: _WithMetadata | None, owner: type) -> int:  # type: ignore[override]
        return int(super().__get__(error, owner) or 0)


class Seconds(Text):
    """A float attribute; 0.0 when the server did not send it."""

    def __get__(self, error: _WithMetadata | None, owner: type) -> float:  # type: ignore[override]
        return float(super().__get__(error, owner) or 0)
