"""Ranked search, compared with SQLite's own FTS5."""

from __future__ import annotations

import functools
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.bench.harness import Bench, Result, Server
from tests.bench.lines.base import compared
from tests.bench.questions import KINDS, QUESTIONS
from tests.bench.report import Line, at_most, duration, medians

EVENT_BYTES = 400
SESSIONS = 50
HITS = 10
USER = "u000"
SLOWER = 3.0
"""A ranked search may take this many times as long as bare FTS5."""
BY_LENGTH = ((15_000, 120, 0.010), (10_000, 1_100, 0.015))
"""Events of a scope, bytes of each message, and the seconds that half of the ranked searches may take."""


def ranked(bench: Bench, engine: str) -> list[Line]:
    """Questions of rare words, of common ones and of both, in scopes of several sizes."""
    lines: list[Line] = []
    for size in bench.scale.ranked_sizes:
        lines += _ranked(bench, engine, size)
    return lines + [_of_length(bench, engine, *each) for each in BY_LENGTH]


@dataclass(frozen=True, slots=True)
class _Indexed:
    """A server with the messages of one user, all indexed. `seconds`: how long the index took after the load."""

    server: Server
    directory: Path
    sessions: list[tuple[str, str, int, int]]
    seconds: float


@contextmanager
def _indexed(bench: Bench, engine: str, size: int, length: int) -> Iterator[_Indexed]:
    each = size // SESSIONS
    sessions = [(f"s{number:05d}", USER, number * each, each) for number in range(SESSIONS)]
    with bench.database(engine) as database, bench.server(database, index=True) as server:
        bench.load(server, sessions, size=length)
        yield _Indexed(server, database.directory, sessions, bench.wait_for_index(server, size))


def _of_length(bench: Bench, engine: str, most: int, length: int, target: float) -> Line:
    size = most // bench.scale.ranked_share
    with _indexed(bench, engine, size, length) as at:
        question = {"hits": HITS, "user": USER, "in_flight": 1, "min_count": QUESTIONS}
        subjects = {kind: functools.partial(bench.measure, at.server, "ranked", kind=kind, **question) for kind in KINDS}
        results = bench.interleave(f"ranked search of {size:,} messages of {length:,} bytes on {engine}", subjects)
    p50, p95 = (statistics.fmean(medians(rounds)[key] for rounds in results.values()) for key in ("p50", "p95"))
    text = f"ranked search in {size:,} messages of {length:,} bytes, p50"
    details = {"figure": "p50", "measured": [p50], "p95": p95}
    return Line(
        "ranked",
        engine,
        text,
        duration(p50),
        duration(target),
        p50 / target,
        at_most(1),
        f"p95 {duration(p95)}",
        details=details,
    )


def _ranked(bench: Bench, engine: str, size: int) -> list[Line]:
    with _indexed(bench, engine, size, EVENT_BYTES) as at:
        bench.say(f"building the bare FTS5 table of {size:,} events")
        path = str(at.directory / "bare.db")
        job = {"path": path, "sessions": at.sessions, "per_user": size, "size": EVENT_BYTES}
        bench.driver.run("make_fts5", 120 + size * 0.002, **job)
        subjects: dict[str, Callable[[], Result]] = {}
        for kind in KINDS:
            question = {"kind": kind, "hits": HITS, "user": USER, "in_flight": 1, "min_count": QUESTIONS}
            subjects[f"{kind}, bare"] = functools.partial(bench.measure, None, "bare_ranked", path=path, **question)
            subjects[f"{kind}, server"] = functools.partial(bench.measure, at.server, "ranked", **question)
        results = bench.interleave(f"ranked search of {size:,} events on {engine}", subjects)
        echo = bench.measure(bench.echo, "bytes", size=1000, in_flight=1)
    mine, bare = (_mixed(results, side) for side in ("server", "bare"))
    text = f"ranked search in {size:,} events, mean of kinds of questions ÷ bare FTS5 BM25"
    note = f"the index caught up {at.seconds:,.0f} s after the load; an empty call takes {duration(echo['p50'])}"
    first = compared("ranked", engine, text, "p50", mine, bare, at_most(SLOWER), note)
    sides = {kind: (results[f"{kind}, server"], results[f"{kind}, bare"]) for kind in KINDS}
    return [first, *(compared("ranked", engine, f"  {kind}", "p50", *both) for kind, both in sides.items())]


def _mixed(results: dict[str, list[Result]], side: str) -> list[Result]:
    """The mean over the kinds of questions of their medians, for each round."""
    rounds = zip(*(results[f"{kind}, {side}"] for kind in KINDS), strict=True)
    return [{"p50": statistics.fmean(result["p50"] for result in each)} for each in rounds]
