"""Appends: one by one, by the hundred, as streams, and with state."""

import functools

from tests.bench.harness import IN_FLIGHT, Bench, Subject
from tests.bench.lines.base import compared, cpu_note, raw_name, raw_rows
from tests.bench.report import Line, at_least, at_most, medians

SESSIONS = 64
STREAMS = 16
STREAM_WINDOW = 256
BATCHES_IN_FLIGHT = 8
ROWS = 100


def unary(bench: Bench, engine: str) -> list[Line]:
    """One event a call, 64 calls in flight, each answered once it is durable."""
    with bench.database(engine) as database, bench.server(database) as server:
        names = bench.create(server, SESSIONS)
        results = bench.interleave(
            f"unary appends on {engine}",
            {
                "echo": lambda: bench.measure(bench.echo, "echo", sessions=names),
                "threadkeep": lambda: bench.measure(server, "append", sessions=names),
                "raw": lambda: raw_rows(bench, database, 1, connections=16),
            },
        )
        durability = bench.info(server)["durability"]
    mine, echo = results["threadkeep"], results["echo"]
    note = f"{durability}; {cpu_note(mine, echo)}"
    return [
        compared("unary", engine, "unary append of 1 KB, 64 in flight ÷ echo", "rate", mine, echo, at_least(0.80), note),
        compared("unary", engine, "  its 99th percentile ÷ the echo's", "p99", mine, echo, at_most(2.5)),
        compared("unary", engine, f"  its rate ÷ {raw_name(engine)}, 1 row a commit", "rate", mine, results["raw"]),
    ]


def create(bench: Bench, engine: str) -> list[Line]:
    """One session a call, 16 calls in flight, compared with appends."""
    together = {"in_flight": SESSIONS // 4}
    with bench.database(engine) as database, bench.server(database) as server:
        names = bench.create(server, SESSIONS)
        results = bench.interleave(
            f"creations on {engine}",
            {
                "append": lambda: bench.measure(server, "append", sessions=names, **together),
                "create": lambda: bench.measure(server, "create_new", **together),
            },
        )
    mine, appends = results["create"], results["append"]
    note = cpu_note(mine, appends).replace("echo", "append").replace("event", "call")
    return [compared("create", engine, "CreateSession, 16 in flight ÷ append", "rate", mine, appends, at_least(0.8), note)]


def batch(bench: Bench, engine: str) -> list[Line]:
    """A hundred events a call."""
    with bench.database(engine) as database, bench.server(database) as server:
        names = bench.create(server, BATCHES_IN_FLIGHT)
        results = bench.interleave(
            f"appends of {ROWS} on {engine}",
            {
                "raw": lambda: raw_rows(bench, database, ROWS),
                "threadkeep": lambda: bench.measure(server, "append", sessions=names, batch=ROWS, in_flight=BATCHES_IN_FLIGHT),
            },
        )
    mine = results["threadkeep"]
    text = f"append of {ROWS}, {BATCHES_IN_FLIGHT} in flight ÷ {raw_name(engine)}, {ROWS} rows a commit"
    note = f"server CPU per event {medians(mine)['cpu'] * 1e6:,.0f} µs; events and rows a second"
    return [compared("batch", engine, text, "rate", mine, results["raw"], at_least(0.35) if engine == "sqlite" else None, note)]


def stream(bench: Bench, engine: str) -> list[Line]:
    """One event a message, many messages under way, on several streams."""
    with bench.database(engine) as database, bench.server(database) as server:
        names = bench.create(server, STREAMS)
        job = {"sessions": names, "window": STREAM_WINDOW, "warmup": 0.0}
        results = bench.interleave(
            f"append streams on {engine}",
            {
                "raw": lambda: raw_rows(bench, database, ROWS),
                "threadkeep": lambda: bench.measure(server, "stream", **job),
                "bare stream": lambda: bench.measure(bench.echo, "echo_stream", **job),
            },
        )
    mine, bare = results["threadkeep"], results["bare stream"]
    text = f"append stream, {STREAMS} streams, 1 event a message ÷ {raw_name(engine)}, {ROWS} rows a commit"
    return [
        compared("stream", engine, text, "rate", mine, results["raw"], at_least(0.30), cpu_note(mine, bare)),
        compared("stream", engine, f"  floor: a bare stream, an ack per 32 ÷ {raw_name(engine)}", "rate", bare, results["raw"]),
        compared("stream", engine, "  its rate ÷ a bare stream, an ack per 32", "rate", mine, bare),
    ]


def state(bench: Bench, engine: str) -> list[Line]:
    """Time of an append with a changed value of the session's state, alone and with 64 in flight, where the median grows as the
    rate falls."""
    loads = {"one in flight": 1, f"{IN_FLIGHT} in flight": IN_FLIGHT}
    subjects: dict[str, Subject] = {}
    with bench.database(engine) as database, bench.server(database) as server:
        names = bench.create(server, SESSIONS)
        for load, in_flight in loads.items():
            job = {"sessions": names, "in_flight": in_flight}
            subjects[f"append, {load}"] = functools.partial(bench.measure, server, "append", **job)
            subjects[f"with a delta, {load}"] = functools.partial(bench.measure, server, "append", delta=True, **job)
        results = bench.interleave(f"appends with state on {engine}", subjects)
    lines = []
    for load in loads:
        mine, base = results[f"with a delta, {load}"], results[f"append, {load}"]
        text = f"append with a state delta, {load} ÷ append"
        lines.append(compared("state", engine, text, "p50", mine, base, at_most(1.3)))
    return lines
