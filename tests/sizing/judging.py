"""What a soak found: whether memory is flat, nothing leaks and no latency drifts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import Any

from threadkeep.cli.commands.bench.measured import AROUND

MOST_SLOPE = 2.0
"""MiB an hour: at the five calls and deliveries a second of a soak, 100 bytes for each."""
MOST_MORE = 1
"""Descriptors and threads: a server opens one or two late, for a pool or a file that is needed seldom."""
MOST_DRIFT = 1.5
"""Latency of the last third of the rounds ÷ that of the first."""
WARM_UP = 1 / 3
"""This share of the rounds, and at least two, is not judged: caches fill."""
FEWEST = 6
"""Rounds after the warm-up, before which slopes are noise."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One judgment; `passed` is None where it is too early."""

    what: str
    found: str
    passed: bool | None

    def __str__(self) -> str:
        return f"{ {True: 'pass', False: 'FAIL', None: 'early'}[self.passed]:5}  {self.what}: {self.found}"


Round = Mapping[str, Any]
"""One round of load: `hours` since the start, medians `anonymous` and `control_ms`, `descriptors` and `threads` after it, and
`p50_ms` by operation, `exact`, `errors`."""


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Returns the median slope of all pairs of points (Theil and Sen): a few outliers do not change it."""
    found = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in combinations(points, 2) if b[0] != a[0]]
    return median(found) if found else 0.0


def judge(rounds: Sequence[Round]) -> list[Verdict]:
    """Judges the rounds so far."""
    judged = rounds[max(2, round(len(rounds) * WARM_UP)) :]
    early = len(judged) < FEWEST
    exact = [each for each in rounds if each["exact"] and not each["errors"]]
    found = [Verdict("rounds exact and without errors", f"{len(exact)} of {len(rounds)}", len(exact) == len(rounds))]
    if not judged:
        return found
    growth = slope([(each["hours"], each["anonymous"]) for each in judged])
    calls = sum(sum(each["counts"].values()) for each in rounds) / rounds[-1]["hours"]
    level = f"{growth:+.2f} MiB/h at {median(each['anonymous'] for each in judged):.1f} MiB"
    level += f", {growth * 2**20 / calls:.0f} bytes a call"
    found.append(Verdict("memory is flat", level, None if early else growth <= MOST_SLOPE))
    first, last = _thirds(judged)
    for name in ("descriptors", "threads"):
        before, after = (max(each[name] for each in third) for third in (first, last))
        found.append(Verdict(f"no {name} leak", f"{before} → {after}", None if early else after <= before + MOST_MORE))
    control = _ratio(first, last, lambda each: each["control_ms"])
    for operation in sorted({name for each in judged for name in each["p50_ms"]}.difference(AROUND)):
        raw = _ratio(first, last, lambda each, name=operation: each["p50_ms"].get(name))
        text = f"× {raw:.2f}, of a call without the database × {control:.2f}"
        found.append(Verdict(f"{operation} does not drift", text, None if early else min(raw, raw / control) <= MOST_DRIFT))
    return found


def _thirds(rounds: Sequence[Round]) -> tuple[Sequence[Round], Sequence[Round]]:
    size = max(1, len(rounds) // 3)
    return rounds[:size], rounds[-size:]


def _ratio(first: Sequence[Round], last: Sequence[Round], value: Any) -> float:
    before, after = ([found for each in rounds if (found := value(each))] for rounds in (first, last))
    return median(after) / median(before) if before and after else 1.0
