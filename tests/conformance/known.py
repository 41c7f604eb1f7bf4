"""Cases that a language cannot pass yet, and why."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.support.runs.toolchains import LANGUAGES

from .engine import ENGINES

FILE = Path(__file__).with_name("known_failures.yaml")


@dataclass(frozen=True)
class KnownFailure:
    """`case` is the case's id; `engine` is empty for both."""

    language: str
    case: str
    reason: str
    engine: str = ""

    def covers(self, language: str, engine: str, case: str) -> bool:
        return (language, case) == (self.language, self.case) and self.engine in ("", engine)


def load(cases: Collection[str], file: Path = FILE) -> list[KnownFailure]:
    """The list. Raises ValueError for a language, engine or case that there is not, or an entry without reason."""
    found = [KnownFailure(**entry) for entry in yaml.safe_load(file.read_text())]
    for each in found:
        if each.language not in LANGUAGES or each.engine not in ("", *ENGINES) or not each.reason:
            raise ValueError(f"{file.name}: {each} names no language or engine, or has no reason")
        if each.case not in cases:
            raise ValueError(f"{file.name}: there is no case {each.case}")
    return found


def reason(known: Sequence[KnownFailure], language: str, engine: str, case: str) -> str | None:
    """Why this is known to fail, if it is."""
    return next((each.reason for each in known if each.covers(language, engine, case)), None)
