"""The outcomes of a run, which each of its processes stores in a file for the matrix, and the list of known failures."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.support.runs.toolchains import LANGUAGES

from .drivers import ROOT
from .engine import SERVERS

FOLDER = ROOT / "build" / "conformance-results"
KNOWN_FAILURES = Path(__file__).with_name("known_failures.yaml")
Outcomes = Mapping[str, Mapping[str, Mapping[str, str]]]
"""By language, engine and case id: passed, failed, or known (a known failure that failed)."""


@dataclass(frozen=True)
class KnownFailure:
    """A case that a language cannot pass yet. `case` is its id; `engine` is empty for both engines."""

    language: str
    case: str
    reason: str
    engine: str = ""

    def covers(self, language: str, engine: str, case: str) -> bool:
        return (language, case) == (self.language, self.case) and self.engine in ("", engine)


def load_known_failures(cases: Collection[str], file: Path = KNOWN_FAILURES) -> list[KnownFailure]:
    """Returns the list. Raises ValueError for an unknown language, engine or case, or an entry without a reason."""
    found = [KnownFailure(**entry) for entry in yaml.safe_load(file.read_text())]
    for each in found:
        if each.language not in LANGUAGES or each.engine not in ("", *SERVERS) or not each.reason:
            raise ValueError(f"{file.name}: {each} has an unknown language or engine, or no reason")
        if each.case not in cases:
            raise ValueError(f"{file.name}: case {each.case} does not exist")
    return found


def known_reason(known: Sequence[KnownFailure], language: str, engine: str, case: str) -> str | None:
    """Returns the reason of a known failure, or None."""
    return next((each.reason for each in known if each.covers(language, engine, case)), None)


class Results:
    """Collects outcomes."""

    def __init__(self) -> None:
        self._found: dict[str, dict[str, dict[str, str]]] = {}

    def add(self, engine: str, language: str, case: str, outcome: str) -> None:
        self._found.setdefault(language, {}).setdefault(engine, {})[case] = outcome

    @property
    def outcomes(self) -> Outcomes:
        return self._found

    def save(self, folder: Path = FOLDER) -> None:
        """Stores the outcomes next to those of the other processes of this run and removes those of earlier runs."""
        folder.mkdir(parents=True, exist_ok=True)
        run, worker = (os.environ.get(f"PYTEST_XDIST_{name}", "") for name in ("TESTRUNUID", "WORKER"))
        for file in folder.glob("*.json"):
            if not run or not file.name.startswith(run):
                file.unlink(missing_ok=True)
        (folder / f"{run}-{worker}.json").write_text(json.dumps(self._found, indent=1, sort_keys=True))

    def merge(self, other: Outcomes) -> None:
        for language, engines in other.items():
            for engine, cases in engines.items():
                self._found.setdefault(language, {}).setdefault(engine, {}).update(cases)


def load(folder: Path = FOLDER) -> Outcomes:
    """Returns the outcomes of the last run, empty if there was none."""
    results = Results()
    for file in sorted(folder.glob("*.json")):
        results.merge(json.loads(file.read_text()))
    return results.outcomes
