"""An environment for each peer, made by uv and kept between runs."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.bench.peers.catalog import Peer
from tests.integrations.environments import made

INSTALL_SECONDS = 600.0
REASON_CHARACTERS = 400
CACHE = Path(".bench-envs")
# A mirror's host, perhaps with a password. Reasons become part of result files, which are published.
_HOST = re.compile(r"\bhttps?://[^/\s:]*(?::[^/\s]*)?(?=/)")
# What go prints on the way to an error.
_PROGRESS = re.compile(r"^go: downloading .*$", re.MULTILINE)


class CannotInstall(Exception):
    """A peer cannot be had on this machine; says why and what to install."""


def reason(printed: str) -> str:
    """The output of an installer as one line, without hosts."""
    return " ".join(_HOST.sub("", _PROGRESS.sub("", printed)).split())[:REASON_CHARACTERS]


def run(command: Sequence[str], env: Mapping[str, str], seconds: float) -> None:
    """Runs an installer, which must succeed within this time."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False, env=dict(env))
    except subprocess.TimeoutExpired as error:
        raise CannotInstall(f"did not install within {seconds:g} s") from error
    if done.returncode:
        raise CannotInstall(reason(done.stderr))


def _uv() -> str:
    beside = Path(sys.executable).with_name("uv")
    found = str(beside) if beside.exists() else shutil.which("uv")
    if found is None:
        raise CannotInstall("uv is not there: run `make setup`")
    return found


def python_for(peer: Peer) -> str:
    """The interpreter that has what the peer's script needs; installs it at first use."""
    if peer.adapter:
        return str(made(peer.adapter, "newest"))
    if not peer.requirements:
        return sys.executable
    env = os.environ | {"UV_PYTHON_DOWNLOADS": "never"}
    reasons = []
    for requirements in peer.requirements:
        digest = hashlib.sha256("\n".join((sys.version, *requirements)).encode()).hexdigest()[:12]
        directory = CACHE / digest
        python, ready = directory.absolute() / "bin" / "python", directory / ".ready"
        if ready.exists():
            return str(python)
        try:
            uv = _uv()
            run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(directory)], env, INSTALL_SECONDS)
            run([uv, "pip", "install", "--quiet", "--python", str(python), *requirements], env, INSTALL_SECONDS)
        except CannotInstall as error:
            shutil.rmtree(directory, ignore_errors=True)
            reasons.append(str(error))
            continue
        ready.touch()
        return str(python)
    raise CannotInstall("; then ".join(reasons))
