"""Files as the benchmark writes them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.bench import report
from tests.bench.report import Line, Target

RUN = {
    "scale": "small",
    "engines": ["sqlite"],
    "only": ["unary"],
    "started": "2026-01-02T03:04:05+00:00",
    "threadkeep": "0.1.0",
    "python": "3.11.2",
    "system": "Linux x86_64",
    "processor": "A processor",
    "cores": 2,
    "load": 0.1,
    "interrupted": False,
    "minutes": 1.5,
}


def line(
    name: str, ratio: float | None, target: Target | None = None, *, text: str = "its rate", engine: str = "sqlite", **more: Any
) -> Line:
    """A line of a run."""
    return Line(name, engine, text, "1/s", "2/s", ratio, target, **more)


def write(path: Path, lines: Sequence[Line], **facts: Any) -> Path:
    """Writes a run's file with the program's own writer."""
    report.write(path, lines, RUN | facts)
    return path
