"""The option `--cpu`: prints at the end how much processor time each folder of tests took, with the processes it started.

What a test started counts for the folder whose tests run in its test process then. A process that outlives its parent does not
count, and programs of tests.support.programs count for the test process that started the first one.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

COLLECTING = "collecting"
"""What test processes do before their first test."""
_TICKS = os.sysconf("SC_CLK_TCK")
_OUTPUT = "cpu"


class CpuTimes:
    """Measures one test process, and in the process that prints also adds up what the others have measured."""

    def __init__(self) -> None:
        self._spent: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
        self._ended: dict[str, float] = {}
        self._place = ""
        self._before = (0.0, time.monotonic())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
        file = item.nodeid.partition("::")[0]
        if file != self._place:  # looking at all processes after each test would take longer than most tests
            self._add(_folder(self._place))
            self._place = file
        self._spent[_folder(file)][2] += 1
        return (yield)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._place:
            self._add(_folder(self._place))
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[_OUTPUT] = dict(self._spent)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        for folder, numbers in getattr(node, "workeroutput", {}).get(_OUTPUT, {}).items():
            for place, number in enumerate(numbers):
                self._spent[folder][place] += number

    @pytest.hookimpl(optionalhook=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if node := getattr(report, "node", None):
            self._ended[node.gateway.id] = time.monotonic()

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        own = sum(os.times()[:2])
        terminalreporter.section("processor time")
        for line in lines(self._spent):
            terminalreporter.write_line(line)
        if self._ended:
            last = max(self._ended.values())
            idle = ", ".join(f"{name} {last - ended:.0f} s" for name, ended in sorted(self._ended.items()))
            terminalreporter.write_line(f"{own:8.1f} s of the process that assigns tests")
            terminalreporter.write_line(f"without a test at the end: {idle}")

    def _add(self, folder: str) -> None:
        now = (spent_by_this_process(), time.monotonic())
        spent = self._spent[folder]
        spent[0] += now[0] - self._before[0]
        spent[1] += now[1] - self._before[1]
        self._before = now


def lines(spent: Mapping[str, list[float]]) -> Iterator[str]:
    """Yields a line for each folder, the most expensive first, and the sum."""
    for folder, (cpu, wall, tests) in sorted(spent.items(), key=lambda each: -each[1][0]):
        yield f"{cpu:8.1f} s in {wall:7.1f} s {tests:6.0f} tests  {folder}"
    yield f"{sum(cpu for cpu, _, _ in spent.values()):8.1f} s in all"


def spent_by_this_process() -> float:
    """Returns its seconds, with those of the processes that it started."""
    return sum(os.times()[:4]) + _live_descendants()


def _folder(file: str) -> str:
    """Returns the first folders of a test file, three at most: tests/api/cli."""
    return "/".join(file.split("/")[:-1][:3]) or COLLECTING


def _live_descendants() -> float:
    """Returns the seconds of processes that started from this one and have not ended, with those that they waited for."""
    parents: dict[int, int] = {}
    seconds: dict[int, float] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            pid = int(stat.parent.name)
            parents[pid] = int(fields[1])
            seconds[pid] = sum(map(int, fields[11:15])) / _TICKS
    found, todo = 0.0, {os.getpid()}
    while todo:
        todo = {pid for pid, parent in parents.items() if parent in todo}
        found += sum(seconds[pid] for pid in todo)
    return found
