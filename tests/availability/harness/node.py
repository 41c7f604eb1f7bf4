"""A node of a cluster: Patroni and its PostgreSQL, reached by others through links that can be cut."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from tests.support.servers.server_process import free_port

from .network import Network
from .processes import DEPLOY, Process, filled, give, kill_pid

PASSWORDS = {"SUPERUSER_PASSWORD": "super", "REPLICATION_PASSWORD": "repl", "REWIND_PASSWORD": "rewind"}


class Node:
    """`ttl`: seconds until a node that is lost is replaced."""

    def __init__(self, name: str, root: Path, network: Network, etcd_port: int, binaries: Path, ttl: int) -> None:
        self.name = name
        self._network = network
        self._folder = root / name
        self._folder.mkdir()
        give(self._folder)
        self.postgres_port, self.rest_port = free_port(), free_port()
        self.postgres, self.rest = network.link(self.postgres_port), network.link(self.rest_port, of_nodes=True)
        self._etcd = network.link(etcd_port)
        self._data = self._folder / "data"
        self.config = config = self._folder / "patroni.yml"
        config.write_text(filled(DEPLOY / "patroni" / "patroni.yml", self._values(binaries, ttl)))
        give(config)
        self._patroni = Process("patroni", self._folder, config)

    def _values(self, binaries: Path, ttl: int) -> dict[str, object]:
        return {
            "NODE": self.name,
            "REST_LISTEN": f"127.0.0.1:{self.rest_port}",
            "REST_ADDRESS": f"127.0.0.1:{self.rest.port}",
            "ETCD_HOSTS": f"127.0.0.1:{self._etcd.port}",
            "ETCD_PROXIES": "true",
            "TTL": ttl,
            "LOOP_WAIT": 1,
            "RETRY_TIMEOUT": 3,
            "POSTGRES_LISTEN": f"127.0.0.1:{self.postgres_port}",
            "POSTGRES_ADDRESS": f"127.0.0.1:{self.postgres.port}",
            "DATA": self._data,
            "BINARIES": binaries,
            "PGPASS": self._folder / "pgpass",
            "SOCKETS": self._folder,
            "NETWORK": "127.0.0.0/8",
            **PASSWORDS,
        }

    @property
    def log(self) -> str:
        return self._patroni.log

    def start(self) -> None:
        self._patroni.start()

    def kill(self) -> None:
        """The machine is gone: SIGKILL for Patroni and for PostgreSQL."""
        self._patroni.kill()
        self.kill_postgres()

    def kill_postgres(self) -> None:
        """SIGKILL for the postmaster; its children exit when they notice."""
        with contextlib.suppress(OSError, ValueError):
            kill_pid(int((self._data / "postmaster.pid").read_text().split()[0]))

    def await_end(self, seconds: float = 60) -> None:
        """Returns when no process of PostgreSQL is left, as a new one needs."""
        deadline = time.monotonic() + seconds
        while self._processes():
            assert time.monotonic() < deadline, "the children of the killed server do not end"
            time.sleep(0.05)

    def _processes(self) -> list[Path]:
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if (process / "cwd").readlink() == self._data:
                    found.append(process)
        return found

    def signal_replay(self, how: signal.Signals) -> None:
        """Sends a signal to the process of a replica that replays."""
        [replaying] = [each for each in self._processes() if b"startup" in (each / "cmdline").read_bytes()]
        os.kill(int(replaying.name), how)

    def cut_off(self) -> None:
        """Drops all traffic from and to the node. Nothing is closed."""
        self._network.cut_off.add(self._patroni.pid)
        for link in (self.postgres, self.rest, self._etcd):
            self._network.set(link, passes=False)

    def connect(self) -> None:
        self._network.cut_off.clear()
        for link in (self.postgres, self.rest, self._etcd):
            self._network.set(link, passes=True)

    def ask(self, path: str, body: dict[str, Any] | None = None) -> tuple[int, Any]:
        """Calls Patroni's REST API, not through the link. Returns what `get` does."""
        return get(self.rest_port, path, body)

    def remove(self) -> None:
        self.kill()


def get(port: int, path: str, body: dict[str, Any] | None = None) -> tuple[int, Any]:
    """Returns the status and the answer; status 0: there is none. With a body it is a POST."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data)
    try:
        with urllib.request.urlopen(request, timeout=60 if body else 3) as response:
            return response.status, _parsed(response.read())
    except urllib.error.HTTPError as error:
        return error.code, _parsed(error.read())
    except OSError:
        return 0, None


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return body.decode(errors="replace")
