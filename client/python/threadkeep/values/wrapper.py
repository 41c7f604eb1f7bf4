"""The base of all values."""

from __future__ import annotations

from typing import Any, Generic, Self, TypeVar

from google.protobuf.message import Message

M = TypeVar("M", bound=Message)


class Wrapper(Generic[M]):
    """Reads one protobuf message. Attributes that the value does not define are those of the message.

    Two values are equal if their messages are, and a value is equal to its message.
    """

    __slots__ = ("pb",)

    def __init__(self, pb: M) -> None:
        self.pb = pb

    def __getattr__(self, name: str) -> Any:
        if name == "pb" or name.startswith("__"):
            raise AttributeError(name)
        try:
            return getattr(self.pb, name)
        except AttributeError:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}") from None

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Wrapper):
            return bool(self.pb == other.pb)
        return bool(self.pb == other) if isinstance(other, Message) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.pb!r})"

    def __reduce__(self) -> tuple[type[Self], tuple[M]]:
        return type(self), (self.pb,)
