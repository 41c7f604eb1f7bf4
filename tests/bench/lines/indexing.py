"""What the background indexer takes from the appends, and how fast it is."""

import time

from tests.bench.harness import Bench, Result, Server
from tests.bench.lines.base import compared
from tests.bench.processes import ChildError, paused
from tests.bench.report import Line, at_least, medians, rate

SESSIONS = 64
_POLLED = 0.1


def indexing(bench: Bench, engine: str) -> list[Line]:
    """Two servers, one with the indexer and one without, each on its own database. The one that is not measured is paused."""
    lags: list[int] = []

    def measured(server: Server, other: Server, names: list[str]) -> Result:
        with paused(other.process):
            result = bench.measure(server, "append", sessions=names)
            if server.index:
                lags.append(int(bench.info(server)["lag"]))
        return result

    with (
        bench.database(engine) as first,
        bench.database(engine) as second,
        bench.server(first) as without,
        bench.server(second, index=True) as with_index,
    ):
        names = bench.create(without, SESSIONS)
        bench.create(with_index, SESSIONS)
        if not bench.info(with_index)["index"]:
            raise ValueError("the server says that its search index is off")

        def echo() -> Result:
            with paused(without.process), paused(with_index.process):
                return bench.measure(bench.echo, "echo", sessions=names)

        results = bench.interleave(
            f"appends while indexing on {engine}",
            {
                "without": lambda: measured(without, with_index, names),
                "with": lambda: measured(with_index, without, names),
                "echo": echo,
            },
        )
        bench.wait_for_index(with_index, sum(result["count"] for result in results["with"]))
    mine, alone = results["with"], _catching_up(bench, engine)
    note = f"batches the index lagged when the load ended: {', '.join(f'{lag:,}' for lag in lags)}"
    text = "unary append, 64 in flight, indexer at work ÷ indexer off"
    stops = f"appends of more than {rate(alone['rate'])} for long leave the index behind; the rest is searched without it"
    return [
        compared("indexing", engine, text, "rate", mine, results["without"], at_least(0.85), note),
        compared("indexing", engine, "  its 99th percentile ÷ indexer off", "p99", mine, results["without"]),
        compared("indexing", engine, "  its rate ÷ echo", "rate", mine, results["echo"]),
        compared(
            "indexing",
            engine,
            "  events indexed a second when idle ÷ these appends",
            "rate",
            [alone],
            [medians(mine)],
            note=stops,
        ),
    ]


def _catching_up(bench: Bench, engine: str) -> Result:
    """The rate at which events are indexed that were appended one by one while there was no index; nothing else is done."""
    each = max(bench.scale.replay_changes // 5 // SESSIONS, 1)
    with bench.database(engine) as database:
        with bench.server(database) as server:
            bench.say(f"appending {each * SESSIONS:,} events without an index on {engine}")
            limit = 120 + each * SESSIONS * 0.002
            load = {"sessions": bench.create(server, SESSIONS), "batch": 1, "window": 64, "max_count": each}
            bench.driver.run("stream", limit, target=server.target, seconds=limit, **load)
        with bench.server(database, index=True) as server:
            seen = [(time.monotonic(), int(bench.info(server)["lag"]))]
            while seen[-1][1] > 0:
                time.sleep(_POLLED)
                seen.append((time.monotonic(), int(bench.info(server)["lag"])))
                bench.say(f"waiting for the index: {seen[-1][1]:,} batches left")
                if seen[-1][0] - seen[0][0] > limit:
                    raise ChildError(f"the index still lags {seen[-1][1]:,} batches after {limit:,.0f} s")
    (begin, most), (end, least) = seen[0], seen[-1]
    if not most:
        raise ValueError("the index caught up before it was looked at")
    return {"rate": (most - least) / (end - begin), "count": most}
