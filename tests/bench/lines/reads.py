"""Reads of the last events, and the latency of a lone call."""

from tests.bench.harness import IN_FLIGHT, Bench
from tests.bench.lines.base import compared, cpu_note, floor, raw_name, raw_reads, raw_rows
from tests.bench.payloads import EVENT_BYTES
from tests.bench.report import Line, at_least, at_most

SESSIONS = 64
EVENTS = 200


def _filled(count: int) -> list[tuple[str, str, int, int]]:
    return [(f"s{number:05d}", "u000", 0, EVENTS) for number in range(count)]


_ALONE = {"sqlite": 2.0, "postgres": 3.3}
_IN_FLIGHT = {"sqlite": 0.65, "postgres": 0.45}


def single(bench: Bench, engine: str) -> list[Line]:
    """One call in flight."""
    with bench.database(engine) as database, bench.server(database) as server:
        sessions = _filled(SESSIONS)
        names = [name for name, *_ in sessions]
        bench.load(server, sessions, size=EVENT_BYTES)
        size = int(bench.driver.run("last", target=server.target, sessions=names, warmup=0, seconds=0.1, in_flight=1)["bytes"])
        alone = {"in_flight": 1}
        results = bench.interleave(
            f"one call in flight on {engine}",
            {
                "echo": lambda: bench.measure(bench.echo, "echo", sessions=names, **alone),
                "append": lambda: bench.measure(server, "append", sessions=names, **alone),
                "read": lambda: bench.measure(server, "last", sessions=names, **alone),
                "echo of the bytes": lambda: bench.measure(bench.echo, "bytes", size=size, **alone),
                "raw": lambda: raw_rows(bench, database, 1, 1),
            },
        )
    echo, read = results["echo"], results["read"]
    sized = f"{size:,} bytes"
    append = "latency of an append, one call in flight ÷ echo of 1 KB"
    return [
        compared("single", engine, append, "p50", results["append"], echo, at_most(_ALONE[engine])),
        floor("single", engine, f"  floor: the echo and a commit of {raw_name(engine)} ÷ echo", "p50", echo, results["raw"]),
        compared("single", engine, "latency of reading the last 50 ÷ echo of 1 KB", "p50", read, echo, at_most(2)),
        compared("single", engine, "  the same ÷ echo of its bytes", "p50", read, results["echo of the bytes"], note=sized),
    ]


def last(bench: Bench, engine: str) -> list[Line]:
    """The last 50 events, many calls in flight."""
    with bench.database(engine) as database, bench.server(database) as server:
        sessions = _filled(SESSIONS)
        names = [name for name, *_ in sessions]
        bench.load(server, sessions, size=EVENT_BYTES)
        size = int(bench.driver.run("last", target=server.target, sessions=names, warmup=0, seconds=0.1, in_flight=1)["bytes"])
        results = bench.interleave(
            f"last 50 on {engine}",
            {
                "echo": lambda: bench.measure(bench.echo, "bytes", size=size),
                "threadkeep": lambda: bench.measure(server, "last", sessions=names),
                "raw": lambda: raw_reads(bench, database),
            },
        )
    mine, echo = results["threadkeep"], results["echo"]
    text = f"last 50 events, {IN_FLIGHT} in flight ÷ echo of as many bytes"
    note = f"{size:,} bytes; {cpu_note(mine, echo).replace('per event', 'per read')}"
    return [
        compared("last", engine, text, "rate", mine, echo, at_least(_IN_FLIGHT[engine]), note),
        floor("last", engine, f"  floor: the echo and a read of {raw_name(engine)} ÷ echo", "rate", echo, results["raw"]),
    ]
