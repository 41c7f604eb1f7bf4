"""`python -m tests.bench.compare OLD NEW`: show what changed between two runs; exit 1 when a line became worse."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tests.bench.compare.judging import BETTER, FAILED, INFO, SAME, WORSE, Comparison, Pair, compare
from tests.bench.report import PLAIN_WIDTH, brief
from tests.bench.results import BadResults, Row, read

STYLES = {WORSE: "bold red", FAILED: "bold red", BETTER: "green", SAME: "", INFO: "dim"}


def arguments(argv: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.compare",
        description="Compare two files that `make bench` wrote. Exits 1 when a line became worse, 2 when a file is bad.",
    )
    parser.add_argument("before", type=Path, help="the earlier run")
    parser.add_argument("after", type=Path, help="the later run")
    parser.add_argument("--threshold", type=_percentage, default=10.0, help="percentage that counts as a change (default: 10)")
    parser.add_argument("--json", action="store_true", help="print JSON in place of the table")
    return parser.parse_args(argv)


def _percentage(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a percentage of 0 or more")
    return value


def name_of(row: Row) -> str:
    """A line in words."""
    return f"{row.name}: {row.text.strip()}"


def figure(row: Row) -> str:
    """The ratio, or the number and its unit."""
    if row.ratio is None:
        return "-"
    return f"{row.ratio:,.{2 if row.ratio < 100 else 0}f}{' ' + row.unit if row.unit else ''}"


def table(pairs: tuple[Pair, ...], title: str) -> Table:
    """The lines that both runs have."""
    shown = Table(title=title, title_justify="left", header_style="bold", pad_edge=False)
    for heading in ("engine", "line"):
        shown.add_column(heading, overflow="fold")
    for heading in ("target", "before", "after", "change"):
        shown.add_column(heading, justify="right", no_wrap=True)
    shown.add_column("", no_wrap=True)
    for pair in pairs:
        text = Text(name_of(pair.before))
        if pair.after.error:
            text.append(f"\n{brief(pair.after.error)}", "red")
        change = "" if pair.change is None else f"{pair.change:+.1f} %"
        target, mark = pair.after.target or pair.before.target, Text(pair.verdict, STYLES[pair.verdict])
        shown.add_row(pair.before.engine, text, target, figure(pair.before), figure(pair.after), change, mark)
    return shown


def show(console: Console, found: Comparison, before: Path, after: Path, threshold: float) -> None:
    """Prints the table, what only one run measured, and a summary."""
    if not console.is_terminal:
        console = Console(width=PLAIN_WIDTH)
    for warning in found.warnings:
        console.print(f"warning: {warning}", style="yellow", markup=False)
    console.print(table(found.pairs, f"{before} and {after}; a change by more than {threshold:g} % counts"))
    for rows, path in ((found.only_before, before), (found.only_after, after)):
        for row in rows:
            console.print(f"only in {path}: {row.engine}, {name_of(row)}: {figure(row)}", style="dim", markup=False)
    counts = ", ".join(f"{found.count(verdict)} {verdict}" for verdict in (WORSE, FAILED, BETTER, SAME))
    console.print(f"{counts}, {found.count(INFO)} not judged (no target), {_alone(found)} in one run only", highlight=False)


def _alone(found: Comparison) -> int:
    return len(found.only_before) + len(found.only_after)


def document(found: Comparison, threshold: float) -> dict[str, Any]:
    """The comparison for programs."""

    def named(row: Row) -> dict[str, Any]:
        return {"name": row.name, "engine": row.engine, "text": row.text.strip(), "target": row.target or None}

    def compared(pair: Pair) -> dict[str, Any]:
        ratios = {"before": pair.before.ratio, "after": pair.after.ratio, "change_percent": pair.change}
        return named(pair.before) | ratios | {"verdict": pair.verdict, "error": pair.after.error}

    return {
        "threshold_percent": threshold,
        "regressed": found.regressed,
        "warnings": list(found.warnings),
        "lines": [compared(pair) for pair in found.pairs],
        "only_before": [named(row) | {"ratio": row.ratio} for row in found.only_before],
        "only_after": [named(row) | {"ratio": row.ratio} for row in found.only_after],
    }


def main(argv: list[str]) -> int:
    """Returns the exit code: 1 when a line became worse or fails, 2 when a file cannot be read."""
    args = arguments(argv)
    try:
        found = compare(read(args.before), read(args.after), args.threshold)
    except BadResults as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if args.json:
        print(json.dumps(document(found, args.threshold), indent=2, ensure_ascii=False))
    else:
        show(Console(), found, args.before, args.after, args.threshold)
    return int(found.regressed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
