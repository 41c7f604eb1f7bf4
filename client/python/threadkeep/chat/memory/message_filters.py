"""Filters for the messages that a memory stores: `skip_empty & ~contains_text("secret")`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..types.messages import Message, Role


@dataclass(frozen=True, slots=True)
class MessageFilter:
    """Decides whether a message is stored. Filters combine with `&`, `|` and `~`."""

    accepts: Callable[[Message], bool]

    def __call__(self, message: Message) -> bool:
        return self.accepts(message)

    def __and__(self, other: MessageFilter) -> MessageFilter:
        both = _checked(other)
        return MessageFilter(lambda message: self.accepts(message) and both.accepts(message))

    def __or__(self, other: MessageFilter) -> MessageFilter:
        either = _checked(other)
        return MessageFilter(lambda message: self.accepts(message) or either.accepts(message))

    def __invert__(self) -> MessageFilter:
        return MessageFilter(lambda message: not self.accepts(message))


accept_all = MessageFilter(lambda message: True)
"""Stores everything, including blank answers, which some providers reject in a later request."""

skip_empty = MessageFilter(lambda message: message.role is not Role.ASSISTANT or not message.is_blank)
"""Leaves out empty answers of the model: only white space, no tool call and no media. The default."""


def by_role(*roles: Role) -> MessageFilter:
    """Accepts only messages of these roles. Raises ValueError without a role. Results follow their calls."""
    if not roles:
        raise ValueError("by_role needs at least one role")
    wanted = frozenset(Role(role) for role in roles)
    return MessageFilter(lambda message: message.role in wanted)


def contains_text(keyword: str) -> MessageFilter:
    """Accepts only messages whose text contains the keyword, ignoring case. Raises ValueError for a blank keyword."""
    if not isinstance(keyword, str):
        raise TypeError(f"keyword must be str, not {type(keyword).__name__}")
    if not keyword.strip():
        raise ValueError("keyword must not be blank")
    wanted = keyword.casefold()
    return MessageFilter(lambda message: wanted in message.text.casefold())


def _checked(other: object) -> MessageFilter:
    if not isinstance(other, MessageFilter):
        raise TypeError(f"a filter combines with a filter, not with {type(other).__name__}")
    return other
