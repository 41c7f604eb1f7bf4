"""`python -m tests.bench`: measure, print the table, write bench.json."""

import datetime
import sys
import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from tests.bench import machine, report
from tests.bench.harness import Bench, Skip, bench
from tests.bench.lines import MEASUREMENTS, Measurement
from tests.bench.options import parse
from tests.bench.processes import end_on_signals
from tests.bench.report import Line

CAPTION = (
    "Ratios to baselines of the same run, interleaved, medians of rounds. Absolute figures mean nothing on another machine."
)


def attempt(run: Bench, name: str, measurement: Measurement, engine: str) -> list[Line]:
    """The lines of one measurement; a failure becomes a line that says so."""
    try:
        return measurement.run(run, engine)
    except Skip as reason:
        return [Line(name, engine, measurement.text, skipped=str(reason))]
    except Exception as error:
        run.restart()
        return [Line(name, engine, measurement.text, error=f"{type(error).__name__}: {error}")]


def main(argv: list[str]) -> int:
    """Returns the exit code: 1 when something could not be measured or, with --strict, missed its target."""
    options = parse(argv, {name: measurement.text for name, measurement in MEASUREMENTS.items()})
    end_on_signals()
    console = Console()
    work = [(n, m, e) for n, m in MEASUREMENTS.items() if n in options.only for e in options.engines if e in m.engines]
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(24), MofNCompleteColumn(), TimeElapsedColumn())
    begin = time.monotonic()
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    facts = {"scale": options.scale.name, "engines": options.engines, "only": options.only, "started": started}
    facts |= machine.facts()
    lines: list[Line] = []
    interrupted = False
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        total = progress.add_task("measurements", total=len(work))
        try:
            with bench(options, progress) as run:
                for name, measurement, engine in work:
                    progress.update(total, description=f"{name} on {engine}")
                    lines += attempt(run, name, measurement, engine)
                    report.write(options.output, lines, facts | {"interrupted": True})
                    progress.advance(total)
        except KeyboardInterrupt:
            interrupted = True
    minutes = (time.monotonic() - begin) / 60
    title = f"Threadkeep and its baselines · scale {options.scale.name} · {minutes:.1f} min"
    warning = " Tiny sizes: nothing here is a measurement." if options.scale.name == "quick" else ""
    report.show(console, lines, title, CAPTION + warning)
    report.write(options.output, lines, facts | {"interrupted": interrupted, "minutes": round(minutes, 1)})
    console.print(f"{report.verdict(lines)}; written to {options.output}")
    if interrupted:
        return 130
    failed = any(line.error for line in lines)
    missed = any(line.passed is False for line in lines)
    return int(failed or (options.strict and missed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
