"""Forks: what an event of a long copy costs."""

import functools
from collections.abc import Callable

from tests.bench.harness import Bench, Result
from tests.bench.lines.base import compared, raw_name, raw_rows
from tests.bench.payloads import EVENT_BYTES
from tests.bench.report import Line, at_least

SHORT, OFTEN = 100, 20
# Events of one part of a copy: as many rows in a transaction of the bare database.
PART = 500


def fork(bench: Bench, engine: str) -> list[Line]:
    """ForkSession of a short and of a long session: events a second, also compared with rows that the bare database writes."""
    long = bench.scale.flat_sizes[-1]
    with bench.database(engine) as database, bench.server(database) as server:
        bench.load(server, [("short", "u000", 0, SHORT), ("long", "u000", 0, long)], size=EVENT_BYTES)
        subjects: dict[str, Callable[[], Result]] = {
            "short": functools.partial(bench.driver.run, "fork", 600.0, target=server.target, session="short", times=OFTEN),
            "long": functools.partial(bench.driver.run, "fork", 600.0, target=server.target, session="long", times=1),
            "raw": functools.partial(raw_rows, bench, database, PART, 1),
        }
        results = bench.interleave(f"forks on {engine}", subjects)
    text = f"events a second of a fork of {long:,} events ÷"
    of_short = compared("fork", engine, f"{text} of {SHORT:,}", "rate", results["long"], results["short"], at_least(0.5))
    return [of_short, compared("fork", engine, f"{text} {raw_name(engine)}", "rate", results["long"], results["raw"])]
