"""A server process that can be killed and restarted on the same port and database."""

from __future__ import annotations

import atexit
import contextlib
import functools
import itertools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from ..runs.scheduler import worker_number
from .reconnect import RECONNECT

READY_WITHIN = 120.0


# Below the ports for outgoing connections, and separate for each test process.
_ports = itertools.cycle(range(10_000 + 2_000 * (worker_number() % 11), 12_000 + 2_000 * (worker_number() % 11)))
for _ in range(os.getpid() % 2_000):  # other runs on the machine start elsewhere
    next(_ports)


def free_port() -> int:
    """Returns a port for a server that is restarted on it; other servers bind port 0."""
    while True:
        port = next(_ports)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


FRONTEND = os.environ.get("THREADKEEP_TEST_FRONTEND", "grpc")
"""The front end of the servers of the tests."""


def not_behind_envoy(reason: str) -> pytest.MarkDecorator:
    """Skips a test when the servers of the tests are behind Envoy."""
    return pytest.mark.skipif(FRONTEND == "envoy", reason=f"behind Envoy {reason}")


class ForkServer:
    """The process of fork_server.py."""

    def __init__(self, program: Path | None = None, env: Mapping[str, str] | None = None) -> None:
        """`program`: None is the present fork_server.py; `env`: None is the environment of this process."""
        command = [sys.executable, str(program or Path(__file__).with_name("fork_server.py"))]
        self._process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._one = threading.Lock()

    def request(self, **request: Any) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._one:
            print(json.dumps(request), file=self._process.stdin, flush=True)
            return int(self._process.stdout.readline())

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@functools.cache
def fork_server() -> ForkServer:
    """Returns the one of this test process: it imports for seconds."""
    opened = ForkServer()
    atexit.register(opened.close)
    return opened


class ServerProcess:
    """A server with these settings; a context manager that ends it. HTTP is off by default.

    `prelude` is Python code that runs in the process before the server. `open_files` limits its open files; 0: as here.
    """

    open_files = 0

    def __init__(self, fork_server: ForkServer, root: Path, *, prelude: str = "", **settings: object) -> None:
        self._fork_server = fork_server
        self._prelude = prelude
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        self._root = root
        self._log = root / f"server-{self.port}.log"
        addresses = {"grpc_address": self.address, "http_address": ""}
        values = {"frontend": FRONTEND, "data_dir": root / "data", "log_format": "text"} | addresses | settings
        self.http_address = str(values["http_address"])
        kept = {name: value for name, value in os.environ.items() if not name.startswith("THREADKEEP_")}
        self._env = kept | {f"THREADKEEP_{name.upper()}": str(value) for name, value in values.items()}
        self._pid: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pid is not None:
            self.kill()

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    @property
    def pid(self) -> int:
        assert self._pid is not None, "it is not running"
        return self._pid

    @property
    def serving_pid(self) -> int:
        """The process that has the server's memory: behind Envoy, the only child."""
        [serving] = self._children() or [self.pid]
        return serving

    def launch(self) -> None:
        """Starts the process and does not wait for it."""
        assert self._pid is None, "it is running"
        place = {"cwd": str(self._root), "log": str(self._log)}
        limits = {"open_files": self.open_files}
        self._pid = self._fork_server.request(env=self._env, prelude=self._prelude, **limits, **place)

    def start(self) -> Self:
        """Starts the process and returns when its health is SERVING."""
        self.launch()
        return self.wait_until_serving()

    def wait_until_serving(self) -> Self:
        deadline = time.monotonic() + READY_WITHIN
        with grpc.insecure_channel(self.address, RECONNECT) as channel:
            check = health_pb2_grpc.HealthStub(channel).Check
            while True:
                with contextlib.suppress(grpc.RpcError):
                    if check(health_pb2.HealthCheckRequest(), timeout=1).status == health_pb2.HealthCheckResponse.SERVING:
                        return self
                assert not self._ended(0.02), f"it ended:\n{self.log[-3000:]}"
                assert time.monotonic() < deadline, f"it does not serve:\n{self.log[-3000:]}"

    def kill(self) -> None:
        """Sends SIGKILL, behind Envoy to the process that serves, too: it would drain."""
        for pid in {*self._children(), self.pid}:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.wait()

    def _children(self) -> list[int]:
        if self._env["THREADKEEP_FRONTEND"] != "envoy":
            return []
        return [int(child) for child in Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()]

    def terminate(self) -> int:
        """Sends SIGTERM, like a service manager, and returns the exit status."""
        os.kill(self.pid, signal.SIGTERM)
        return self.wait()

    def wait(self) -> int:
        """Waits for a process that ends by itself and returns the exit status."""
        assert self._ended(READY_WITHIN), f"it does not end:\n{self.log[-3000:]}"
        pid, self._pid = self.pid, None
        return self._fork_server.request(wait=pid)

    def _ended(self, seconds: float) -> bool:
        descriptor = os.pidfd_open(self.pid)
        try:
            return bool(select.select([descriptor], [], [], seconds)[0])
        finally:
            os.close(descriptor)


def url_settings(database_url: str | None) -> Mapping[str, Any]:
    """Returns the settings for a database; None is the SQLite file in the data directory."""
    return {} if database_url is None else {"database_url": database_url}
