"""Subscriptions: one session's appends to many, how soon an append is delivered, and what an idle subscription costs."""

import contextlib
import functools
import statistics
import time
from collections.abc import Callable, Iterator

from tests.bench.harness import Bench, Result, Server
from tests.bench.lines.base import compared
from tests.bench.processes import cpu_seconds, memory
from tests.bench.report import Line, at_least, at_most, medians, spread

EVENTS_PER_APPEND = 10
# Appends on their way at once: enough to keep the server busy, and few enough that a thousand subscribers cost little memory.
WINDOW = 32
ROUNDS_IDLE = 3
SETTLE_SECONDS = 3.0
OPEN_SECONDS = 300.0


@contextlib.contextmanager
def subscribed(bench: Bench, server: Server, kind: str, sessions: list[str]) -> Iterator[None]:
    """A live stream for each session; `kind` is one of subscribers.STREAMS."""
    bench.driver.run("subscribe", OPEN_SECONDS, target=server.target, kind=kind, sessions=sessions)
    yield
    bench.driver.run("unsubscribe")


def fanout(bench: Bench, engine: str) -> list[Line]:
    """Appends of ten events to one session, by one stream, to more and more subscribers."""
    with bench.database(engine) as database, bench.server(database) as server:
        return [line for count in bench.scale.subscribers for line in _fanout(bench, engine, server, count)]


def _fanout(bench: Bench, engine: str, server: Server, count: int) -> list[Line]:
    sessions = bench.create(server, 1, prefix=f"to{count}-")
    job = {"sessions": sessions, "batch": EVENTS_PER_APPEND, "window": WINDOW, "warmup": 0}
    seen: list[Result] = []

    def threadkeep() -> Result:
        with subscribed(bench, server, "watch", sessions * count):
            seen.append(bench.measure(server, "publish", **job))
        return seen[-1]

    def bare() -> Result:
        # As many bytes in as many messages as the server was last seen to send.
        batching = {key: seen[-1][key] for key in ("per_message", "change_bytes")}
        with subscribed(bench, bench.echo, "bare", sessions * count):
            return bench.measure(bench.echo, "bare_publish", **job, **batching)

    def alone() -> Result:
        result = bench.measure(server, "stream", **job)
        return {"rate": result["rate"] * count}

    subjects = {"threadkeep": threadkeep, "bare": bare, "alone": alone}
    results = bench.interleave(f"{count:,} subscribers on {engine}", subjects)
    mine, base = results["threadkeep"], results["bare"]
    bounds = [{"rate": min(pair[0]["rate"], pair[1]["rate"])} for pair in zip(base, results["alone"], strict=True)]
    cpu = [1e6 * medians(each)["cpu"] for each in (mine, base)]
    per_message = statistics.median(result["per_message"] for result in mine) * EVENTS_PER_APPEND
    note = f"{per_message:,.0f} events a message; server CPU per delivered event {cpu[0]:,.1f} µs, bare {cpu[1]:,.1f} µs"
    text = f"events of a session delivered, subscribers: {count:,} ÷ bare fan-out"
    bound = "  the same ÷ the lower of that and what its appends allow when nobody subscribes"
    return [
        compared("fanout", engine, text, "rate", mine, base, at_least(0.5), note),
        compared("fanout", engine, bound, "rate", mine, bounds),
    ]


def delivery(bench: Bench, engine: str) -> list[Line]:
    """One append at a time until its subscriber has it, on the same server or, on PostgreSQL, on another."""
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(bench.database(engine))
        server = stack.enter_context(bench.server(database))
        sessions = bench.create(server, 1)
        job = {"sessions": sessions, "in_flight": 1}

        def delivered(at: Server) -> Result:
            with subscribed(bench, at, "watch", sessions):
                return bench.measure(server, "deliver", **job)

        subjects: dict[str, Callable[[], Result]] = {
            "append": functools.partial(bench.measure, server, "append", **job),
            "one server": functools.partial(delivered, server),
        }
        if engine == "postgres":
            subjects["two servers"] = functools.partial(delivered, stack.enter_context(bench.server(database)))
        results = bench.interleave(f"deliveries on {engine}", subjects)
    lines = []
    for key, what in (("p50", "median"), ("p99", "99th percentile")):
        text = f"from an append to its delivery, {what} ÷ an append"
        lines.append(compared("delivery", engine, text, key, results["one server"], results["append"], at_most(2)))
        if "two servers" in results:
            text = f"  the same across two servers, {what} ÷ on one"
            lines.append(compared("delivery", engine, text, key, results["two servers"], results["one server"], at_most(3)))
    return lines


def idle(bench: Bench, engine: str) -> list[Line]:
    """Subscriptions to as many sessions in which nothing happens."""
    count = bench.scale.idle_streams

    def threadkeep() -> Result:
        with bench.database(engine) as database, bench.server(database) as server:
            return _idle(bench, server, "watch", bench.create(server, count))

    def bare() -> Result:
        with bench.bare() as server:
            return _idle(bench, server, "idle", [""] * count)

    results = bench.interleave(f"{count:,} idle streams on {engine}", {"threadkeep": threadkeep, "bare": bare}, ROUNDS_IDLE)
    mine, base = results["threadkeep"], results["bare"]
    each = [statistics.median(result["each"] for result in side) for side in (mine, base)]
    busy = [statistics.median(result["busy"] for result in side) for side in (mine, base)]
    note = f"CPU while idle {busy[0]:.1%} of a core over {bench.scale.idle_seconds:g} s, bare {busy[1]:.1%}"
    text = f"memory of {count:,} idle subscriptions ÷ idle bare streams"
    shown = (f"{each[0]:,.1f} KiB each", f"{each[1]:,.1f} KiB each")
    details = {**spread(mine, base, "each"), "busy": [result["busy"] for result in mine]}
    return [Line("idle", engine, text, *shown, each[0] / each[1], at_most(1.3), note, details=details)]


def _idle(bench: Bench, server: Server, kind: str, sessions: list[str]) -> Result:
    time.sleep(SETTLE_SECONDS)
    before = memory(server.pid).resident
    with subscribed(bench, server, kind, sessions):
        time.sleep(SETTLE_SECONDS)
        grown = memory(server.pid).resident - before
        busy = cpu_seconds(server.pid)
        time.sleep(bench.scale.idle_seconds)
        busy = cpu_seconds(server.pid) - busy
    return {"each": grown * 1024 / len(sessions), "busy": busy / bench.scale.idle_seconds}
