"""The same cost at the beginning and at the end of a long session, and with few and many sessions."""

import functools
from collections.abc import Callable

from tests.bench.harness import Bench, Result, Subject
from tests.bench.lines.base import compared
from tests.bench.payloads import EVENT_BYTES
from tests.bench.processes import ChildError
from tests.bench.report import Line, Target, at_most

WARMUP = 0.1
CALLS = 250  # of one kind in one round: few, because appends and pops give the sessions another length than their label says
FEW = 100  # sessions of the baseline of lists
ORDERS: dict[str, tuple[str, Target | None]] = {
    "CREATED_LAST_FIRST": ("by creation", at_most(1.3)),
    "UPDATED_LAST_FIRST": ("by update", None),  # it sorts those updated in the same minute, here nearly all
}


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


def pop(bench: Bench, engine: str) -> list[Line]:
    """Latency of a lone pop of one event, by how many events the window holds, and that of a lone append."""
    short, long = bench.scale.flat_sizes[:2]
    many = bench.scale.flat_sessions
    sessions = {
        short: [f"n{short}-{n:03d}" for n in range(many)],
        long: [f"n{long}-{n:03d}" for n in range(max(many // 10, 1))],
    }
    calls = min(CALLS, many * short // (2 * bench.scale.rounds))
    with bench.database(engine) as database, bench.server(database) as server:
        wanted = [(name, "u000", 0, size) for size, names in sessions.items() for name in names]
        bench.load(server, [*wanted, ("appended", "u000", 0, short)], size=EVENT_BYTES)
        job = {"in_flight": 1, "warmup": 0.0, "max_count": calls}
        subjects: dict[str, Subject] = {
            "append": functools.partial(bench.measure, server, "append", sessions=["appended"], **job),
            "pop": functools.partial(bench.measure, server, "pop", sessions=sessions[short], **job),
            "pop of a long window": functools.partial(bench.measure, server, "pop", sessions=sessions[long], **job),
        }
        results = bench.interleave(f"pops on {engine}", subjects)
    popped = results["pop"]
    if any(result["bytes"] < EVENT_BYTES for result in popped):
        raise ChildError("a pop returned no event: the windows were too short")
    text = f"pop of an event in a window of {long:,} events ÷ of {short:,}"
    return [
        compared("pop", engine, text, "p50", results["pop of a long window"], popped, at_most(1.3)),
        compared("pop", engine, "pop of an event, one in flight ÷ append", "p50", popped, results["append"]),
    ]


def listed(bench: Bench, engine: str) -> list[Line]:
    """Latency of a page of 20 sessions, by how many sessions the user has, in a database each."""
    many = bench.scale.listed_sessions
    with (
        bench.database(engine) as small,
        bench.server(small) as of_few,
        bench.database(engine) as large,
        bench.server(large) as of_many,
    ):
        servers = {FEW: of_few, many: of_many}
        subjects: dict[str, Subject] = {}
        for count, server in servers.items():
            bench.say(f"creating {count:,} sessions")
            names = [f"s{number:06d}" for number in range(count)]
            bench.driver.run("create", 60 + count * 0.01, target=server.target, sessions=names)
            for order in ORDERS:
                measure = functools.partial(bench.measure, server, "list_sessions", order=order, in_flight=1)
                subjects[f"{count} {order}"] = measure
        results: dict[str, list[Result]] = bench.interleave(f"lists of sessions on {engine}", subjects)
    return [
        compared(
            "list-sessions",
            engine,
            f"page of 20 of {many:,} sessions, {text} ÷ of {FEW}",
            "p50",
            results[f"{many} {order}"],
            results[f"{FEW} {order}"],
            target,
        )
        for order, (text, target) in ORDERS.items()
    ]
