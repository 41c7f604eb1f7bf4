"""What every layout is read into."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

DAY_NS = 86_400 * 10**9


@dataclass(frozen=True, slots=True)
class Turn:
    """One message. `id` is unique in its conversation; `speaker` is a name, or the role where there is none."""

    id: str
    speaker: str
    role: str
    text: str
    time_ns: int
    calls: str = ""
    results: str = ""
    media: str = ""


@dataclass(frozen=True, slots=True)
class Session:
    """Turns in order. `id` is unique in its conversation; `time_ns` is when it began."""

    id: str
    time_ns: int
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A question and its evidence. `gold_turns` is empty if the set names sessions only. `time_ns`: when it is put."""

    text: str
    type: str
    gold_turns: frozenset[str]
    gold_sessions: frozenset[str]
    time_ns: int


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation in the order of time. `left_out`: why a question of the file is not among the questions, once for each."""

    id: str
    sessions: tuple[Session, ...]
    questions: tuple[Question, ...]
    left_out: tuple[str, ...] = ()

    def turns(self) -> Iterator[tuple[Session, Turn]]:
        return ((session, turn) for session in self.sessions for turn in session.turns)
