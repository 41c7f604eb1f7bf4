"""What became of the cases of a run, kept in a file by each of its processes for the matrix."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from .drivers import ROOT

FOLDER = ROOT / "build" / "conformance-results"
Outcomes = Mapping[str, Mapping[str, Mapping[str, str]]]
"""By language, engine and case's id: passed, failed, or known (to fail, and it did)."""


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
        """Beside those of the other processes of this run; what earlier runs left is removed."""
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
    """The results of the last run, empty if there was none."""
    results = Results()
    for file in sorted(folder.glob("*.json")):
        results.merge(json.loads(file.read_text()))
    return results.outcomes
