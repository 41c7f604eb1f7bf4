"""What a run prints: its progress on standard error, its intervals and its result on standard output."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from ...errors import counted
from ...render.output import console, print_json, table
from .measured import SHARES, Operations, as_dicts
from .plan import Plan
from .run import OnInterval, Result

_NUMBERS = ("calls", "calls/s", "p50 ms", "p95 ms", "p99 ms", "max ms", "errors")
_BUSY = 0.85
"""The share of a core above which the load generator itself may be what is measured."""


@contextlib.contextmanager
def progress(plan: Plan, *, as_json: bool) -> Iterator[OnInterval]:
    """Shows intervals: on a terminal in a bar, otherwise a line each; with `as_json` a line of JSON on standard output."""
    screen = console(to_stderr=True)
    if as_json:
        yield _print_interval
        return
    if not screen.is_terminal:
        yield lambda at, seconds, found: print(f"{at:,.0f} s: {_in_brief(seconds, found)}", file=sys.stderr, flush=True)
        return
    columns = (SpinnerColumn(), BarColumn(bar_width=16), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=screen, transient=True) as bar:
        task = bar.add_task("", total=plan.seconds)
        yield lambda at, seconds, found: bar.update(task, completed=at, description=_in_brief(seconds, found))


def show(result: Result, *, as_json: bool) -> None:
    """Prints the result."""
    if as_json:
        print_json({"result": result.as_dict()})
        return
    screen, server = console(), result.server
    screen.print(f"{server.engine}, {server.durability}, threadkeep {server.version}; run {result.plan.run}")
    screen.print()
    screen.print(_operations(result))
    screen.print()
    found, seconds = result.findings, result.timed.seconds
    screen.print(
        f"{counted(found.acknowledged, 'event')} acknowledged in {seconds:,.1f} s, "
        f"{found.acknowledged / max(seconds, 1e-9):,.0f}/s; {counted(found.delivered, 'delivery', 'deliveries')}"
    )
    screen.print(
        f"lost {found.lost:,}, duplicated {found.duplicated:,}, out of order {found.disordered:,}, "
        f"with another id {found.wrong:,}; of unknown outcome {found.unknown:,}"
    )
    busy = result.timed.cpu
    limit = "; it may be what was measured: run several, or fewer writers with --batch" if busy > _BUSY else ""
    screen.print(f"the load generator used {busy:.0%} of a core{limit}")


def _operations(result: Result) -> Table:
    made = table("operation", *_NUMBERS, numbers=_NUMBERS)
    for name, numbers in as_dicts(result.operations, result.timed.seconds).items():
        millis = (f"{numbers[f'{each}_ms']:,.2f}" for each in (*SHARES, "max"))
        errors = ", ".join(f"{code} {count:,}" for code, count in sorted(numbers["errors"].items()))
        rate = f"{numbers['per_second']:,.1f}" if "per_second" in numbers else ""
        made.add_row(name, f"{numbers['count']:,}", rate, *millis, errors or "0")
    return made


def _in_brief(seconds: float, found: Operations) -> str:
    parts = []
    for name, operation in sorted(found.items()):
        p99 = operation.latencies.percentile(SHARES["p99"]) * 1e3
        errors = f", {counted(operation.errors.total(), 'error')}" if operation.errors else ""
        parts.append(f"{name} {operation.latencies.count / max(seconds, 1e-9):,.0f}/s, p99 {p99:,.1f} ms{errors}")
    return "; ".join(parts) or "nothing"


def _print_interval(at: float, seconds: float, found: Operations) -> None:
    print_json({"interval": {"at": round(at, 1), "seconds": round(seconds, 3), "operations": as_dicts(found, seconds)}})
    sys.stdout.flush()
