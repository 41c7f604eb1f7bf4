"""What a measurement is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.bench.harness import Bench, Database, Result
from tests.bench.options import ENGINES
from tests.bench.report import Line, Target, duration, medians, rate, spread


@dataclass(frozen=True)
class Measurement:
    """Measures one or several lines on one engine."""

    text: str
    run: Callable[[Bench, str], list[Line]]
    engines: tuple[str, ...] = ENGINES


def compared(
    name: str,
    engine: str,
    text: str,
    key: str,
    mine: Sequence[Result],
    base: Sequence[Result],
    target: Target | None = None,
    note: str = "",
) -> Line:
    """A line about the median of one figure on both sides."""
    ours, theirs = medians(mine)[key], medians(base)[key]
    show = duration if key in {"p50", "p99"} else rate
    names = ("server_busy", "driver_busy")
    busy: dict[str, Any] = {name: medians(mine)[name] for name in names if name in mine[0]}
    details: dict[str, Any] = {"figure": key, **spread(mine, base, key), **busy}
    return Line(name, engine, text, show(ours), show(theirs), ours / theirs, target, note, details=details)


def cpu_note(mine: Sequence[Result], base: Sequence[Result]) -> str:
    """CPU time per event, of the server and of the echo."""
    return f"server CPU per event {medians(mine)['cpu'] * 1e6:,.0f} µs, echo {medians(base)['cpu'] * 1e6:,.0f} µs"


def raw_rows(bench: Bench, database: Database, batch: int, connections: int = 4) -> Result:
    """Rows a second with nothing above the database driver, in the same place as the server's data."""
    seconds = bench.scale.seconds
    if database.engine == "sqlite":
        return bench.driver.run("raw_sqlite", path=str(database.directory / "raw.db"), batch=batch, seconds=seconds)
    return bench.driver.run("raw_postgres", dsn=database.dsn, batch=batch, seconds=seconds, connections=connections)


def raw_reads(bench: Bench, database: Database) -> Result:
    """Reads of 50 rows a second with nothing above the database driver."""
    seconds = bench.scale.seconds
    if database.engine == "sqlite":
        return bench.driver.run("raw_sqlite_reads", path=str(database.directory / "raw.db"), seconds=seconds)
    return bench.driver.run("raw_postgres_reads", dsn=database.dsn, seconds=seconds)


def floor(name: str, engine: str, text: str, key: str, echo: Sequence[Result], raw: Sequence[Result]) -> Line:
    """A line about a server that does no more than the echo and then, in the same process, the raw work. `key`: p50 or rate."""
    bare, work = medians(echo)[key], medians(raw)[key]
    both = bare + work if key == "p50" else 1 / (1 / bare + 1 / work)
    show = duration if key == "p50" else rate
    return Line(name, engine, text, show(both), show(bare), both / bare)


def raw_name(engine: str) -> str:
    """What the raw baseline is called."""
    return "raw sqlite3" if engine == "sqlite" else "raw asyncpg"
