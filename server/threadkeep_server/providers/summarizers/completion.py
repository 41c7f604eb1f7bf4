"""The protocol of the providers' adapters."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol

from ...domain.model import Usage


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """One request to a model."""

    system_prompt: str
    prompt: str
    max_tokens: int


class FinishReason(Enum):
    """Why the model stopped."""

    STOP = auto()
    LENGTH = auto()
    REFUSAL = auto()


@dataclass(frozen=True, slots=True)
class Completion:
    """An unchecked response. `usage` and `model` are empty if the endpoint does not report them."""

    text: str
    finish_reason: FinishReason
    usage: Usage
    model: str


class ChatModel(Protocol):
    """A model of a provider."""

    async def complete(self, request: CompletionRequest) -> Completion:
        """Sends one request. Raises ProviderError."""
        ...

    async def aclose(self) -> None: ...


def token_count(value: object) -> int:
    """Returns a token count of a response; 0 for a missing or invalid one."""
    return value if isinstance(value, int) and 0 < value < 1 << 40 else 0


def model_name(value: object) -> str:
    """Returns the model name of a response; empty for a missing or invalid one."""
    return value if isinstance(value, str) and len(value) <= 255 and value.isprintable() else ""
