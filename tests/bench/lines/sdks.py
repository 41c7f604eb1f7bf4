"""The overhead of each language's SDK over its bare generated stubs, measured by a program in each language."""

import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tests.bench.harness import Bench, Result, Skip
from tests.bench.processes import output
from tests.bench.report import Line, at_least, at_most, duration, rate
from tests.conformance.drivers import CLIENT, RECIPES, ROOT, Recipe, build
from tests.support.runs.toolchains import missing

STREAM_SECONDS = 300.0
ROUNDS = 7
COST = 0.05
"""Share of a stub's call that the written layer may cost."""


_GO = ROOT / "build" / "bench" / "go"
PROGRAMS: Mapping[str, Recipe] = {
    "python": Recipe((sys.executable, "-m", "tests.bench.sdk_python")),
    "typescript": replace(RECIPES["typescript"], start=("node", "build/bench/bench.js")),
    "go": Recipe((str(_GO),), (("go", "build", "-o", str(_GO), "./internal/bench"),), CLIENT / "go"),
    "java": replace(RECIPES["java"], start=("java", "-cp", "@target/classpath", "dev.threadkeep.bench.Bench")),
    "rust": Recipe(
        ("target/release/examples/bench",), (("cargo", "build", "-q", "--release", "--example", "bench"),), CLIENT / "rust"
    ),
}
"""What starts each takes the server's address and seconds, and prints JSON."""


def sdks(bench: Bench, engine: str) -> list[Line]:
    """Unary appends of one event, and the events of a session followed from its beginning, in every language."""
    lines: list[Line] = []
    for language in PROGRAMS:
        reason = missing(language)
        if reason is not None:
            lines.append(Line("sdks", engine, f"{language}: the SDK ÷ its bare stubs", skipped=reason))
            continue
        bench.say(f"building the bench of {language}")
        build(language, PROGRAMS)
        with bench.database(engine) as database, bench.server(database) as server:
            rounds = []
            for number in range(min(ROUNDS, bench.scale.rounds)):
                bench.say(f"{language} · round {number + 1}")
                rounds.append(_measure(language, server.target, bench.scale.seconds * 4))
        lines += _lines(language, engine, rounds)
    if all(line.skipped for line in lines):
        raise Skip("no language's toolchain is here")
    return lines


def _measure(language: str, target: str, seconds: float) -> Result:
    program = PROGRAMS[language]
    command = [*program.start, target, f"{seconds:g}"]
    result: Result = output(language, command, seconds * 2 + STREAM_SECONDS, program.folder)
    return result


def _lines(language: str, engine: str, rounds: Sequence[Result]) -> list[Line]:
    def median(*path: str) -> float:
        return statistics.median(_at(each, path) for each in rounds)

    def of_pairs(first: Sequence[str], second: Sequence[str]) -> float:
        """The ratio within each round, for a round's two sides were interleaved."""
        return statistics.median(_at(each, first) / _at(each, second) for each in rounds)

    lines = []
    for figure, name, target in (("median_us", "median", at_most(1 + COST)), ("p99_us", "99th percentile", None)):
        mine, base = ("unary", "sdk", figure), ("unary", "stub", figure)
        ours, theirs = duration(median(*mine) / 1e6), duration(median(*base) / 1e6)
        text = f"{language}: an append of 1 KB by the SDK ÷ by the bare stub, {name}"
        lines.append(Line("sdks", engine, text, ours, theirs, of_pairs(mine, base), target))
    sdk, stub = ("stream", "sdk_per_s"), ("stream", "stub_per_s")
    text = f"{language}: events followed by the SDK ÷ by the bare stub"
    ratio = of_pairs(sdk, stub)
    lines.append(Line("sdks", engine, text, rate(median(*sdk)), rate(median(*stub)), ratio, at_least(1 - COST)))
    return lines


def _at(result: Mapping[str, Any], path: Sequence[str]) -> float:
    value: Any = result
    for name in path:
        value = value[name]
    return float(value)
