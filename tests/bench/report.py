"""What came out: lines with a ratio, a target and a mark; as a table for eyes and as JSON."""

import json
import operator
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

PLAIN_WIDTH = 140  # where the table does not go to a terminal
BRIEF = 240  # characters of a reason in the table
_COMPARE = {">=": operator.ge, "<=": operator.le}


@dataclass(frozen=True)
class Target:
    """A bound that a ratio (or a number of MiB or milliseconds) must keep."""

    relation: str
    bound: float
    unit: str = ""

    def met(self, value: float) -> bool:
        """Whether the value keeps the bound."""
        return bool(_COMPARE[self.relation](value, self.bound))

    def __str__(self) -> str:
        return f"{self.relation.replace('>=', '≥').replace('<=', '≤')} {self.bound:.3g}{self.unit}"


def at_least(bound: float) -> Target:
    """A rate that must be kept."""
    return Target(">=", bound)


def at_most(bound: float, unit: str = "") -> Target:
    """A cost that must not be exceeded."""
    return Target("<=", bound, unit)


@dataclass(frozen=True)
class Line:
    """One comparison."""

    name: str
    engine: str
    text: str
    measured: str = ""
    baseline: str = ""
    ratio: float | None = None
    target: Target | None = None
    note: str = ""
    error: str = ""
    skipped: str = ""
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def passed(self) -> bool | None:
        """Whether the target is met; None when the line has none or was not measured."""
        if self.error:
            return False
        if self.ratio is None or self.target is None:
            return None
        return self.target.met(self.ratio)


def rate(value: float, unit: str = "/s") -> str:
    """A rate for eyes."""
    return f"{value:,.0f}{unit}"


def duration(seconds: float) -> str:
    """A latency for eyes."""
    return f"{seconds * 1e6:,.0f} µs" if seconds < 0.01 else f"{seconds * 1e3:,.1f} ms"


def medians(results: Sequence[dict[str, Any]]) -> dict[str, float]:
    """The median of every figure over the rounds."""
    keys = ("rate", "p50", "p95", "p99", "cpu", "bytes", "count", "server_busy", "driver_busy")
    return {key: statistics.median(result[key] for result in results) for key in keys if key in results[0]}


def spread(measured: Sequence[dict[str, Any]], baseline: Sequence[dict[str, Any]], key: str) -> dict[str, Any]:
    """Both sides' rounds and the least and greatest ratio of a round, for the JSON."""
    ratios = [mine[key] / base[key] for mine, base in zip(measured, baseline, strict=True)]
    return {
        "measured": [result[key] for result in measured],
        "baseline": [result[key] for result in baseline],
        "ratio_min": min(ratios),
        "ratio_max": max(ratios),
    }


def brief(reason: str) -> str:
    """The end of a reason, which is what a traceback is read for; the JSON has the whole."""
    return reason.strip().rpartition("\n")[2].strip()[-BRIEF:]


def _mark(line: Line) -> Text:
    if line.error:
        return Text("ERROR", "bold red")
    if line.skipped:
        return Text("skipped", "yellow")
    if line.passed is None:
        return Text("info", "dim")
    return Text("✓ pass", "green") if line.passed else Text("✗ miss", "bold red")


def show(console: Console, lines: Sequence[Line], title: str, caption: str) -> None:
    """Prints the table."""
    if not console.is_terminal:
        console = Console(width=PLAIN_WIDTH)
    table = Table(
        title=title, caption=caption, caption_justify="left", title_justify="left", header_style="bold", pad_edge=False
    )
    for heading, right in (("engine", False), ("line", False), ("measured", True), ("baseline", True), ("ratio", True)):
        table.add_column(heading, justify="right" if right else "left", overflow="fold")
    table.add_column("target", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    previous = lines[0].name if lines else ""
    for line in lines:
        if line.name != previous:
            table.add_section()
            previous = line.name
        text = Text(line.text)
        remark = brief(line.error or line.skipped or line.note)
        if remark:
            text.append(f"\n{remark}", "red" if line.error else "dim")
        absolute = line.target is not None and line.target.unit
        ratio = "" if line.ratio is None or absolute else f"{line.ratio:,.{2 if line.ratio < 100 else 0}f}"
        table.add_row(line.engine, text, line.measured, line.baseline, ratio, str(line.target or ""), _mark(line))
    console.print(table)


def verdict(lines: Sequence[Line]) -> str:
    """The run in one sentence."""
    marks = [line.passed for line in lines if not line.error]
    parts = [f"{marks.count(True)} met", f"{marks.count(False)} missed"]
    parts += [f"{sum(bool(line.error) for line in lines)} failed", f"{sum(bool(line.skipped) for line in lines)} skipped"]
    return ", ".join(parts)


def write(path: Path, lines: Sequence[Line], run: dict[str, Any]) -> None:
    """Writes the results for machines."""
    entries = [asdict(line) | {"passed": line.passed, "target": str(line.target) if line.target else None} for line in lines]
    path.write_text(json.dumps({"run": run, "lines": entries}, indent=2, ensure_ascii=False) + "\n")
