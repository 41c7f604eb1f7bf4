"""Context windows and compaction: their cost does not grow with the log, and they do not slow appends down."""

import functools
import json
from collections.abc import Callable

from tests.bench.harness import IN_FLIGHT, Bench, Result, Server
from tests.bench.lines.base import compared
from tests.bench.payloads import EVENT_BYTES
from tests.bench.processes import paused
from tests.bench.report import Line, at_least, at_most, medians

SESSIONS = 64
CALLS = 250
ACTIVE = 1000
SUMMARY_SECONDS = 5.0
# Never fires: only the evaluation is measured.
POLICY = {"trigger": {"tokens": 1 << 40}, "strategy": {"slidingWindow": {"maxEvents": 20}}}


def context(bench: Bench, engine: str) -> list[Line]:
    """GetContext of 50 events by the length of the session, and compared with a read of the same events."""
    sizes = bench.scale.flat_sizes
    names = {size: f"c{size}" for size in sizes} | {"archived": "archived"}
    with bench.database(engine) as database, bench.server(database) as server:
        wanted = [(names[size], "u000", 0, size) for size in sizes]
        bench.load(server, [*wanted, ("archived", "u000", 0, sizes[-1])], size=EVENT_BYTES)
        bench.driver.run("archive", 600.0, target=server.target, sessions=["archived"], keep=100)
        subjects: dict[str, Callable[[], Result]] = {}
        alone = {"in_flight": 1, "warmup": 0.1, "max_count": CALLS}
        for key, name in names.items():
            subjects[str(key)] = functools.partial(bench.measure, server, "context", sessions=[name], **alone)
        subjects["list"] = functools.partial(bench.measure, server, "last", sessions=[names[sizes[0]]], **alone)
        results = bench.interleave(f"contexts on {engine}", subjects)
    base = results[str(sizes[0])]
    lines = []
    for size in sizes[1:]:
        text = f"context of 50 in a session of {size:,} events ÷ of {sizes[0]:,}"
        lines.append(compared("context", engine, text, "p50", results[str(size)], base, at_most(1.3)))
    text = f"  the same of {sizes[-1]:,}, all but 100 archived ÷ of {sizes[0]:,}"
    lines.append(compared("context", engine, text, "p50", results["archived"], base, at_most(1.3)))
    lines.append(
        compared("context", engine, "  context of 50 ÷ list of the last 50", "p50", base, results["list"], at_most(1.25))
    )
    return lines


def compaction(bench: Bench, engine: str) -> list[Line]:
    """Compacting the newest 1,000 events of short and of long logs."""
    sizes = (2 * ACTIVE, bench.scale.flat_sizes[-1])
    # A session for each measurement of the short ones, for each adds a thousand events.
    short = [f"short-{number}" for number in range(bench.scale.rounds)]
    with bench.database(engine) as database, bench.server(database) as server:
        wanted = [(name, "u000", 0, sizes[0]) for name in short] + [("long", "u000", 0, sizes[1])]
        bench.load(server, wanted, size=EVENT_BYTES)
        names = [*short, "long"]
        bench.driver.run("archive", 600.0, target=server.target, sessions=names, keep=ACTIVE)
        unused = list(short)
        results = bench.interleave(
            f"compactions on {engine}",
            {
                "short": lambda: bench.driver.run("compact", target=server.target, sessions=[unused.pop()]),
                "long": lambda: bench.driver.run("compact", target=server.target, sessions=["long"]),
            },
        )
    text = f"compacting 1,000 events in a log of {sizes[1]:,} ÷ of {sizes[0]:,}"
    return [compared("compaction", engine, text, "p50", results["long"], results["short"], at_most(1.5))]


def trigger(bench: Bench, engine: str) -> list[Line]:
    """Two servers, one of which evaluates a policy after each append. Only one runs at a time; the other is paused."""

    def measured(server: Server, other: Server, names: list[str]) -> Result:
        with paused(other.process):
            return bench.measure(server, "append", sessions=names)

    env = {"THREADKEEP_COMPACTION_POLICY": json.dumps(POLICY)}
    with (
        bench.database(engine) as first,
        bench.database(engine) as second,
        bench.server(first) as without,
        bench.server(second, env=env) as looking,
    ):
        names = bench.create(without, SESSIONS)
        bench.create(looking, SESSIONS)
        results = bench.interleave(
            f"appends under a policy on {engine}",
            {
                "without": lambda: measured(without, looking, names),
                "with": lambda: measured(looking, without, names),
            },
        )
    text = f"unary append, {IN_FLIGHT} in flight, under a policy ÷ without one"
    mine, base = results["with"], results["without"]
    cpu = medians(mine)["cpu"] / medians(base)["cpu"]
    note = f"server CPU per event {medians(mine)['cpu'] * 1e6:,.0f} µs, without {medians(base)['cpu'] * 1e6:,.0f} µs: {cpu:.3f}"
    return [compared("trigger", engine, text, "rate", mine, base, at_least(0.97), note)]


def summarizing(bench: Bench, engine: str) -> list[Line]:
    """64 writers append to a session while a model takes five seconds to summarize it."""
    url = str(bench.driver.run("model", seconds=SUMMARY_SECONDS)["url"])
    env = {
        "THREADKEEP_SUMMARIZER": "openai",
        "THREADKEEP_SUMMARIZER_MODEL": "bench",
        "THREADKEEP_SUMMARIZER_BASE_URL": url,
        "THREADKEEP_SUMMARIZER_MAX_INPUT_TOKENS": "10000000",
    }
    with bench.database(engine) as database, bench.server(database, env=env) as server:
        rounds = iter(range(2 * bench.scale.rounds))

        def measured(summarize: bool) -> Result:
            names = [f"summed-{next(rounds)}"]
            bench.load(server, [(names[0], "u000", 0, 200)], size=EVENT_BYTES)
            job = {"sessions": names, "summarize": summarize, "seconds": SUMMARY_SECONDS + 1}
            return bench.measure(server, "append_while_summarizing", **job)

        results = bench.interleave(
            f"appends during a summary on {engine}",
            {"alone": lambda: measured(summarize=False), "during": lambda: measured(summarize=True)},
        )
    mine, base = results["during"], results["alone"]
    lost = sum(int(result["lost_races"]) for result in mine)
    slowest = max(result["slowest"] for result in mine)
    note = f"lost races {lost} in {len(mine)} compactions; slowest append {slowest * 1e3:,.0f} ms"
    text = f"99th percentile of appends, {IN_FLIGHT} writers, during a summary of {SUMMARY_SECONDS:g} s ÷ without"
    return [compared("summarising", engine, text, "p99", mine, base, at_most(1.5), note)]
