"""PgBouncer in transaction mode, in front of a database."""

from __future__ import annotations

import contextlib
import re
import socket
import time
from pathlib import Path

from tests.support.databases.postgres import PostgresCluster
from tests.support.servers.server_process import free_port

from .processes import DEPLOY, Process, filled, give

_CONNECTIONS = 3
"""Fewer than the servers have, so that they share."""
_STARTS_WITHIN_S = 30.0
_SETTINGS = "ALTER ROLE threadkeep SET jit = off", "ALTER ROLE threadkeep SET statement_timeout = '30s'"


class Bouncer:
    """A pooler in front of a database, and the URLs through it and past it. `prepares`: it keeps prepared statements."""

    def __init__(self, folder: Path, cluster: PostgresCluster, program: str, *, prepares: bool) -> None:
        self.prepares = prepares
        cluster.execute("CREATE ROLE threadkeep LOGIN PASSWORD 'secret'", *_SETTINGS)
        cluster.execute("CREATE DATABASE threadkeep OWNER threadkeep")
        port = free_port()
        self.url = f"postgresql://threadkeep:secret@127.0.0.1:{port}/threadkeep"
        self.direct_url = f"postgresql://threadkeep:secret@127.0.0.1:{cluster.port}/threadkeep"
        users, config = folder / "users.txt", folder / "pgbouncer.ini"
        users.write_text('"threadkeep" "secret"\n')
        values: dict[str, object] = {"POSTGRES_HOST": "127.0.0.1", "POSTGRES_PORT": cluster.port, "USERS": users}
        values |= {"LISTEN_HOST": "127.0.0.1", "LISTEN_PORT": port, "POOL_SIZE": _CONNECTIONS}
        text = filled(DEPLOY / "pgbouncer" / "pgbouncer.ini", values)
        config.write_text(re.sub("^;(?! )", "", text, flags=re.MULTILINE) if prepares else text)
        for path in (folder, users, config):
            give(path)
        self._process = Process(program, folder, config)
        self._port = port

    def start(self) -> None:
        """Returns when it accepts connections."""
        self._process.start()
        deadline = time.monotonic() + _STARTS_WITHIN_S
        while True:
            with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", self._port)):
                return
            assert time.monotonic() < deadline, self._process.log
            time.sleep(0.02)

    def kill(self) -> None:
        self._process.kill()

    @property
    def settings(self) -> dict[str, object]:
        """Those of a server behind it."""
        return {"database_url": self.url, "database_pooler": not self.prepares, "database_listen_url": self.direct_url}
