"""What a run does: its options, the names of its sessions, and the texts of its events."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from ....messages import assistant, user
from ....v1.event_pb2 import SessionEvent
from ....v1.session_pb2 import SessionRef

LABEL = "threadkeep-bench"
"""The label of every session of a run; its value is the run."""
_TEXTS = 512
_WORDS = 2_000


@dataclass(frozen=True, slots=True)
class Plan:
    """The options of a run. Rates are in calls per second, 0 without a limit."""

    run: str
    app: str
    user: str
    sessions: int
    writers: int
    watchers: int
    by_session: bool
    readers: int
    searchers: int
    seconds: float
    rate: float
    batch: int
    event_bytes: int
    seed: int
    settle: float

    @property
    def refs(self) -> list[SessionRef]:
        """The sessions of the run."""
        names = (f"bench-{self.run}-{number:06d}" for number in range(self.sessions))
        return [SessionRef(app=self.app, user_id=self.user, session_id=name) for name in names]

    @property
    def labels(self) -> dict[str, str]:
        """The labels by which the run finds its sessions."""
        return {LABEL: self.run}

    def watched_by(self, session: int) -> int:
        """The number of watchers that follow a session."""
        if not self.by_session:
            return self.watchers
        return self.watchers // self.sessions + (session < self.watchers % self.sessions)


def seeded(seed: object) -> random.Random:
    """Returns a source of chance that is the same for the same seed."""
    return random.Random(str(seed))  # noqa: S311 - load, not secrets


class Texts:
    """Texts of a size, the same for the same seed. Few words are frequent and many are rare, as in a language."""

    def __init__(self, seed: int, size: int) -> None:
        chance = seeded(f"texts {seed}")
        letters = "abcdefghiklmnoprstuvwy"
        words = ["".join(chance.choices(letters, k=chance.randint(2, 9))) for _ in range(_WORDS)]
        weights = [1 / (rank + 1) for rank in range(_WORDS)]
        needed = size // 2 + 1
        self.words = words
        self._texts = [" ".join(chance.choices(words, weights, k=needed))[:size] for _ in range(_TEXTS)]

    def of(self, writer: str) -> Iterator[SessionEvent]:
        """Yields the events of a writer, of the user and of the assistant in turn, each with an id of its own."""
        number = 0
        while True:
            text = self._texts[(number * 31) % _TEXTS]
            make = assistant if number % 2 else user
            yield make(text, event_id=f"{writer}-{number}")
            number += 1
