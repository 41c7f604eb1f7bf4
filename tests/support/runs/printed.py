"""Prints measurements of tests when the run ends, also from tests in other processes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Say = Callable[[str], None]
_SAID = "said"


@pytest.fixture
def say(request: pytest.FixtureRequest) -> Say:
    """Adds a line for the end of the run."""
    return lambda line: request.node.user_properties.append((_SAID, line))


def print_said(terminal: pytest.TerminalReporter) -> None:
    """Prints the lines of passed and failed tests."""
    reports = [report for kind in ("passed", "failed") for report in terminal.stats.get(kind, ()) if report.when == "call"]
    lines = [value for report in reports for name, value in report.user_properties if name == _SAID]
    if lines:
        terminal.section("measured")
        for line in lines:
            terminal.write_line(line)
