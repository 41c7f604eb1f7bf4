"""Three PostgreSQL nodes under Patroni with etcd on loopback, and HAProxy in front of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from tests.support.databases.scratch import in_memory
from tests.support.documents import blocks_of
from tests.support.servers.server_process import free_port

from .network import Network
from .node import PASSWORDS, Node, get
from .processes import DEPLOY, Process, filled, give

_WITHIN = 180.0
PAGE = Path(__file__).parents[3] / "docs" / "operations" / "high-availability.md"
USER, PASSWORD, DATABASE = "threadkeep", "secret", "threadkeep"


class Cluster:
    """A context manager that starts the cluster, with a database for a server, and removes it.

    The data is in memory where there is room: only processes are killed, and the operating system keeps what they wrote.
    """

    def __init__(self, binaries: Path, ttl: int) -> None:
        self._binaries = binaries
        self._root = Path(tempfile.mkdtemp(prefix="threadkeep-cluster-", dir=in_memory()))
        give(self._root)
        self._network = Network()
        self._client, self._peer = free_port(), free_port()
        self._etcd = self._new_etcd()
        self._ttl = ttl
        self.nodes: list[Node] = []
        self._haproxy: Process | None = None
        self.primary_port, self.replicas_port = free_port(), free_port()

    def __enter__(self) -> Self:
        try:
            self._network.__enter__()
            self.start_etcd()
            self.nodes = [
                Node(f"node{number}", self._root, self._network, self._client, self._binaries, self._ttl)
                for number in (1, 2, 3)
            ]
            self.nodes[0].start()
            self._until(lambda: self.nodes[0].ask("/primary")[0] == 200, "a primary")
            for node in self.nodes[1:]:
                node.start()
            self._create_database()
            self.await_healthy()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def remove(self) -> None:
        for node in self.nodes:
            node.remove()
        for process in (self._haproxy, self._etcd):
            if process is not None:
                process.kill()
        for node in self.nodes:
            node.await_end()
        self._network.__exit__()
        shutil.rmtree(self._root, ignore_errors=True)

    @property
    def url(self) -> str:
        """All nodes, of which the primary is wanted."""
        return (
            self._url(",".join(f"127.0.0.1:{node.postgres.port}" for node in self.nodes)) + "?target_session_attrs=read-write"
        )

    @property
    def replicas_url(self) -> str:
        """All nodes, of which a replica is wanted."""
        return self.url.replace("read-write", "standby")

    @property
    def haproxy_url(self) -> str:
        """The primary, as HAProxy finds it."""
        if self._haproxy is None:
            self._haproxy = self._start_haproxy()
        return self._url(f"127.0.0.1:{self.primary_port}")

    @property
    def haproxy_replicas_url(self) -> str:
        """A replica, as HAProxy finds it."""
        return self.haproxy_url.replace(str(self.primary_port), str(self.replicas_port))

    @staticmethod
    def _url(hosts: str) -> str:
        return f"postgresql://{USER}:{PASSWORD}@{hosts}/{DATABASE}"

    def primary(self) -> Node:
        """Waits for a primary that the cluster agrees on."""
        found: list[Node] = []

        def one() -> bool:
            found[:] = [node for node in self.nodes if node.ask("/primary")[0] == 200]
            return len(found) == 1

        self._until(one, "one primary")
        return found[0]

    def await_other_primary(self, former: Node) -> None:
        others = [node for node in self.nodes if node is not former]
        self._until(lambda: any(node.ask("/primary")[0] == 200 for node in others), "other primary")

    def switch_over(self, leader: Node) -> None:
        """Makes the synchronous replica the primary."""
        self.await_healthy()
        members = self._members()
        [candidate] = [member["name"] for member in members if member["role"] == "sync_standby"]
        status, answer = leader.ask("/switchover", {"leader": leader.name, "candidate": candidate})
        assert status == 200, answer

    def kill_etcd(self) -> None:
        self._etcd.kill()

    def start_etcd(self) -> None:
        """Returns when the version is decided: Patroni ends if it starts before."""
        self._etcd.start()
        self._until(lambda: str(get(self._client, "/version")[1]).find("'etcdcluster': '3") >= 0, "version of etcd")

    def await_healthy(self) -> None:
        """Returns when there is a primary with two replicas that have all it has, one of them synchronous."""
        self._until(self._healthy, "a healthy cluster")

    def _healthy(self) -> bool:
        members = self._members()
        roles = sorted(member.get("role", "") for member in members)
        if roles != ["leader", "replica", "sync_standby"]:
            return False
        timelines = {member.get("timeline") for member in members}
        running = all(member.get("state") in ("running", "streaming") for member in members)
        caught_up = all(member.get("lag") == 0 for member in members if member["role"] != "leader")
        return running and caught_up and len(timelines) == 1

    def _members(self) -> list[dict[str, Any]]:
        for node in self.nodes:
            status, answer = node.ask("/cluster")
            if status == 200:
                return list(answer["members"])
        return []

    def execute(self, node: Node, *sql: str, database: str = "postgres") -> str:
        """Runs SQL with psql as the superuser, each string in a transaction of its own; not through the link."""
        command = [str(self._binaries / "psql"), "-XqAt", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-U", "postgres"]
        command += ["-p", str(node.postgres_port), "-d", database, *(part for each in sql for part in ("-c", each))]
        environment = {**os.environ, "PGPASSWORD": PASSWORDS["SUPERUSER_PASSWORD"]}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def _create_database(self) -> None:
        """Runs what the page for operators says."""
        [sql] = [block.code for block in blocks_of(PAGE) if block.language == "sql"]
        self.execute(self.primary(), *filter(None, sql.splitlines()))

    def _new_etcd(self) -> Process:
        folder = self._root / "etcd"
        folder.mkdir()
        give(folder)
        client, peer = f"http://127.0.0.1:{self._client}", f"http://127.0.0.1:{self._peer}"
        return Process(
            "etcd",
            folder,
            *("--name", "etcd1", "--data-dir", folder / "data", "--logger", "zap"),
            *("--listen-client-urls", client, "--advertise-client-urls", client),
            *("--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"etcd1={peer}"),
        )

    def _start_haproxy(self) -> Process:
        values: dict[str, object] = {
            "PRIMARY_LISTEN": f"127.0.0.1:{self.primary_port}",
            "REPLICAS_LISTEN": f"127.0.0.1:{self.replicas_port}",
        }
        for number, node in enumerate(self.nodes, 1):
            values |= {f"NODE{number}": f"127.0.0.1:{node.postgres.port}", f"NODE{number}_REST": node.rest.port}
        config = self._root / "haproxy.cfg"
        config.write_text(filled(DEPLOY / "haproxy" / "haproxy.cfg", values))
        process = Process("haproxy", self._root, "-db", "-f", config)
        process.start()
        return process

    def _until(self, reached: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + _WITHIN
        while not reached():
            if time.monotonic() > deadline:
                logs = "\n".join(f"{node.name}:\n{node.log[-3000:]}" for node in self.nodes)
                raise AssertionError(f"no {what} within {_WITHIN} s: {self._members()}\n{logs}\n{self._etcd.log[-1500:]}")
            time.sleep(0.1)
