"""What stands in for `python` in a command: programs of tests begin with their imports done."""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import functools
import os
import shlex
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

_HERE = Path(__file__).parent
_RUN = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
_FOLDER = Path(tempfile.gettempdir()) / f"threadkeep-programs-{_RUN}"


@functools.cache
def python() -> tuple[str, ...]:
    """Returns the beginning of a command, such as [*python(), "-m", "threadkeep.cli"]. What it starts is a process of its own,
    which signals reach a moment later than one of [sys.executable, ...]: after the end of its standard input that is closed at
    once, and SIGKILL after `wait` has returned."""
    with _alone():
        path = _FOLDER / "socket"
        held = _hold(path) or _started(path)
    atexit.register(held.close)
    # Isolated and without `site`, it starts in a hundredth of a second.
    return sys.executable, "-I", "-S", str(_HERE / "launcher.py"), str(path)


def make_program(path: Path, *arguments: str) -> None:
    """Makes an executable file that stands in for `python`, with these arguments before its own."""
    path.write_text(f'#!/bin/sh\nexec {shlex.join([*python(), *arguments])} "$@"\n', "utf-8")
    path.chmod(0o755)


@functools.cache
def threadkeep() -> Path:
    """Returns an executable file that stands in for the command `threadkeep` while this process lives."""
    path = _FOLDER / f"threadkeep-{os.getpid()}"
    make_program(path, "-m", "threadkeep.cli")
    return path


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """One process of a test run after another."""
    _FOLDER.mkdir(mode=0o700, exist_ok=True)
    with (_FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _hold(path: Path) -> socket.socket | None:
    """Returns a connection to the process of fork.py of this run, which ends with the last of them; None if there is none."""
    held = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with contextlib.suppress(OSError):
        held.connect(str(path))
        held.send(b"null")
        if held.recv(16):
            return held
    held.close()
    return None


def _started(path: Path) -> socket.socket:
    path.unlink(missing_ok=True)
    command = [sys.executable, "-m", f"{__package__}.fork", str(path)]
    fork = subprocess.Popen(
        command, cwd=_HERE.parents[2], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True
    )
    assert fork.stdout is not None
    with fork.stdout:
        assert fork.stdout.readline() == b"listening\n"
    fork.returncode = 0  # it ends with the run, after us: nobody waits for it
    held = _hold(path)
    assert held is not None
    return held
