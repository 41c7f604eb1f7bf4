"""Appends through each front end, by a load generator in Go that costs less than one in Python."""

import json
from collections.abc import Callable
from contextlib import ExitStack

from tests.bench.echo import UNARY
from tests.bench.harness import Bench, Result, Skip
from tests.bench.lines.base import compared
from tests.bench.processes import output
from tests.bench.report import Line, at_least
from tests.conformance.drivers import CLIENT, ROOT, Recipe, build
from tests.support.runs.toolchains import missing

IN_FLIGHT = (64, 256)
TARGETS = {
    ("envoy", 64): {"sqlite": 0.85, "postgres": 0.85},
    ("envoy", 256): {"sqlite": 1.0, "postgres": 1.0},
    ("grpc", 64): {"sqlite": 0.60, "postgres": 0.55},
}
TOKEN = "bench-token-of-the-fronts"
_LOAD = ROOT / "build" / "bench" / "load"
PROGRAM = Recipe((str(_LOAD),), (("go", "build", "-o", str(_LOAD), "./internal/load"),), CLIENT / "go")


def fronts(bench: Bench, engine: str) -> list[Line]:
    """One event a call, with a credential and a deadline, one connection; each answered once it is durable."""
    if (reason := missing("go")) is not None:
        raise Skip(reason)
    bench.say("building the load generator")
    build("go", {"go": PROGRAM})
    tokens = {"THREADKEEP_AUTH_TOKENS": json.dumps({TOKEN: {"tenant": "bench"}})}
    lines = []
    with ExitStack() as stack:
        targets = {}
        for front in ("grpc", "envoy"):
            database = stack.enter_context(bench.database(engine))
            server = stack.enter_context(bench.started(database, env=tokens | {"THREADKEEP_FRONTEND": front}))
            targets[front] = server.target
        for in_flight in IN_FLIGHT:

            def load(target: str, *more: str, in_flight: int = in_flight) -> Callable[[], Result]:
                return lambda: _load(bench, target, in_flight, *more)

            subjects = {"echo": load(bench.echo.target, "-method", UNARY)} | {
                front: load(target) for front, target in targets.items()
            }
            results = bench.interleave(f"appends through each front end, {in_flight} in flight, on {engine}", subjects)
            for front in targets:
                bound = TARGETS.get((front, in_flight))
                target = None if bound is None else at_least(bound[engine])
                text = f"{front}: append of 1 KB, {in_flight} in flight ÷ echo"
                lines.append(compared("fronts", engine, text, "rate", results[front], results["echo"], target))
                text = "  its 99th percentile ÷ the echo's"
                lines.append(compared("fronts", engine, text, "p99", results[front], results["echo"]))
    return lines


def _load(bench: Bench, target: str, in_flight: int, *more: str) -> Result:
    scale = bench.scale
    command = [*PROGRAM.start, "-address", target, "-in-flight", str(in_flight), "-token", TOKEN]
    command += ["-warm-up", f"{scale.warmup:g}s", "-for", f"{scale.seconds:g}s", *more]
    result: Result = output("load", command, scale.seconds + 120)
    return result
