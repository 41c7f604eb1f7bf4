"""What searches of events and of memories have in common."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..domain.errors import InvalidField
from ..domain.recall import Field, Span, Texts

MOST_HIGHLIGHTS = 64
MOST_WEIGHT = 100.0

TextsOf = Callable[[bytes], Texts]
"""The searchable texts of a message's stored bytes, not folded."""


@dataclass(frozen=True, slots=True)
class Recency:
    """Lifts what is newer: a score is multiplied by 1 + weight * 2^(-age / half_life_ns). Raises InvalidField unless half_life_ns
    is above zero and weight between 0 and 100."""

    half_life_ns: int
    weight: float = 1.0

    def __post_init__(self) -> None:
        if self.half_life_ns <= 0:
            raise InvalidField("recency.half_life", "must be above zero")
        if not (math.isfinite(self.weight) and 0 <= self.weight <= MOST_WEIGHT):
            raise InvalidField("recency.weight", f"must be between 0 and {MOST_WEIGHT:g}")


class Highlight(NamedTuple):
    """Where in which field's text the query was found."""

    field: Field
    span: Span


Highlights = Sequence[Highlight]


def check_min_score(value: float | None) -> None:
    """Raises InvalidField for what no cosine can be."""
    if value is not None and not -1 <= value <= 1:
        raise InvalidField("min_score", "must be between -1 and 1")
