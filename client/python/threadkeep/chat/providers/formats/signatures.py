"""Whose reasoning a message holds: signatures mean something only to the provider that gave them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...types.frozen import frozen, nothing
from ...types.messages import Message, Part, Reasoning

REASONING_OF = "reasoning_of"
"""Of a message's metadata: the provider that signed or encrypted its reasoning."""


def about(parts: Sequence[Part], provider: str) -> Mapping[str, Any]:
    """The metadata of a message with these parts."""
    signed = any(isinstance(part, Reasoning) and (part.signature or part.encrypted) for part in parts)
    return frozen({REASONING_OF: provider}) if signed else nothing()


def is_own(message: Message, provider: str) -> bool:
    """Whether its reasoning may go back to this provider. What does not say whose it is may."""
    return bool(message.metadata.get(REASONING_OF, provider) == provider)
