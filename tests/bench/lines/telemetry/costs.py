"""What measuring and tracing cost: appends to servers that differ in nothing else."""

import contextlib
import functools
from collections.abc import Iterator, Mapping

from tests.api.telemetry.collector import collecting
from tests.bench.harness import Bench, Result, Server
from tests.bench.lines.appends import SESSIONS
from tests.bench.lines.base import compared
from tests.bench.lines.telemetry import instruments
from tests.bench.processes import module
from tests.bench.report import Line, at_least, at_most, medians

MOST_SLOWER = 0.97
MOST_WORK = 0.03
# Two measurements of one server differ by a tenth, hence many short ones in turn. What the control differs by is noise.
SLICES = 24
_NAMES = [f"s{number:05d}" for number in range(SESSIONS)]
_LINES = {
    "measured": ("append with metrics", at_least(MOST_SLOWER)),
    "sampled": ("append with metrics, and 1 % of the calls traced", at_least(MOST_SLOWER)),
    "traced": ("append with metrics, and every call traced", None),
    "control": ("append without metrics, by another server", None),
}


def telemetry(bench: Bench, engine: str) -> list[Line]:
    """The same appends, 64 in flight, to a server without its measuring, to one with it, and to ones that trace calls."""
    results: dict[str, list[Result]] = {}
    for number in range(bench.scale.rounds):
        bench.say(f"telemetry on {engine} · round {number + 1} of {bench.scale.rounds}")
        for name, result in _round(bench, engine):
            results.setdefault(name, []).append(result)
    base = results.pop("without")
    lines = []
    for name, (text, target) in _LINES.items():
        cost = (medians(results[name])["cpu"] / medians(base)["cpu"] - 1) * 100
        micros = (medians(results[name])["cpu"] - medians(base)["cpu"]) * 1e6
        note = f"{cost:+.1f} % of the server's CPU, {micros:+,.0f} µs per append"
        lines.append(compared("telemetry", engine, f"{text} ÷ without", "rate", results[name], base, target, note))
    return [*_alone(engine, medians(base)["cpu"]), *lines]


def _alone(engine: str, append: float) -> list[Line]:
    """The work itself, timed without a server, as a part of the CPU time of an append. Unlike the rates, it hardly depends on
    what else the machine does."""
    lines = []
    for text, traces in (("metrics", None), ("metrics, and traces of 1 %", instruments.tracer(0.01))):
        work = instruments.seconds(traces)
        named = f"the work of {text} ÷ CPU time of an append without"
        details = {"figure": "cpu", "work": work, "append": append}
        shown = f"{work * 1e6:.1f} µs", f"{append * 1e6:,.0f} µs"
        lines.append(Line("telemetry", engine, named, *shown, work / append, at_most(MOST_WORK), details=details))
    return lines


def _round(bench: Bench, engine: str) -> Iterator[tuple[str, Result]]:
    """Measures new servers in turn, each as often the first as the last."""
    time = {"seconds": bench.scale.seconds / 4, "warmup": bench.scale.warmup / 4}
    with contextlib.ExitStack() as stack:
        endpoint = stack.enter_context(collecting()).endpoint
        export = {"THREADKEEP_EXPORT_TRACES": "otlp", "THREADKEEP_OTLP_ENDPOINT": endpoint}
        sampled = export | {"THREADKEEP_TRACES_SAMPLER": "traceidratio", "THREADKEEP_TRACES_SAMPLER_RATIO": "0.01"}
        start = functools.partial(_server, bench, engine)
        servers = {
            "without": stack.enter_context(start({}, measured=False)),
            "control": stack.enter_context(start({}, measured=False)),
            "measured": stack.enter_context(start({})),
            "sampled": stack.enter_context(start(sampled)),
            "traced": stack.enter_context(start(export)),
        }
        for server in servers.values():
            bench.driver.run("create", target=server.target, sessions=_NAMES)
        for number in range(SLICES):
            first = number % len(servers)
            for name in [*servers][first:] + [*servers][:first]:
                yield name, bench.measure(servers[name], "append", sessions=_NAMES, **time)
        for server in servers.values():
            bench.driver.run("forget", target=server.target)


@contextlib.contextmanager
def _server(bench: Bench, engine: str, env: Mapping[str, str], *, measured: bool = True) -> Iterator[Server]:
    command = None if measured else [*module("tests.bench.lines.telemetry.unmeasured"), "serve"]
    with bench.database(engine) as database, bench.started(database, env=env, command=command) as server:
        yield server
