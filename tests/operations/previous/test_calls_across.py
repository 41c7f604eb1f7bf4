"""The calls of the previous version's client on a present server, and those of the present client on a previous server: the
previous version's conformance cases, whose answers both know."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import cases
from tests.conformance.cases import Case, Step
from tests.conformance.drivers import Driver, Recipe
from tests.conformance.runner import StepFailed, run_case
from tests.support.runs.thoroughness import some
from tests.support.servers.server_process import ForkServer, ServerProcess, fork_server

from .source import environment

_OF_THE_GATEWAY = {"gateway", "cut", "restart"}
"""Steps that need a gateway before the server, or other servers; and so do connections `via` them."""


class _Server:
    """What the steps of the cases may use."""

    def __init__(self, address: str) -> None:
        self.address = self.gateway_address = address

    def rules(self, rules: list[Mapping[str, Any]]) -> None:
        """There is no gateway, and no case that needs one."""

    def cut(self) -> None:
        raise AssertionError("a case needs the gateway")

    async def restart(self, how: str, name: str = "") -> None:
        raise AssertionError("a case restarts the server")

    async def other(self, name: str) -> str:
        raise AssertionError("a case needs another server")


def _is_plain(steps: list[Step]) -> bool:
    return all(
        step.kind not in _OF_THE_GATEWAY and "via" not in step.said and all(map(_is_plain, map(list, step.lists)))
        for step in steps
    )


def _chosen(every: Path, folder: Path) -> list[Case]:
    """Returns the cases of the run: in the short form, of some files, because reading all takes seconds."""
    folder.mkdir()
    for path in some(sorted(every.glob("*.yaml")), 16):
        (folder / path.name).symlink_to(path)
    known, problems = cases.read(folder)
    assert not problems
    return [case for case in known if _is_plain(list(case.steps))]


@pytest.mark.parametrize("which", ["previous client", "previous server"])
async def test_calls_are_answered_as_before(which: str, previous: Path, previous_servers: ForkServer, tmp_path: Path) -> None:
    chosen = _chosen(previous / "tests/conformance/cases", tmp_path / "cases")
    assert len(chosen) > 10
    recipe = Recipe((sys.executable, "-m", "tests.conformance.python_driver"), folder=previous)
    old = which == "previous client"
    driver = Driver("python", recipe, environment(previous)) if old else Driver("python")
    with ServerProcess(fork_server() if old else previous_servers, tmp_path) as server:
        await asyncio.to_thread(server.start)
        try:
            failures = [failure for case in chosen if (failure := await _failure(case, driver, _Server(server.address)))]
        finally:
            await driver.close()
    assert not failures, "\n\n".join(failures[:5])


async def _failure(case: Case, driver: Driver, around: _Server) -> str | None:
    try:
        await run_case(case, driver, around)
    except StepFailed as error:
        return str(error)
    return None
