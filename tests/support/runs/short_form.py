"""The tests that the short form leaves out.

A test that differs by its engine alone runs on one of them: half of the tests on each. What docs/guarantees.md names runs on
both in every run, and so do the parts whose subject is that all answer alike. Of a suite that runs again on a variant of a
store, and is marked `sampled(n)`, one test of n runs.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import pytest

from .thoroughness import LONG

_ROOT = Path(__file__).parents[3]
_PARAMETERS = re.compile(r"\[.*\]$", re.DOTALL)
_ENGINE = re.compile(r"\b(sqlite|postgres(?:ql)?)\b")
_GUARANTEED = re.compile(r"`(tests/[\w./]+)`")
_ALIKE = ("tests/conformance", "tests/migration")


def leave_out(config: pytest.Config, items: list[pytest.Item], gone: Collection[pytest.Item]) -> None:
    """Deselects these tests."""
    if gone:
        config.hook.pytest_deselected(items=[*gone])
        items[:] = [item for item in items if item not in gone]


def turn_of(test: str) -> int:
    """Returns a number that is the same in every process, to take variants of tests in turn."""
    return zlib.crc32(test.encode())


def given(item: pytest.Item) -> Mapping[str, object]:
    """Returns the parameters of a test."""
    return item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}


def left_out(items: Sequence[pytest.Item]) -> set[pytest.Item]:
    """Returns the tests that this run leaves out. Of a test that was selected on one engine, nothing."""
    if LONG:
        return set()
    both = (*_ALIKE, *_GUARANTEED.findall((_ROOT / "docs/guarantees.md").read_text()))
    by_test: dict[str, dict[str, list[pytest.Item]]] = defaultdict(lambda: defaultdict(list))
    for item in items:
        parameters = _PARAMETERS.search(item.nodeid)
        engine = parameters and _ENGINE.search(parameters[0])
        if parameters and engine and not item.nodeid.startswith(both):
            test = item.nodeid[: parameters.start()] + _ENGINE.sub("", parameters[0])
            by_test[test][engine[0][:6]].append(item)
    found = _not_in_sample(items)
    for test, by_engine in by_test.items():
        if len(by_engine) > 1:
            found.update(by_engine[sorted(by_engine)[turn_of(test) % 2]])
    return found


def _not_in_sample(items: Sequence[pytest.Item]) -> set[pytest.Item]:
    """Returns what the marker `sampled(n)` leaves out: of the tests of each class of rows, the first one of n runs."""
    found: set[pytest.Item] = set()
    seen: Counter[str] = Counter()
    for item in items:
        if marker := item.get_closest_marker("sampled"):
            name: str = item.function.__qualname__  # type: ignore[attr-defined]
            rows = f"{item.nodeid.rpartition('::')[0]} {name.rpartition('.')[0]}"
            if seen[rows] % marker.args[0]:
                found.add(item)
            seen[rows] += 1
    return found
