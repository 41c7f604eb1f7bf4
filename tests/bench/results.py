"""Reads the files that `make bench` and `make bench-peers` wrote."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

_TARGET = re.compile(r"(?P<relation>[≥≤]) (?P<bound>[0-9.e+-]+)(?P<unit>.*)")
MORE, LESS = "≥", "≤"


class BadResults(Exception):
    """A file is not what the benchmark writes; one line for the user."""


@dataclass(frozen=True)
class Row:
    """A line of a run."""

    name: str
    engine: str
    text: str
    ratio: float | None
    target: str = ""
    error: str = ""
    skipped: str = ""
    # Lines with the same name, engine and text differ by their order.
    number: int = 0

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What makes it the same line in another run."""
        return self.name, self.engine, self.text.strip(), self.number

    @property
    def relation(self) -> str:
        """MORE if a higher ratio is better, LESS if a lower one is, "" where no target says so."""
        return self._target("relation")

    @property
    def bound(self) -> float | None:
        """The number of the target."""
        bound = self._target("bound")
        return float(bound) if bound else None

    @property
    def unit(self) -> str:
        """The unit of the target; with one, `ratio` is an absolute number."""
        return self._target("unit").strip()

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None where there is none or nothing was measured."""
        if self.ratio is None or self.bound is None:
            return None
        return self.ratio >= self.bound if self.relation == MORE else self.ratio <= self.bound

    def _target(self, group: str) -> str:
        found = _TARGET.fullmatch(self.target)
        return found[group] if found else ""


@dataclass(frozen=True)
class Results:
    """A run of `make bench`."""

    path: Path
    run: Mapping[str, Any]
    rows: Sequence[Row]


def load(path: Path, part: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The facts about the run and the entries of a file; `part` is the name of their list."""
    try:
        content = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise BadResults(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise BadResults(f"{path}: not JSON: {error}") from error
    entries = content.get(part) if isinstance(content, dict) else None
    run = content.get("run") if isinstance(content, dict) else None
    if not isinstance(run, dict) or not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        program = "make bench" if part == "lines" else "make bench-peers"
        raise BadResults(f"{path}: not written by `{program}`: it has no run and {part}")
    return run, entries


def read(path: Path) -> Results:
    """The lines of a file that `make bench` wrote."""
    run, entries = load(path, "lines")
    rows: list[Row] = []
    seen: dict[tuple[str, str, str], int] = {}
    for entry in entries:
        try:
            row = _row(entry)
        except (KeyError, TypeError, ValueError) as error:
            raise BadResults(f"{path}: a line is not as `make bench` writes it: {error!r}") from error
        number = seen[row.key[:3]] = seen.get(row.key[:3], -1) + 1
        rows.append(replace(row, number=number))
    return Results(path, run, rows)


def _row(entry: Mapping[str, Any]) -> Row:
    ratio = entry["ratio"]
    name, engine, text = (str(entry[key]) for key in ("name", "engine", "text"))
    target, error, skipped = (str(entry.get(key) or "") for key in ("target", "error", "skipped"))
    return Row(name, engine, text, None if ratio is None else float(ratio), target, error, skipped)
