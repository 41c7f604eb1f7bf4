"""Figures and the sizes at which they are measured."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.bench import machine


@dataclass(frozen=True, slots=True)
class Scale:
    """Sizes of a run."""

    seconds: float
    """Of load, for each rate."""
    events: int
    """In the database that is restarted."""
    stored: tuple[tuple[int, int], ...]
    """Characters of a text, and how many events of it are stored."""
    subscriptions: int


FULL = Scale(6.0, 50_000, ((100, 10_000), (1_000, 5_000), (10_000, 1_000)), 2_000)
QUICK = Scale(1.0, 2_000, ((100, 500),), 50)


@dataclass(frozen=True, slots=True)
class Figure:
    """One number. `of_machine`: it depends on how fast and how busy the machine is."""

    engine: str
    name: str
    value: float
    unit: str
    note: str = ""
    of_machine: bool = True

    @property
    def shown(self) -> str:
        """The number with three digits or more; a whole number as it is."""
        if isinstance(self.value, int):
            return f"{self.value:,}"
        digits = max(0, 2 - len(str(int(abs(self.value)))) + 1) if self.value else 0
        return f"{self.value:,.{digits}f}"


def show(figures: Iterable[Figure], title: str) -> None:
    """Prints the figures."""
    made = Table(title=title, title_justify="left")
    for name in ("engine", "figure", "", "unit", "note"):
        made.add_column(name, justify="right" if not name else "left")
    for each in figures:
        made.add_row(each.engine, each.name, each.shown, each.unit, each.note)
    Console(width=160).print(made)


def write(figures: Iterable[Figure], path: Path) -> None:
    """Writes the figures and facts of the machine as JSON."""
    path.write_text(json.dumps({"machine": machine.facts(), "figures": [asdict(each) for each in figures]}, indent=1) + "\n")
