"""Runs a server as a unit or a container would: as another user, with a read-only root and one directory to write to."""

from __future__ import annotations

import os
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

STARTS_WITHIN, ENDS_WITHIN = 120.0, 60.0
USER = 65532
STATE = "/var/lib/threadkeep"
_OWN = {"dev", "proc", "run", "sys", "tmp", "var", "opt", "etc", "home"}
"""What a service has of its own of the machine's root."""

_BECOME = ("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all", "--")


_ROOT = Path(__file__).parents[2]
# Programs of a checkout below /tmp, which is empty in the sandbox.
_CHECKOUT = ("--ro-bind", str(_ROOT), str(_ROOT)) if _ROOT.is_relative_to("/tmp") else ()


def machine_root(*more: str) -> list[str]:
    """Options of bwrap: the machine's programs, read-only, with these directories in /opt and /etc: SOURCE:TARGET each."""
    options = ["--tmpfs", "/"]
    for entry in sorted(Path("/").iterdir()):
        if entry.name not in _OWN:
            options += _shown(entry)
    for entry in sorted(Path("/etc").iterdir()):
        options += _shown(entry)
    for each in more:
        source, _, target = each.partition(":")
        options += ["--ro-bind", source, target]
    return [*options, "--dir", STATE]


def image_root(root: Path) -> list[str]:
    """Options of bwrap: a root file system, read-only."""
    return ["--ro-bind", str(root), "/"]


def _shown(entry: Path) -> Iterator[str]:
    if entry.is_symlink():
        yield from ("--symlink", str(entry.readlink()), str(entry))
    else:
        yield from ("--ro-bind-try", str(entry), str(entry))


class Sandboxed:
    """A program in namespaces of its own (bubblewrap), as process 1 there; a context manager that kills it. It has the
    machine's network, since the test is its client, and no capability. Only STATE and /tmp can be written."""

    def __init__(
        self,
        command: Sequence[str],
        root: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        *,
        another_user: bool = False,
    ) -> None:
        """`another_user`: USER of the machine, for which the test must be root. Otherwise USER in the namespace alone: the
        program reads what this test can read."""
        self.log_file, self.data = folder / "log", folder / "data"
        self.data.mkdir(mode=0o700, exist_ok=True)
        options = [*root, "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", *_CHECKOUT, "--bind", str(self.data), STATE]
        options += ["--remount-ro", "/", "--chdir", STATE, "--clearenv"]
        for name, value in environment.items():
            options += ["--setenv", name, value]
        if another_user:
            os.chown(self.data, USER, USER)
            command = (*_BECOME, *command)
        else:
            options += ["--unshare-user", "--uid", str(USER), "--gid", str(USER), "--cap-drop", "ALL"]
        options += ["--unshare-pid", "--as-pid-1", "--unshare-ipc", "--unshare-uts", "--die-with-parent"]
        self.began = time.monotonic()
        with self.log_file.open("w") as log:
            self._process = subprocess.Popen(
                ("bwrap", *options, "--", *command), stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait(ENDS_WITHIN)

    @property
    def log(self) -> str:
        return self.log_file.read_text(errors="replace")

    @property
    def pid(self) -> int:
        """The program's process, as the machine counts."""
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        assert len(children) == 1, self.log
        return int(children[0])

    def wait_until_ready(self, http_address: str) -> float:
        """Waits for the readiness probe. Returns the seconds since the start."""
        while True:
            with suppress(OSError), urllib.request.urlopen(f"http://{http_address}/readyz", timeout=2):
                return time.monotonic() - self.began
            assert self._process.poll() is None, f"it ended:\n{self.log}"
            assert time.monotonic() < self.began + STARTS_WITHIN, f"it does not serve:\n{self.log}"
            time.sleep(0.05)

    def stop(self) -> int:
        """Sends SIGTERM, as systemd and Kubernetes do. Returns the status."""
        os.kill(self.pid, signal.SIGTERM)
        return self._process.wait(ENDS_WITHIN)
