"""One caller's appends while another one does its worst: long work on a session, or requests that abuse the server."""

import json
from pathlib import Path

from tests.bench import processes
from tests.bench.harness import Bench, Result, Server
from tests.bench.payloads import EVENT_BYTES
from tests.bench.report import Line, at_most, duration

P99_MS = 50
SLOWEST_MS = 250
# The server has no index: a search reads events one by one until its budget is used up, eight at a time.
WORK = {"compact": "compacted", "delete": "deleted", "search": "searched without an index", "ingest": "ingested"}
ALONE_SECONDS = 2.0
ALONE = "compacted-alone"
# For 100,000 events.
COMPACTED_WITHIN_S = {"sqlite": 2, "postgres": 6}

TOKEN, ABUSER = "token-of-the-neighbor", "token-of-the-abuser"
_MINE = "mine00000"
ABUSE_P99_MS = 250
ABUSE_SLOWEST_MS = 1000
ABUSE_SECONDS = 10.0
FRONTS = ("grpc", "envoy")
# What the server holds of a refused request and of the calls in flight; twice the largest batch, for each of two ports.
GROWTH_MIB = 256
ABUSE = {
    "json": "another caller sends 19 KB that are 10,000,000 numbers of JSON",
    "grpc": "another caller sends 20 KB that are 10,000,000 empty events",
    "filters": "another caller sends 1,000,000 author filters",
    "calls": "another caller has 3,000 reads in flight",
    "connections": "another caller has 1,100 half-sent requests",
}


def neighbors(bench: Bench, engine: str) -> list[Line]:
    """One append in flight, until the other call is answered and for some seconds after it."""
    events = bench.scale.flat_sizes[-1]
    lines = []
    with bench.database(engine) as database, bench.server(database) as server:
        long = [(name, "u000", 0, events) for name in (ALONE, *WORK)]
        bench.load(server, [("mine", "u000", 0, 1), *long], size=EVENT_BYTES)
        alone = bench.measure(server, "append", sessions=["mine"], in_flight=1, seconds=ALONE_SECONDS)
        for work, done in WORK.items():
            bench.say(f"appends while {events:,} events are {done} on {engine}")
            found = bench.driver.run("append_while", 600.0, target=server.target, sessions=["mine"], work=work)
            note = f"the {work} took {duration(found['work'])}; {found['count']:,} appends meanwhile"
            text = f"an append while {events:,} events are {done}"
            lines += _lines(engine, text, found, alone, (P99_MS, SLOWEST_MS), note)
        took = bench.driver.run("timed", 600.0, target=server.target, work="compact", session=ALONE)["seconds"]
        target = at_most(COMPACTED_WITHIN_S[engine], " s")
        text = f"a compaction of {events:,} events while nobody else calls"
        lines.append(Line("neighbors", engine, text, duration(took), "", took, target))
    return lines


def abusers(bench: Bench, engine: str) -> list[Line]:
    """One append in flight while another caller, in a process of its own, abuses the server, through each front end."""
    (bench.root / "tokens.json").write_text(json.dumps([TOKEN]))
    return [line for front in FRONTS for kind in ABUSE for line in _abused(bench, engine, front, kind)]


def _abused(bench: Bench, engine: str, front: str, kind: str) -> list[Line]:
    """A server for each kind, because memory is measured too; not behind Envoy, where it would count Envoy's."""
    port, done = processes.free_port(), ABUSE[kind]
    with bench.database(engine) as database, bench.started(database, env=_settings(port, front)) as server:
        bench.driver.run("create", target=server.target, sessions=[_MINE], token=TOKEN)
        job = {"sessions": [_MINE], "tokens": str(bench.root / "tokens.json"), "in_flight": 1}
        alone = bench.measure(server, "append", **job, seconds=ALONE_SECONDS)
        bench.say(f"appends while {done}, through {front} on {engine}")
        before = processes.memory(server.pid).resident
        log = database.directory / "abuser.log"
        ports = (server.target.rpartition(":")[2], str(port))
        with processes.child(processes.module("tests.bench.abusers", kind, *ports, str(ABUSE_SECONDS), ABUSER), log) as abuser:
            found = bench.measure(server, "append", **job, seconds=ABUSE_SECONDS)
            abuser.wait(ABUSE_SECONDS + 90)
        note = f"{_tried(log)}; {found['count']:,} appends meanwhile"
        lines = _lines(engine, f"{front}: an append while {done}", found, alone, (ABUSE_P99_MS, ABUSE_SLOWEST_MS), note)
        if front == "grpc":
            growth, text = _peak(server) - before, f"memory of the server while {done}"
            target, note = at_most(GROWTH_MIB, " MiB"), f"from {before:,.0f} MiB"
            lines.append(Line("abusers", engine, text, f"{growth:,.0f} MiB", "", growth, target, note))
        bench.driver.run("forget", target=server.target)
    return lines


def _lines(engine: str, text: str, found: Result, alone: Result, bounds: tuple[int, int], note: str) -> list[Line]:
    name = "neighbors" if bounds[0] == P99_MS else "abusers"
    lines = []
    for key, what, bound in zip(("p99", "slowest"), (": 99th percentile", ": the slowest"), bounds, strict=True):
        shown, target = (duration(found[key]), duration(alone[key])), at_most(bound, " ms")
        lines.append(Line(name, engine, text + what, *shown, found[key] * 1e3, target, note))
    return lines


def _settings(port: int, front: str) -> dict[str, str]:
    callers = {TOKEN: {"tenant": "acme"}, ABUSER: {"tenant": "acme", "user_id": "u000"}}
    return {
        "THREADKEEP_FRONTEND": front,
        "THREADKEEP_HTTP_ADDRESS": f"127.0.0.1:{port}",
        "THREADKEEP_AUTH_TOKENS": json.dumps(callers),
    }


def _tried(log: Path) -> str:
    """What the abuser reports in its last line."""
    last = processes.tail(log, 1)
    try:
        result = json.loads(last)
    except ValueError:
        raise processes.ChildError(f"the abuser failed:\n{processes.tail(log)}") from None
    return f"{result['tried']:,} requests, {result['accepted']:,} accepted"


def _peak(server: Server) -> float:
    """The most resident memory of the process so far, in MiB."""
    for line in Path(f"/proc/{server.pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("no VmHWM")
