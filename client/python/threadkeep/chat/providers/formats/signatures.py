"""The provider of a message's reasoning: signatures are valid only for the provider that created them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...types.frozen import frozen, nothing
from ...types.messages import Message, Part, Reasoning

REASONING_OF = "reasoning_of"
"""Metadata key of a message: the provider that signed or encrypted its reasoning."""


def about(parts: Sequence[Part], provider: str) -> Mapping[str, Any]:
    """Returns the metadata of a message with these parts."""
    signed = any(isinstance(part, Reasoning) and (part.signature or part.encrypted) for part in parts)
    return frozen({REASONING_OF: provider}) if signed else nothing()


def is_own(message: Message, provider: str) -> bool:
    """Returns whether the reasoning may be sent to this provider; it may if no provider is recorded."""
    return bool(message.metadata.get(REASONING_OF, provider) == provider)
