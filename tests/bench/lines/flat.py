"""The same cost at the beginning and at the end of a long session."""

import functools
from collections.abc import Callable

from tests.bench.harness import Bench, Result
from tests.bench.lines.base import compared
from tests.bench.payloads import EVENT_BYTES
from tests.bench.report import Line, at_most

WARMUP = 0.1
CALLS = 250  # of one kind in one round: few, because appends make the sessions longer than their label says


def flat(bench: Bench, engine: str) -> list[Line]:
    """Latency of a lone append and of a lone read, by how many events the session holds."""
    sizes, many = bench.scale.flat_sizes, bench.scale.flat_sessions
    held = many * sizes[0] * 10
    sessions = {size: [f"n{size}-{number:03d}" for number in range(max(min(many, held // size), 1))] for size in sizes}
    with bench.database(engine) as database, bench.server(database) as server:
        wanted = [(name, "u000", 0, size) for size in sizes for name in sessions[size]]
        bench.load(server, wanted, size=EVENT_BYTES)
        subjects: dict[str, Callable[[], Result]] = {}
        for size in sizes:
            job = {"sessions": sessions[size], "in_flight": 1, "warmup": WARMUP, "max_count": CALLS}
            subjects[f"append at {size:,}"] = functools.partial(bench.measure, server, "append", **job)
            subjects[f"last 50 at {size:,}"] = functools.partial(bench.measure, server, "last", **job)
        results = bench.interleave(f"flat cost on {engine}", subjects)
    lines = []
    for what in ("append", "last 50"):
        base = results[f"{what} at {sizes[0]:,}"]
        for size in sizes[1:]:
            text = f"{what} in a session of {size:,} events ÷ of {sizes[0]:,}"
            lines.append(compared("flat", engine, text, "p50", results[f"{what} at {size:,}"], base, at_most(1.3)))
    return lines
