"""How much an answer has to do with its question, from 0 to 1: what callers see as a score, and set a floor for.

The order of an answer is not by relevance: it is by the ranking, which knows more. Relevance is what compares across questions.
- by words: the share of the question's words, the rare ones counting more, that a document holds (`ranking.rank`);
- by meaning: the cosine, on a scale that is the embedder's own. Two texts that have nothing in common have a cosine of 0.1 with
  one model and of 0.6 with the next, so unrelated texts are embedded once, and where their cosines end is UNRELATED.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...domain.search import Scored

UNRELATED = 0.1
"""Where the best of an answer is below it, the question has nothing to do with what is there."""

_OF_THE_BEST = 0.02
# Cosines of unrelated texts hardly reach so many standard deviations above their mean.
_DEVIATIONS = 2.75
_MOST_BORDER = 0.98

QUESTIONS = (
    "What is the name of my dentist?",
    "How long does the ferry to the island take?",
    "When did we repaint the kitchen?",
    "Which book did you recommend to Carla?",
    "Where can I renew my passport?",
    "Do I have to pay for the parking space?",
    "Who is going to water the plants?",
    "Why was the concert canceled?",
)
TEXTS = (
    "The recipe calls for two eggs and a cup of flour.",
    "I sold my old bicycle to a colleague last week.",
    "The server was restarted after the update.",
    "My sister is studying law in Madrid.",
    "We saw a heron by the river this morning.",
    "The invoice is due at the end of the month.",
    "He prefers tea without sugar.",
    "It will snow in the mountains tomorrow.",
)
"""No question is about any of the texts."""


class CosineScale(NamedTuple):
    """An embedder's cosines of unrelated texts: their mean, and where they end."""

    mean: float
    border: float

    def relevance(self, cosine: float) -> float:
        return float(np.interp(cosine, (self.mean, self.border, 1.0), (0.0, UNRELATED, 1.0)))

    def certainty(self, usual: float | None) -> float:
        """Returns how well the model separates the documents of a scope, from 0 to 1. `usual`: the cosine of a question and
        most of them. They are unrelated to it; a model that does not know their language takes all of them for related. None:
        unknown, 1."""
        return 1.0 if usual is None else float(np.interp(usual, (self.mean, self.border), (1.0, 0.0))) ** 0.5


def cosine_scale(questions: NDArray[np.float32], texts: NDArray[np.float32]) -> CosineScale:
    """Of the embeddings of QUESTIONS and TEXTS."""
    cosines = (questions @ texts.T).astype(np.float64)
    mean = min(float(cosines.mean()), _MOST_BORDER - 0.01)
    return CosineScale(mean, min(max(mean + _DEVIATIONS * float(cosines.std()), mean + 0.01), _MOST_BORDER))


def answering(scored: Sequence[Scored], min_score: float | None) -> list[Scored]:
    """Those that reach the floor, in their order. None: nothing where the best is below UNRELATED, and otherwise what is at
    least a fiftieth as relevant as the best."""
    if min_score is None:
        best = max((each.relevance for each in scored), default=0.0)
        if best < UNRELATED:
            return []
        min_score = best * _OF_THE_BEST
    return [each for each in scored if each.relevance >= min_score]
