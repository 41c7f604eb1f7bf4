"""What the background indexer takes from the appends."""

from tests.bench.harness import Bench, Result, Server
from tests.bench.lines.base import compared
from tests.bench.processes import paused
from tests.bench.report import Line, at_least

SESSIONS = 64


def indexing(bench: Bench, engine: str) -> list[Line]:
    """Two servers, one with the indexer and one without, each on its own database; the other always stands still."""
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
    mine = results["with"]
    note = f"batches the index lagged when the load ended: {', '.join(f'{lag:,}' for lag in lags)}"
    text = "unary append, 64 in flight, indexer at work ÷ indexer off"
    return [
        compared("indexing", engine, text, "rate", mine, results["without"], at_least(0.85), note),
        compared("indexing", engine, "  its 99th percentile ÷ indexer off", "p99", mine, results["without"]),
        compared("indexing", engine, "  its rate ÷ echo", "rate", mine, results["echo"]),
    ]
