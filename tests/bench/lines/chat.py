"""The overhead of the agent kit per turn, compared with the calls that it makes."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable

from tests.bench.harness import Bench, Result
from tests.bench.lines.base import compared
from tests.bench.payloads import EVENT_BYTES
from tests.bench.report import Line, at_most
from tests.bench.turns import EVENTS

SESSIONS = 8
DEARER = 1.3
"""Than one context read and the same appends by hand, that a turn may be."""


def turns(bench: Bench, engine: str) -> list[Line]:
    """Turns without tools, and with one round of a tool, in sessions whose context is 50 events."""
    runs = itertools.count()
    names = [f"turns-{number}" for number in range(SESSIONS)]
    with bench.database(engine) as database, bench.server(database) as server:
        bench.load(server, [(name, "u000", 0, EVENTS) for name in names], size=EVENT_BYTES)

        def measured(by: str, tools: bool) -> Result:
            return bench.measure(server, "turns", sessions=names, by=by, tools=tools, run=next(runs))

        subjects: dict[str, Callable[[], Result]] = {
            f"{by}, {tools}": functools.partial(measured, by, tools) for tools in (False, True) for by in ("hand", "kit")
        }
        results = bench.interleave(f"turns on {engine}", subjects)
    lines = []
    for tools, what in ((False, "a turn"), (True, "a turn with a tool's round")):
        kit, hand = results[f"kit, {tools}"], results[f"hand, {tools}"]
        text = f"{what} through the kit ÷ its context read and appends by hand"
        lines.append(compared("turns", engine, text, "p50", kit, hand, at_most(DEARER)))
        lines.append(compared("turns", engine, "  its 99th percentile", "p99", kit, hand))
    return lines
