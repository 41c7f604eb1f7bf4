"""The wheel, installed from its file by uvx and by pipx as a user would: it serves within five seconds and stops on SIGTERM."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.runs.printed import Say
from tests.support.runs.thoroughness import LONG
from tests.support.runs.toolchains import lacks
from tests.support.servers.server_process import free_port
from threadkeep import Client, user

ROOT = Path(__file__).parents[2]
UV = str(Path(sys.executable).with_name("uv"))
WITHIN = 5.0
"""Seconds from the command to the first answer: of work, and of the clock where a core is free."""
_WAIT = 180.0
_TICKS = os.sysconf("SC_CLK_TCK")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("wheel")
    subprocess.run((UV, "build", "--quiet", "--wheel", "--out-dir", str(folder)), cwd=ROOT, check=True, timeout=300)
    [found] = folder.glob("threadkeep-*.whl")
    return found


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Nothing of this checkout: the versions of the lock file, which setting up has downloaded already."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("THREADKEEP_", "VIRTUAL_ENV"))}
    return kept | {
        "UV_CONSTRAINT": str(ROOT / "requirements-serve.lock"),
        "UV_TOOL_DIR": str(tmp_path / "tools"),
        "PIPX_HOME": str(tmp_path / "pipx"),
        "UV_PYTHON": sys.executable,
    }


def test_uvx_serves_from_the_file(wheel: Path, environment: dict[str, str], tmp_path: Path, say: Say) -> None:
    command = (UV, "tool", "run", "--quiet", "--from", f"{wheel}[server]", "threadkeep")
    began = time.monotonic()
    installed = subprocess.run(
        (*command, "--help"), cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=600
    )
    assert installed.returncode == 0, installed.stderr
    downloads = time.monotonic() - began
    work, clock = serves((*command, "serve"), tmp_path, environment)
    say(f"uvx from the wheel: installed in {downloads:.1f} s, serves after {clock:.1f} s ({work:.1f} s of work)")
    assert_in_time(work, clock)


@pytest.mark.skipif(not LONG, reason="pipx installs with pip, which takes half a minute")
def test_pipx_serves_from_the_file(wheel: Path, environment: dict[str, str], tmp_path: Path, say: Say) -> None:
    pipx = shutil.which("pipx")
    if pipx is None:
        lacks("not tested, pipx is missing: apt-get install --no-install-recommends pipx")
    bin_folder = tmp_path / "bin"
    install = (pipx, "install", "--python", sys.executable, f"{wheel}[server]")
    subprocess.run(install, cwd=tmp_path, env=environment | {"PIPX_BIN_DIR": str(bin_folder)}, check=True, timeout=900)
    work, clock = serves((str(bin_folder / "threadkeep"), "serve"), tmp_path, environment)
    say(f"pipx from the wheel: serves after {clock:.1f} s ({work:.1f} s of work)")
    assert_in_time(work, clock)


def assert_in_time(work: float, clock: float) -> None:
    """In the long form only: the suite shares its machine with other tests, and may run on a slow one."""
    assert work > 0.5, "the children of the command are counted"
    if LONG:
        assert work < WITHIN
        assert clock < WITHIN or os.getloadavg()[0] > 0.5 * (os.cpu_count() or 1)


def serves(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> tuple[float, float]:
    """Starts the command, appends and reads, stops it. Returns the seconds of work and of the clock until it was ready."""
    grpc, http = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
    settings = {"THREADKEEP_GRPC_ADDRESS": grpc, "THREADKEEP_HTTP_ADDRESS": http, "THREADKEEP_DATA_DIR": str(folder / "data")}
    log = folder / "log"
    began = time.monotonic()
    with log.open("w") as output:
        process = subprocess.Popen(command, cwd=folder, env={**environment, **settings}, stdout=output, stderr=output)
    try:
        while not _ready(http):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < began + _WAIT, log.read_text()
            time.sleep(0.02)
        clock, work = time.monotonic() - began, _work(process.pid)
        with Client(grpc, app="a", user_id="u") as client:
            client.append("s", user("from a wheel"), create_if_missing=True)
            assert [event.text for event in client.events("s")] == ["from a wheel"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) in (0, -signal.SIGTERM, 128 + signal.SIGTERM), log.read_text()
        assert "stopped" in log.read_text()
    finally:
        process.kill()
        process.wait(60)
    return work, clock


def _ready(address: str) -> bool:
    with suppress(OSError), urllib.request.urlopen(f"http://{address}/readyz", timeout=2):
        return True
    return False


def _work(pid: int) -> float:
    """Returns the seconds that a process and its children have computed for."""
    with suppress(FileNotFoundError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        children = {child for task in Path(f"/proc/{pid}/task").glob("*/children") for child in task.read_text().split()}
        return (int(fields[11]) + int(fields[12])) / _TICKS + sum(_work(int(child)) for child in children)
    return 0.0
