"""The result of a run, as tables and as JSON."""

from __future__ import annotations

import json
import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from .metrics import ALL, Key, counts, measure
from .model import Conversation
from .querying import Answers, Ingested

KS = (5, 10, 20)
_WIDE = 150  # where the tables do not go to a terminal
COLUMNS = (*(Key("turns", k, n) for n in (0, 1) for k in KS), *(Key("sessions", k, 0) for k in KS))

_CAPTION = (
    "Share of the evidence among the first k hits; ±1: including the neighbors of each hit. "
    "Milliseconds per call for 20 hits without neighbors; FTS5 is called in this process, a server over gRPC."
)


@dataclass(frozen=True, slots=True)
class Run:
    """The set, the server and its settings."""

    path: str
    engine: str
    embedder: str
    conversations: Sequence[Conversation]
    ingested: Ingested

    @property
    def left_out(self) -> Mapping[str, int]:
        """How many questions were left out, by reason."""
        return Counter(reason for each in self.conversations for reason in each.left_out)


def column(key: Key) -> str:
    return f"{key.of}@{key.k}" + (f" ±{key.neighbors}" if key.neighbors else "")


def percentile(seconds: Sequence[float], share: float) -> float:
    """In milliseconds; the sample at that share of the way, NaN where there is none."""
    ordered = sorted(seconds)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)] * 1e3 if ordered else math.nan


def show(console: Console, run: Run, results: Mapping[str, Answers]) -> None:
    """Prints a table of all questions and one by question type."""
    if not console.is_terminal:
        console = Console(width=_WIDE)
    figures = {name: measure(answers.answered, KS) for name, answers in results.items()}
    questions = counts(next(iter(results.values())).answered)
    title = (
        f"{questions[ALL]} questions of {len(run.conversations)} conversations, {run.ingested.events:,} events, {run.engine}"
    )
    table = _table(title, "how")
    for heading in ("p50 ms", "p95 ms"):
        table.add_column(heading, justify="right")
    for name, answers in results.items():
        times = (f"{percentile(answers.seconds, share):,.1f}" for share in (0.5, 0.95))
        table.add_row(name, *_cells(figures[name].get(ALL, {})), *times)
    console.print(table)
    by_type = _table("By type of question", "type", "how")
    for kind in sorted(questions.keys() - {ALL}):
        by_type.add_section()
        for number, name in enumerate(results):
            label = f"{kind} ({questions[kind]})" if number == 0 else ""
            by_type.add_row(label, name, *_cells(figures[name].get(kind, {})))
    by_type.caption = _CAPTION
    console.print(by_type)
    ingested = run.ingested
    console.print(
        f"ingested in {ingested.appended:.1f} s, indexed after {ingested.indexed:.1f} s, embedded ({run.embedder}) after "
        f"{ingested.embedded:.1f} s" + (f", {ingested.remembered:,} memories" if ingested.remembered else "")
    )
    for reason, number in run.left_out.items():
        console.print(f"left out: {number} questions of which {reason}")


def _table(title: str, *names: str) -> Table:
    table = Table(title=title, title_justify="left", caption_justify="left", header_style="bold", pad_edge=False)
    for name in names:
        table.add_column(name, no_wrap=True)
    for key in COLUMNS:
        table.add_column(column(key).replace(" ", "\n"), justify="right")
    return table


def _cells(figures: Mapping[Key, float]) -> list[str]:
    """A dash where the set has no evidence of that kind."""
    return [f"{figures[key]:.3f}" if key in figures else "–" for key in COLUMNS]


def write(path: Path, run: Run, results: Mapping[str, Answers]) -> None:
    """Raises OSError."""
    path.write_text(json.dumps(as_json(run, results), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def as_json(run: Run, results: Mapping[str, Answers]) -> dict[str, Any]:
    """Shares by the names of the table's columns."""
    return {
        "set": run.path,
        "engine": run.engine,
        "embedder": run.embedder,
        "conversations": len(run.conversations),
        "questions": counts(next(iter(results.values())).answered),
        "left_out": dict(run.left_out),
        "ingested": asdict(run.ingested),
        "results": {name: _entry(answers) for name, answers in results.items()},
    }


def _entry(answers: Answers) -> dict[str, Any]:
    times = {"p50": percentile(answers.seconds, 0.5), "p95": percentile(answers.seconds, 0.95)}
    times["mean"] = statistics.fmean(answers.seconds) * 1e3
    if answers.seconds_with_neighbors:
        shares = {"p50_with_neighbors": 0.5, "p95_with_neighbors": 0.95}
        times |= {name: percentile(answers.seconds_with_neighbors, share) for name, share in shares.items()}
    recall = {kind: {column(key): value for key, value in by.items()} for kind, by in measure(answers.answered, KS).items()}
    return {"recall": recall, "milliseconds": times}
