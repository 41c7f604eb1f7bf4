"""Assigns tests to pytest-xdist processes: tests that share a server, a build, or a file of the tree run in one process.

Tests of a group run one after another; groups start in the order of PARTS, the slow ones first, so that no slow one starts
last.
"""

from __future__ import annotations

import os
import re
from collections import Counter

import pytest
from xdist.scheduler.loadscope import LoadScopeScheduling

PARTS = (
    "availability",
    "sdk",
    "console",
    "conformance",
    "integrations",
    "deploy",
    "faults",
    "operations",
    "scenarios",
    "feed",
    "chat",
    "api",
    "migration",
    "store",
    "unit",
)
"""The folders of tests, the slowest groups first."""
_ENGINE = re.compile(r"\b(sqlite|postgresql)\b")
_WORKLOAD = re.compile(r"\bpostgresql-\w+-servers\b")
_LANGUAGE = re.compile(r"\b(typescript|go|java|rust|python|browser)\b")
_LONGEST_NAME = 2000
# Tests of these parts share little, so each file is split into several short groups.
_CHUNK = {"store": 40, "unit": 100}


def in_order(items: list[pytest.Item]) -> None:
    """Sorts the tests by PARTS. Raises UsageError for a name that is too long to be sent between processes in each report."""
    if long := next((item for item in items if len(item.nodeid) > _LONGEST_NAME), None):
        raise pytest.UsageError(f"this test needs `ids`, its name has {len(long.nodeid):,} characters: {long.nodeid[:200]}")
    items.sort(key=lambda item: _place(_part(item.nodeid)))


class Spread(LoadScopeScheduling):
    """Distributes tests by group. A group depends only on the test's id, so that it is the same in every process."""

    def __init__(self, config: pytest.Config, log: object = None) -> None:
        super().__init__(config, log)
        self._groups: dict[str, str] = {}
        self._seen: Counter[str] = Counter()

    def _split_scope(self, nodeid: str) -> str:
        if nodeid not in self._groups:
            self._groups[nodeid] = _group(nodeid, self._seen)
        return self._groups[nodeid]


def _part(nodeid: str) -> str:
    folders = nodeid.partition("::")[0].split("/")
    return folders[1] if len(folders) > 2 else ""


def _place(part: str) -> int:
    return PARTS.index(part) if part in PARTS else len(PARTS)


def _group(nodeid: str, seen: Counter[str]) -> str:
    part, (file, _, test) = _part(nodeid), nodeid.partition("::")
    if part in _CHUNK:
        seen[file] += 1
        return f"{file}:{seen[file] // _CHUNK[part]}"
    if part == "sdk":
        return _first(_LANGUAGE, file.replace("test_", "")).replace("browser", "typescript")
    if part == "conformance" and "test_case[" in test:
        # Packages of a language are built in the tree, so builds and runs of a language must not be concurrent.
        language, engine = test.removeprefix("test_case[").split("-")[:2]
        return language if language != "python" else f"{language} {engine}"
    if part == "integrations":
        # Each test of Python's adapters is a program in an environment of its own; those of another language share a build,
        # and Java's and Rust's build the client too.
        language = _first(_LANGUAGE, file.replace("_", " "))
        return language if language in ("java", "rust") else file if language else nodeid
    if part in ("console", "availability"):  # the tests share a browser, or a cluster
        return part
    if part == "feed":  # the tests of a workload share its servers
        return f"feed {_first(_WORKLOAD, test) or _first(_ENGINE, test)}"
    return f"{file} {_first(_ENGINE, test)}"


def _first(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match[0] if match else ""


def worker_number() -> int:
    """The number of this test process, from 0; 0 without pytest-xdist."""
    return int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
