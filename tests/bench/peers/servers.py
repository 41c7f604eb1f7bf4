"""Starts the servers of peers, each on a free port with its data in a folder of the run."""

import contextlib
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench.harness import START_SECONDS
from tests.bench.peers import programs
from tests.bench.peers.catalog import Peer
from tests.bench.peers.programs import Program
from tests.bench.processes import ChildError, child, free_port, tail, wait_for_port


@dataclass(frozen=True)
class Started:
    """How to start a server, and how the script reaches it."""

    arguments: tuple[str, ...]
    url: str
    env: Mapping[str, str] = field(default_factory=dict)


def _redis(policy: str) -> Callable[[Path, int], Started]:
    def start(folder: Path, port: int) -> Started:
        listen = ("--bind", "127.0.0.1", "--port", str(port), "--dir", str(folder))
        return Started((*listen, "--appendonly", "yes", "--appendfsync", policy), f"redis://127.0.0.1:{port}")

    return start


def _memory_service(folder: Path, port: int) -> Started:
    # The default is synchronous=NORMAL, which does not wait for the disk. The rest is what a server needs outside of tests: it
    # refuses plain texts and management on the same port unless allowed, and limits the rate of calls.
    key = secrets.token_hex(16)
    settings = {
        "HOST": "127.0.0.1",
        "PORT": str(port),
        "TLS": "false",
        "MANAGEMENT_ON_MAIN_LISTENER": "true",
        "DB_KIND": "sqlite",
        "DB_URL": f"{folder / 'peer.db'}?_synchronous=FULL",
        "ATTACHMENTS_KIND": "fs",
        "ATTACHMENTS_FS_DIR": str(folder / "attachments"),
        "ENCRYPTION_ALLOW_PLAIN": "true",
        "RATE_LIMIT_MODE": "off",
        "LOG_LEVEL": "error",
        "API_KEYS_BENCH": key,
        "TRUSTED_USER_ID_CLIENTS": "bench",
    }
    env = {f"MEMORY_SERVICE_{name}": value for name, value in settings.items()}
    return Started(("serve",), f"http://{key}@127.0.0.1:{port}", env)


def _kurrentdb(folder: Path, port: int) -> Started:
    places = ("--db", str(folder / "db"), "--log", str(folder / "log"))
    ports = ("--node-ip", "127.0.0.1", "--node-port", str(port), "--replication-port", str(free_port()))
    return Started(("--insecure", *places, *ports), f"kurrentdb://127.0.0.1:{port}?Tls=false")


SERVERS: Mapping[str, tuple[Program, Callable[[Path, int], Started]]] = {
    "redis-always": (programs.REDIS, _redis("always")),
    "redis-everysec": (programs.REDIS, _redis("everysec")),
    "memory-service": (programs.MEMORY_SERVICE, _memory_service),
    "kurrentdb": (programs.KURRENTDB, _kurrentdb),
}


def program_for(peer: Peer) -> Path | None:
    """The executable of the peer's server, None for a library; gets it at first use."""
    return programs.find(SERVERS[peer.server][0]) if peer.server else None


@contextlib.contextmanager
def serving(peer: Peer, program: Path, folder: Path, env: Mapping[str, str]) -> Iterator[str]:
    """Runs the peer's server for the length of the block; yields the address for its script."""
    port, log = free_port(), folder / "peer-server.log"
    data = folder / "peer"
    data.mkdir()
    started = SERVERS[peer.server][1](data, port)
    with child([str(program), *started.arguments], log, {**started.env, **env}) as process:
        wait_for_port(process, port, log, START_SECONDS)
        try:
            yield started.url
        except Exception as error:
            if process.poll() is not None:
                raise ChildError(f"the server ended with code {process.returncode}: {tail(log)}") from error
            raise
