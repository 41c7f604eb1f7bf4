"""Programs of a cluster: which are needed, how they are installed, and how they run."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
from pathlib import Path
from string import Template
from typing import Any

PROGRAMS = ("etcd", "patroni", "haproxy", "pgbouncer")
HOW_TO_INSTALL = (
    "missing: {}; run tests/support/install_cluster.sh, or install Debian's patroni, etcd-server, haproxy and pgbouncer"
)
DEPLOY = Path(__file__).parents[3] / "deploy"
_ENDS_WITHIN = 60.0


def missing_programs() -> list[str]:
    return [name for name in PROGRAMS if find(name) is None]


def find(name: str) -> str | None:
    """Returns the path of a program, or of its name; Debian has some where only root looks."""
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin")


def filled(file: Path, values: dict[str, object]) -> str:
    """Returns an example of configuration with its ${NAMES} filled in, as `envsubst` does. Raises KeyError."""
    return Template(file.read_text()).substitute({name: str(value) for name, value in values.items()})


def run_as() -> dict[str, Any]:
    """Returns arguments for subprocess: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    user = pwd.getpwnam("postgres")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def give(path: Path) -> None:
    """Makes the user of the programs the owner."""
    if user := run_as():
        os.chown(path, user["user"], user["group"])


class Process:
    """A program that writes to a log. `start` after `kill` starts it again."""

    def __init__(self, name: str, folder: Path, *arguments: str | Path) -> None:
        self._command = [str(find(name)), *map(str, arguments)]
        self._folder = folder
        self._log = folder / f"{Path(name).name}.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    @property
    def pid(self) -> int:
        assert self._process is not None, "it is not running"
        return self._process.pid

    def start(self) -> None:
        assert self._process is None, "it is running"
        kept = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "HOME": str(self._folder)}
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self._folder, env=kept, **run_as()
            )

    def kill(self, how: signal.Signals = signal.SIGKILL) -> None:
        if self._process is None:
            return
        self._process.send_signal(how)
        self._process.wait(timeout=_ENDS_WITHIN)
        self._process = None


def kill_pid(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
