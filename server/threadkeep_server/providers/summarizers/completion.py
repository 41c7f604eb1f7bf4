"""What every vendor's adapter takes and gives."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol

from ...domain.model import Usage


@dataclass(frozen=True, slots=True)
class Question:
    """One request to a model."""

    system_prompt: str
    prompt: str
    max_tokens: int


class Ending(Enum):
    """Why the model stopped."""

    COMPLETE = auto()
    CUT_OFF = auto()
    DECLINED = auto()


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, unchecked. `usage` is empty where the endpoint reports none, and so is `model`."""

    text: str
    ending: Ending
    usage: Usage
    model: str


class ChatModel(Protocol):
    """A model of some vendor."""

    async def ask(self, question: Question) -> Answer:
        """Asks once. Raises AskFailed."""
        ...

    async def aclose(self) -> None: ...


def token_count(value: object) -> int:
    """A count out of an answer: endpoints that speak a vendor's language leave counts out, or send null."""
    return value if isinstance(value, int) and 0 < value < 1 << 40 else 0


def model_name(value: object) -> str:
    """A model's name out of an answer, if it is one."""
    return value if isinstance(value, str) and len(value) <= 255 and value.isprintable() else ""
