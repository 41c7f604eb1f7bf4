"""A process that has imported the command line, and forks one per program of the launcher. It ends with the last process of the
tests that holds it.

A fork is equivalent to `python` with the arguments of the launcher.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import runpy
import select
import shutil
import signal
import socket
import sys
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO

from tests.support.servers.authorities import leave_out_public_authorities

_FIRST = (
    "threadkeep.cli.app",
    *(f"threadkeep.cli.commands.{each}" for each in ("server", "sessions", "events", "watch", "search", "import_export")),
    "rich.markdown",
    "threadkeep._sync.client",
)
_SERVER = ("threadkeep_server.__main__", "alembic.command")
_IMPORTED: Mapping[str, tuple[str, ...]] = {
    "serve": _SERVER,
    ":memory:": _SERVER,
    "mcp": ("threadkeep.cli.commands.mcp", "threadkeep.mcp.server", "threadkeep.mcp.http", "mcp.server.mcpserver", "uvicorn"),
    "examples.chat": ("threadkeep.chat", "openai.resources.chat", "tests.chat.reasoning"),
}
"""Modules of programs whose first arguments contain the key; a fork imports what the others need."""
_MOST = 1 << 20
"""Bytes of a request."""


class Fork:
    """Waits for requests and for the ends of programs. `serve` returns in the process of each program."""

    def __init__(self, listening: socket.socket) -> None:
        self._listening = listening
        self._holders: list[socket.socket] = []
        self._programs: dict[int, socket.socket] = {}
        self._ended, woken = os.pipe()
        os.set_blocking(woken, False)
        os.set_blocking(self._ended, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(woken)
        self._descriptors = (self._ended, woken)

    def serve(self) -> tuple[dict[str, Any], list[int]] | None:
        """Returns the request and the files of a program, in its process; None when the tests have ended."""
        while True:
            waiting: list[Any] = [self._listening, self._ended, *self._holders, *self._programs.values()]
            ready, _, _ = select.select(waiting, [], [])
            for holder in [each for each in self._holders if each in ready]:
                self._holders.remove(holder)
                holder.close()
                if not self._holders:
                    self._end()
                    return None
            if self._ended in ready:
                os.read(self._ended, 4096)
                self._report()
            for pid, launcher in [*self._programs.items()]:
                if launcher in ready:
                    self._pass_on(pid, launcher)
            if self._listening in ready and (accepted := self._accept()):
                return accepted

    def _end(self) -> None:
        for pid in self._programs:
            os.kill(pid, signal.SIGKILL)

    def _report(self) -> None:
        """Reports the exit statuses of programs that have ended to their launchers."""
        for pid, launcher in [*self._programs.items()]:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                del self._programs[pid]
                with launcher, contextlib.suppress(ConnectionError):
                    launcher.send(str(os.waitstatus_to_exitcode(status)).encode())

    def _pass_on(self, pid: int, launcher: socket.socket) -> None:
        """Passes on a signal; a launcher that was killed takes its program along."""
        try:
            [number] = launcher.recv(1) or [signal.SIGKILL]
        except ConnectionError:
            number = signal.SIGKILL
        os.kill(pid, number)
        if number == signal.SIGKILL:
            os.waitpid(pid, 0)
            self._programs.pop(pid).close()

    def _accept(self) -> tuple[dict[str, Any], list[int]] | None:
        launcher, _ = self._listening.accept()
        try:
            content, files, _, _ = socket.recv_fds(launcher, _MOST, 3)
            request = json.loads(content)
        except (ConnectionError, ValueError):  # it was killed at once
            launcher.close()
            return None
        if request is None:
            launcher.send(b"held")
            self._holders.append(launcher)
            return None
        first = " ".join(request["arguments"][:3])
        import_all(each for key, modules in _IMPORTED.items() if key in first for each in modules)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # one for the program waits until it handles it
        pid = os.fork()
        if pid:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
            self._programs[pid] = launcher
            for descriptor in files:
                os.close(descriptor)
            return None
        signal.set_wakeup_fd(-1)
        for each in (self._listening, launcher, *self._holders, *self._programs.values()):
            each.close()
        for descriptor in self._descriptors:
            os.close(descriptor)
        return request, files


def import_all(modules: Iterable[str]) -> None:
    """Imports what is not yet imported. What we have by then no program's garbage collector looks at."""
    missing = [each for each in modules if each not in sys.modules]
    if missing:
        for each in missing:
            import_module(each)
        gc.collect()
        gc.freeze()


def run(request: dict[str, Any], files: list[int], imports_set: Mapping[str, str]) -> None:
    """Runs the program in this process, as `python` does."""
    for number, descriptor in enumerate(files):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(imports_set | request["env"])
    for name, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        setattr(sys, name, _opened(name, number))
        setattr(sys, f"__{name}__", getattr(sys, name))
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    kind, *arguments = request["arguments"]
    if kind == "-m":
        sys.path[0], sys.argv = request["cwd"], arguments
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    elif kind == "-c":
        sys.path[0], sys.argv = "", ["-c", *arguments[1:]]
        main = sys.modules["__main__"] = ModuleType("__main__")
        exec(compile(arguments[0], "<string>", "exec"), main.__dict__)
    else:
        sys.path[0], sys.argv = str(Path(kind).resolve().parent), [kind, *arguments]
        runpy.run_path(kind, run_name="__main__")


def _opened(name: str, number: int) -> TextIO:
    unbuffered = bool(os.environ.get("PYTHONUNBUFFERED"))
    lines = name == "stderr" or os.isatty(number)
    raw = os.fdopen(number, "rb" if name == "stdin" else "wb", closefd=False)
    return io.TextIOWrapper(
        raw,
        sys.__stdin__.encoding if sys.__stdin__ else None,
        "backslashreplace" if name == "stderr" else "strict",
        line_buffering=lines,
        write_through=unbuffered,
    )


def main(path: str) -> None:
    """Listens on a socket at the path, and says so."""
    leave_out_public_authorities()
    before = dict(os.environ)
    import_all(_FIRST)
    imports_set = {name: value for name, value in os.environ.items() if before.get(name) != value}
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(path)
        listening.listen(64)
        print("listening", flush=True)
        asked = Fork(listening).serve()
    if asked is None:
        shutil.rmtree(Path(path).parent, ignore_errors=True)
    else:
        run(*asked, imports_set)


if __name__ == "__main__":
    main(sys.argv[1])
