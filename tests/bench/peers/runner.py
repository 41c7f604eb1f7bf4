"""Runs a peer's script and collects what it prints."""

import json
import queue
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.bench.harness import Bench, Database, Server
from tests.bench.peers.catalog import Peer
from tests.bench.peers.environments import CannotInstall, python_for
from tests.bench.processes import ChildError, child, tail

SCRIPTS = Path(__file__).parent / "scripts"
REASON_CHARACTERS = 300
OPERATIONS = ("append", "last", "whole")


@dataclass(frozen=True)
class Sizes:
    """How long the sessions are and how often each call is timed."""

    lengths: tuple[int, ...]
    repeats: int
    reads: int
    limit: float  # seconds for one peer on one engine


QUICK = Sizes((5, 20, 60), 5, 2, 60.0)
FULL = Sizes((10, 1000, 5000), 40, 7, 900.0)


@dataclass
class Outcome:
    """What came out of one peer on one engine. Milliseconds by (operation, length)."""

    peer: Peer
    engine: str
    version: str = ""
    times: dict[tuple[str, int], float] = field(default_factory=dict)
    stored: dict[int, float] = field(default_factory=dict)
    problem: str = ""


def stored_bytes(bench: Bench, database: Database) -> int:
    """What the database takes, in pages of SQLite (those of the log included) or in PostgreSQL's own count."""
    if database.engine == "postgres":
        name = database.url.rpartition("/")[2]
        return int(bench.cluster().execute(f"SELECT pg_database_size('{name}')"))
    total = 0
    for path in database.directory.glob("*.db"):
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)
        try:
            sizes = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size")]
        finally:
            connection.close()
        total += sizes[0] * sizes[1]
    return total


def measured_lengths(peer: Peer, sizes: Sizes) -> list[int]:
    """The lengths at which this peer is measured."""
    return [length for length in sizes.lengths if peer.longest is None or length <= peer.longest]


def run(bench: Bench, peer: Peer, engine: str, sizes: Sizes) -> Outcome:
    """Measures a peer. After a failure the outcome has the measurements up to then and the reason."""
    outcome = Outcome(peer, engine)
    try:
        bench.say(f"{peer.title} on {engine}: installing")
        python = python_for(peer)
        with bench.database(engine) as database:
            if peer.requirements:
                url = database.dsn if engine == "postgres" else f"sqlite:///{database.directory / 'peer.db'}"
                _talk(bench, outcome, python, url, sizes, database, None)
            else:
                with bench.server(database, index=peer.index) as server:
                    _talk(bench, outcome, python, server.target, sizes, database, server)
    except CannotInstall as error:
        outcome.problem = f"does not install: {error}"
    except Exception as error:
        outcome.problem = f"{type(error).__name__}: {error}"
    if not outcome.problem and len(measured_lengths(peer, sizes)) < len(sizes.lengths):
        outcome.problem = f"not beyond {peer.longest:,} events: {peer.reason}"
    return outcome


def _talk(
    bench: Bench, outcome: Outcome, python: str, url: str, sizes: Sizes, database: Database, server: Server | None
) -> None:
    peer, empty = outcome.peer, 0
    lengths = ",".join(map(str, measured_lengths(peer, sizes)))
    command = [python, str(SCRIPTS / peer.script), url, lengths, str(sizes.repeats), str(sizes.reads)]
    log = database.directory / "peer.log"
    quiet = {"LANGSMITH_TRACING": "false", "OTEL_SDK_DISABLED": "true", "OPENAI_AGENTS_DISABLE_TRACING": "1"}
    with child(command, log, quiet, piped=True) as process:
        answer = _lines(process, sizes.limit)
        while (fact := answer()) is not None:
            if "version" in fact:
                outcome.version = fact["version"]
            elif "filled" in fact:
                count = fact["filled"]
                bench.say(f"{peer.title} on {outcome.engine}: {count:,} events")
                if server is not None and peer.index:
                    bench.wait_for_index(server, count)
                now = stored_bytes(bench, database)
                if count:
                    outcome.stored[count] = (now - empty) / count
                else:
                    empty = now
                assert process.stdin is not None
                process.stdin.write(b"\n")
                process.stdin.flush()
            else:
                outcome.times |= {(name, fact["n"]): fact[name] for name in OPERATIONS}
        if process.wait(30):
            raise ChildError(f"ended with code {process.returncode}: {' '.join(tail(log, 6).split())[-REASON_CHARACTERS:]}")


def _lines(process: subprocess.Popen[bytes], limit: float) -> Callable[[], dict[str, Any] | None]:
    """Gives the facts the script prints, one by one, and None at its end."""
    lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    deadline = time.monotonic() + limit

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()

    def answer() -> dict[str, Any] | None:
        while True:
            try:
                line = lines.get(timeout=max(deadline - time.monotonic(), 0.0))
            except queue.Empty:
                raise TimeoutError(f"not done within {limit:g} s") from None
            if line is None:
                return None
            if line.startswith(b"{"):
                fact: dict[str, Any] = json.loads(line)
                return fact

    return answer
