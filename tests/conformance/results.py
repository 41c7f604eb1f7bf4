"""What became of the cases of a run, kept in a file for the matrix."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from .drivers import ROOT

FILE = ROOT / "build" / "conformance.json"
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

    def save(self, file: Path = FILE) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(self._found, indent=1, sort_keys=True))


def load(file: Path = FILE) -> Outcomes:
    """The results of the last run, empty if there was none."""
    return json.loads(file.read_text()) if file.exists() else {}
