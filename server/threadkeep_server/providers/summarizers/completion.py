"""What every vendor's adapter takes and gives."""

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
    """What came back, unchecked. `usage` is empty where the endpoint reports none, and so is `model`."""

    text: str
    finish_reason: FinishReason
    usage: Usage
    model: str


class ChatModel(Protocol):
    """A model of some vendor."""

    async def complete(self, request: CompletionRequest) -> Completion:
        """Asks once. Raises ProviderError."""
        ...

    async def aclose(self) -> None: ...


def token_count(value: object) -> int:
    """A count out of an answer: endpoints that speak a vendor's language leave counts out, or send null."""
    return value if isinstance(value, int) and 0 < value < 1 << 40 else 0


def model_name(value: object) -> str:
    """A model's name out of an answer, if it is one."""
    return value if isinstance(value, str) and len(value) <= 255 and value.isprintable() else ""
