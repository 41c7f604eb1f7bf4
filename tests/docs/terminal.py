"""Runs commands as a reader of the documents does: on a terminal, in a directory of their own, against a server."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.documents import Block
from tests.support.programs.python import make_program, python
from threadkeep import Client

BIN = Path(sys.executable).parent
GRPC, HTTP = "127.0.0.1:7443", "127.0.0.1:7480"
"""The addresses that the documents name."""
_BLOCK_SECONDS, _START_SECONDS = 120.0, 120.0
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_SERVING = re.compile(rb"serving gRPC on ([\d.:]+), HTTP on ([\d.:]+);")
_SERVE = re.compile(r"((?:\w+=\S+ )*)make serve\n")
_PAUSE = re.compile(r"^sleep \d+$", re.MULTILINE)
_UNTIL_PRINTED = "until [ -e printed ]; do sleep 0.1; done"


class Terminal:
    """A directory, and a server that keeps its data there. Closing it stops the server."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._server: subprocess.Popen[bytes] | None = None
        self._grpc, self._http = "", ""
        _make_programs(folder / ".venv" / "bin")
        kept = {name: value for name, value in os.environ.items() if not name.startswith("THREADKEEP_")}
        self._env = kept | {"TERM": "xterm-256color", "PYTHONUNBUFFERED": "1"}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stop()

    def run(self, block: Block) -> str:
        """Returns what the block prints, without colors. Starts a server first if there is none, or again for `make serve`."""
        serve = _SERVE.fullmatch(block.code)
        if serve or self._server is None:
            self._stop()
            self._start(dict(each.split("=", 1) for each in serve[1].split()) if serve else {})
        if serve:
            return ""
        code = block.code.replace(GRPC, self._grpc).replace(HTTP, self._http)
        # A reader pauses until the program in the background has printed something; how long that is depends on the machine.
        code = _PAUSE.sub(_UNTIL_PRINTED, code)
        if block.language == "python":
            (self._folder / "block.py").write_text(code, "utf-8")
            code = ".venv/bin/python block.py"
        printed = self._on_terminal(code, f"{block.path.name}:{block.line}")
        return printed.replace(self._grpc, GRPC).replace(self._http, HTTP)

    def _on_terminal(self, code: str, name: str) -> str:
        printing = self._folder / "printed"
        printing.unlink(missing_ok=True)
        terminal, inside = pty.openpty()
        fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 120, 0, 0))
        env = self._env | {"THREADKEEP_ADDRESS": self._grpc}
        command = ["timeout", str(_BLOCK_SECONDS), "bash", "-euo", "pipefail", "-c", code]
        process = subprocess.Popen(command, cwd=self._folder, env=env, stdin=subprocess.DEVNULL, stdout=inside, stderr=inside)
        os.close(inside)
        printed = _all_of(terminal, printing).decode("utf-8", "replace").replace("\r\n", "\n")
        status = process.wait()
        printed = _ESCAPE.sub("", printed)
        assert status == 0, f"{name} ended with {status}:\n{printed}"
        return printed

    def _start(self, settings: Mapping[str, str]) -> None:
        values = {"THREADKEEP_GRPC_ADDRESS": "127.0.0.1:0", "THREADKEEP_HTTP_ADDRESS": "127.0.0.1:0"}
        self._server = subprocess.Popen(
            [*python(), "-m", "threadkeep.cli", "serve"],
            cwd=self._folder,
            env={**self._env, **values, **settings},
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        assert self._server.stderr is not None
        found = _SERVING.search(_until_serving(self._server.stderr.fileno()))
        assert found, "the server does not serve"
        self._grpc, self._http = found[1].decode(), found[2].decode()
        if "THREADKEEP_EMBEDDER" in settings:
            _until_embedded(self._grpc)

    def _stop(self) -> None:
        if self._server is not None:
            self._server.terminate()
            self._server.communicate(timeout=_START_SECONDS)
            self._server = None


def _make_programs(folder: Path) -> None:
    """Makes the programs of our environment, and two that begin with their imports done."""
    folder.mkdir(parents=True)
    for each in BIN.iterdir():
        (folder / each.name).symlink_to(each)
    for name, arguments in (("python", ()), ("threadkeep", ("-m", "threadkeep.cli"))):
        (folder / name).unlink()
        make_program(folder / name, *arguments)


def _all_of(terminal: int, printing: Path) -> bytes:
    """Returns what is printed until the end. Makes the file when something is."""
    read = bytearray()
    with contextlib.suppress(OSError):  # reading from a terminal that nobody writes to any more
        while chunk := os.read(terminal, 65_536):
            read += chunk
            printing.touch()
    os.close(terminal)
    return bytes(read)


def _until_serving(stream: int) -> bytes:
    read, deadline = b"", time.monotonic() + _START_SECONDS
    while not _SERVING.search(read) and time.monotonic() < deadline:
        if select.select([stream], [], [], 0.5)[0]:
            chunk = os.read(stream, 65_536)
            if not chunk:
                break
            read += chunk
    return read


def _until_embedded(address: str) -> None:
    """Waits for the embeddings of what was stored before: semantic search returns nothing without them."""
    deadline = time.monotonic() + _START_SECONDS
    with Client(address) as client:
        while (info := client.info()).search_index.lag_batches or info.embeddings.waiting:
            assert time.monotonic() < deadline, "the server does not embed"
            time.sleep(0.1)
