"""What every vendor's adapter takes, gives and raises."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol

from ..domain.model import Usage


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


class AskFailed(Exception):
    """One attempt failed. `free`: it cost no tokens. `retry_after`: how many seconds the endpoint wants to be left alone."""

    def __init__(self, problem: str, *, retry: bool = False, free: bool = False, retry_after: float = 0.0) -> None:
        super().__init__(problem)
        self.problem = problem
        self.retry = retry
        self.free = free
        self.retry_after = retry_after


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
