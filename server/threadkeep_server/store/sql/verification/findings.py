"""Findings of a verification, and its progress."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

MOST_KEPT: Final = 1000
"""Findings that are kept with their texts; further ones are counted."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A contradiction. `kind`: a word for programs; `subject`: the session or the row; `problem` contains no stored text."""

    kind: str
    subject: str
    problem: str


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a verification is. `part`: what it reads; `done` of `total` rows of it, a `total` of 0 is unknown."""

    part: str
    sessions: int = 0
    events: int = 0
    done: int = 0
    total: int = 0


Report = Callable[[Progress], None]


def of_part(report: Report, part: str) -> Callable[[int, int], None]:
    """Returns what reports how much of a part is done, and the whole of it."""
    return lambda done, total: report(Progress(part, done=done, total=total))


@dataclass(slots=True)
class Findings:
    """Collects findings. `counts` has all of them by kind."""

    kept: list[Finding] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, kind: str, subject: str, problem: str) -> None:
        self.counts[kind] += 1
        if len(self.kept) < MOST_KEPT:
            self.kept.append(Finding(kind, subject, problem))

    @property
    def total(self) -> int:
        return self.counts.total()


@dataclass(frozen=True, slots=True)
class Content:
    """What a database contains. `digest`: SHA-256 of every session with its events, in hexadecimal digits; two databases with
    the same one have the same logs."""

    sessions: int
    events: int
    bytes: int
    digest: str


@dataclass(frozen=True, slots=True)
class Verified:
    """The result. `unread`: encrypted values whose key is not given; they were checked as far as that is possible without.
    `content`: None if the logs cannot be read."""

    content: Content | None
    findings: Findings
    schema_version: int = 0
    unread: int = 0
