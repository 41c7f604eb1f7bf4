"""Recall at k: how much of a question's evidence is among the first k hits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .model import Conversation, Question

ALL = "all"


class Key(NamedTuple):
    """A figure: of "turns" or "sessions" among the first `k` hits, with `neighbors` turns on each side of each hit."""

    of: str
    k: int
    neighbors: int


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and the ids of the turns that were found for it, best first."""

    question: Question
    hits: Sequence[str]


class Places:
    """The places of the turns in a conversation."""

    def __init__(self, conversation: Conversation) -> None:
        self.session = {turn.id: session.id for session, turn in conversation.turns()}
        self._line = {session.id: [turn.id for turn in session.turns] for session in conversation.sessions}
        self._index = {turn: index for line in self._line.values() for index, turn in enumerate(line)}

    def around(self, turn: str, neighbors: int) -> list[str]:
        """The turn and its neighbors on each side, in its session."""
        line, index = self._line[self.session[turn]], self._index[turn]
        return line[max(index - neighbors, 0) : index + neighbors + 1]


def turn_recall(requested: Asked, places: Places, k: int, neighbors: int = 0) -> float | None:
    """The share of the gold turns among the first k hits and their neighbors; None if the question has no gold turns."""
    gold = requested.question.gold_turns
    if not gold:
        return None
    shown = {turn for hit in requested.hits[:k] for turn in places.around(hit, neighbors)}
    return len(gold & shown) / len(gold)


def session_recall(requested: Asked, places: Places, k: int) -> float | None:
    """The share of the gold sessions with one of the first k hits; None if the question has none."""
    gold = requested.question.gold_sessions
    if not gold:
        return None
    return len(gold & {places.session[hit] for hit in requested.hits[:k]}) / len(gold)


def measure(
    answered: Iterable[tuple[Asked, Places]], ks: Sequence[int] = (5, 10, 20), neighbors: Sequence[int] = (0, 1)
) -> dict[str, dict[Key, float]]:
    """The mean over questions, by their type and for ALL. A question without gold of a kind does not count for that kind."""
    figures: dict[str, dict[Key, list[float]]] = defaultdict(lambda: defaultdict(list))
    for requested, places in answered:
        for k in ks:
            recalls = {Key("turns", k, n): turn_recall(requested, places, k, n) for n in neighbors}
            recalls[Key("sessions", k, 0)] = session_recall(requested, places, k)
            for key, figure in recalls.items():
                if figure is not None:
                    figures[requested.question.type][key].append(figure)
                    figures[ALL][key].append(figure)
    return {kind: {key: sum(several) / len(several) for key, several in by.items()} for kind, by in figures.items()}


def counts(answered: Iterable[tuple[Asked, Places]]) -> Mapping[str, int]:
    """How many questions there are, by type and for ALL."""
    found: dict[str, int] = defaultdict(int)
    for requested, _ in answered:
        found[requested.question.type] += 1
        found[ALL] += 1
    return found
