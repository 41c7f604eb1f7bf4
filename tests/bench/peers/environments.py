"""An environment for each peer, made by uv and kept between runs."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.bench.peers.catalog import Peer

INSTALL_SECONDS = 600.0
CACHE = Path(".bench-envs")


class CannotInstall(Exception):
    """No set of the peer's requirements installs; says why."""


def _uv() -> str:
    beside = Path(sys.executable).with_name("uv")
    found = str(beside) if beside.exists() else shutil.which("uv")
    if found is None:
        raise CannotInstall("uv is not there: run `make setup`")
    return found


def _run(*command: str) -> None:
    env = os.environ | {"UV_PYTHON_DOWNLOADS": "never"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False, env=env)
    except subprocess.TimeoutExpired as error:
        raise CannotInstall(f"did not install within {INSTALL_SECONDS:g} s") from error
    if done.returncode:
        raise CannotInstall(" ".join(done.stderr.split())[:400])


def python_for(peer: Peer) -> str:
    """The interpreter that has the peer; installs it at first use."""
    if not peer.requirements:
        return sys.executable
    reasons = []
    for requirements in peer.requirements:
        digest = hashlib.sha256("\n".join((sys.version, *requirements)).encode()).hexdigest()[:12]
        directory = CACHE / digest
        python, ready = directory.absolute() / "bin" / "python", directory / ".ready"
        if ready.exists():
            return str(python)
        try:
            uv = _uv()
            _run(uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(directory))
            _run(uv, "pip", "install", "--quiet", "--python", str(python), *requirements)
        except CannotInstall as error:
            shutil.rmtree(directory, ignore_errors=True)
            reasons.append(str(error))
            continue
        ready.touch()
        return str(python)
    raise CannotInstall("; then ".join(reasons))
