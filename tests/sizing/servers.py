"""Durable servers on both engines, as an operator starts them, in processes of their own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.bench.harness import START_SECONDS, postgres_cluster, server_command
from tests.bench.processes import child, free_port, wait_for_port
from tests.support.databases.postgres import PostgresCluster

ENGINES = ("sqlite", "postgres")


class Place:
    """A database on disk, with fsync, and the port of its server."""

    def __init__(self, engine: str, folder: Path, cluster: PostgresCluster | None) -> None:
        self.engine, self.folder, self.cluster = engine, folder, cluster
        self.url = f"sqlite:///{folder / 'threadkeep.db'}" if cluster is None else cluster.create_database("sizing")
        self.port = free_port()
        self.log = folder / "server.log"

    @property
    def address(self) -> str:
        """Where the server listens."""
        return f"127.0.0.1:{self.port}"

    @contextlib.contextmanager
    def server(self, **settings: str) -> Iterator[int]:
        """Runs a server; yields its process id once it listens."""
        values: Mapping[str, str] = {
            "DATABASE_URL": self.url,
            "DATA_DIR": str(self.folder),
            "GRPC_ADDRESS": self.address,
            "HTTP_ADDRESS": "",
            **settings,
        }
        env = {f"THREADKEEP_{name}": value for name, value in values.items()}
        with child(server_command(), self.log, env) as process:
            wait_for_port(process, self.port, self.log, START_SECONDS)
            yield process.pid


@contextlib.contextmanager
def place(engine: str, root: Path) -> Iterator[Place]:
    """An empty database of this engine; PostgreSQL is started for it."""
    folder = root / engine
    folder.mkdir(parents=True, exist_ok=True)
    if engine == "sqlite":
        yield Place(engine, folder, None)
        return
    with postgres_cluster() as cluster:
        yield Place(engine, folder, cluster)
