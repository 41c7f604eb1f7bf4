"""One caller's appends while another one compacts, deletes or searches a long session."""

from tests.bench.harness import Bench
from tests.bench.payloads import EVENT_BYTES
from tests.bench.report import Line, at_most, duration

P99_MS = 50
SLOWEST_MS = 250
# The server has no index: a search reads events one by one until its budget is used up, eight at a time.
WORK = {"compact": "compacted", "delete": "deleted", "search": "searched without an index"}
ALONE_SECONDS = 2.0


def neighbors(bench: Bench, engine: str) -> list[Line]:
    """One append in flight, until the other call is answered and for some seconds after it."""
    events = bench.scale.flat_sizes[-1]
    lines = []
    with bench.database(engine) as database, bench.server(database) as server:
        bench.load(server, [("mine", "u000", 0, 1), *((work, "u000", 0, events) for work in WORK)], size=EVENT_BYTES)
        alone = bench.measure(server, "append", sessions=["mine"], in_flight=1, seconds=ALONE_SECONDS)
        for work, done in WORK.items():
            bench.say(f"appends while {events:,} events are {done} on {engine}")
            found = bench.driver.run("append_while", 600.0, target=server.target, sessions=["mine"], work=work)
            text = f"an append while {events:,} events are {done}"
            note = f"the {work} took {duration(found['work'])}; {found['count']:,} appends meanwhile"
            for key, what, bound in (("p99", ": 99th percentile", P99_MS), ("slowest", ": the slowest", SLOWEST_MS)):
                took, target = found[key] * 1e3, at_most(bound, " ms")
                shown = (duration(found[key]), duration(alone[key]))
                lines.append(Line("neighbors", engine, text + what, *shown, took, target, note))
    return lines
