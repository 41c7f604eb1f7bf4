"""The guide to two servers is followed to the letter: every block runs, in one shell, and prints what the page shows."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.databases.postgres import HOW_TO_INSTALL, PostgresCluster, find_binaries
from tests.support.documents import Block, blocks_of
from tests.support.programs.python import make_program
from tests.support.runs.toolchains import lacks
from tests.support.servers.oidc_issuer import oidc_issuer
from tests.support.servers.server_process import free_port

_PAGE = Path(__file__).parents[2] / "docs" / "operations" / "two-servers.md"
_DEFAULTS = {"GRPC": "7443", "HTTP": "7480"}
_PORTS = (*_DEFAULTS.values(), "7444", "7481", "7543", "7580")
_NOT_RUN = {
    "python3 -m venv": "installs from a package index; tests/deploy installs the wheel from its file",
    ".venv/bin/pip": "the same",
    "curl -fsS https://login.example": "depends on the reader's issuer; the test signs a token",
}
"""Blocks in `console`, by what they begin with, and why."""
_AFTER = "echo -- after block {}"


def _files(blocks: list[Block], folder: Path, replaced: dict[str, str]) -> None:
    for block in blocks:
        first, _, _ = block.code.partition("\n")
        (folder / first.removeprefix("# ")).write_text(_replace(block.code, replaced))


def _replace(text: str, replaced: dict[str, str]) -> str:
    return re.sub("|".join(map(re.escape, replaced)), lambda found: replaced[found[0]], text)


@pytest.mark.postgres
def test_the_page_leads_from_nothing_to_two_servers(tmp_path: Path) -> None:
    blocks = blocks_of(_PAGE)
    for block in blocks:
        if block.language == "console":
            assert block.code.startswith(tuple(_NOT_RUN)), block
    binaries = find_binaries()
    if binaries is None:
        lacks(HOW_TO_INSTALL)
    programs = tmp_path / "programs"
    programs.mkdir()
    make_program(programs / "threadkeep", "-m", "threadkeep.cli")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("THREADKEEP_")}
    path = f"{programs}:{binaries}:{os.environ['PATH']}"
    work = tmp_path / "work"
    work.mkdir()
    # Of its own: the page names the role and the databases, and other tests have such, too.
    with PostgresCluster(binaries) as postgres, oidc_issuer() as issuer:
        place = {"PGHOST": "127.0.0.1", "PGPORT": str(postgres.port), "PGUSER": "test"}
        replaced = {port: str(free_port()) for port in _PORTS}
        defaults = {f"THREADKEEP_{name}_ADDRESS": f"127.0.0.1:{replaced[port]}" for name, port in _DEFAULTS.items()}
        replaced |= {"5432": str(postgres.port), "https://login.example": issuer.url}
        _files([block for block in blocks if block.language in {"toml", "yaml"}], work, replaced)
        (work / "token.jwt").write_text(issuer.token(roles=["threadkeep:admin", "threadkeep:ops"]))
        ran = [block for block in blocks if block.language == "sh"]
        script = "".join(f"{_replace(block.code, replaced)}{_AFTER.format(number)}\n" for number, block in enumerate(ran))
        try:
            shell = ["timeout", "240", "bash", "-euo", "pipefail", "-c", script]
            done = subprocess.run(
                shell, cwd=work, env={**kept, **place, **defaults, "PATH": path}, capture_output=True, text=True, check=False
            )
        finally:
            _stop(work)
    logs = "".join(log.read_text() for log in work.glob("*.log"))
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}\n{logs}"
    rest = done.stdout
    for number, block in enumerate(ran):
        printed, _, rest = rest.partition(f"-- after block {number}\n")
        if block.printed is not None:
            assert printed.split() == block.printed.split(), block
    assert done.stdout.count("A table for two.") == 3  # by the other server, by the restored copy, and after the upgrade
    assert '"level": "error"' not in logs


def _stop(work: Path) -> None:
    """Ends what a failed script has left."""
    for file in work.glob("*.pid"):
        with suppress(ProcessLookupError, ValueError):
            os.kill(int(file.read_text()), signal.SIGTERM)
