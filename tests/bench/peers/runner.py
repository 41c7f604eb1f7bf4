"""Runs a peer's script and collects what it prints."""

import contextlib
import json
import queue
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.bench.harness import Bench, Database, Server, Skip
from tests.bench.peers import durability, programs
from tests.bench.peers.catalog import Peer
from tests.bench.peers.durability import Syncs
from tests.bench.peers.environments import CannotInstall, python_for
from tests.bench.peers.servers import program_for, serving
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
SMALL = Sizes((10, 1000), 20, 5, 300.0)
FULL = Sizes((10, 1000, 5000), 40, 7, 900.0)
SIZES = {"quick": QUICK, "small": SMALL, "full": FULL}


@dataclass
class Outcome:
    """What came out of one peer on one engine. Milliseconds by (operation, length)."""

    peer: Peer
    engine: str
    version: str = ""
    times: dict[tuple[str, int], float] = field(default_factory=dict)
    stored: dict[int, float] = field(default_factory=dict)
    # How the store is configured, and how often it calls fsync for an append.
    setting: str = ""
    syncs: float | None = None
    # Why it could not be had, why it failed while it ran, and what was left out.
    skipped: str = ""
    error: str = ""
    note: str = ""

    @property
    def state(self) -> str:
        """What happened in a word, "" if everything was measured."""
        return "failed" if self.error else "skipped" if self.skipped else "in part" if self.note else ""

    @property
    def durability(self) -> str:
        """Whether an acknowledged append is on disk, as it was measured."""
        return durability.described(self.syncs, self.setting) if self.times else ""


def stored_bytes(bench: Bench, database: Database) -> int:
    """What the store takes: pages of SQLite (those of the log included), PostgreSQL's own count, or the files of a server."""
    if database.engine == "postgres":
        name = database.url.rpartition("/")[2]
        return int(bench.cluster().execute(f"SELECT pg_database_size('{name}')"))
    paths = list(database.directory.rglob("*.db"))
    if not paths:
        return sum(path.stat().st_size for path in (database.directory / "peer").rglob("*") if path.is_file())
    return sum(_pages(path) for path in paths)


def _pages(path: Path) -> int:
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)
    try:
        count, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    finally:
        connection.close()
    return int(count * size)


def measured_lengths(peer: Peer, sizes: Sizes) -> list[int]:
    """The lengths at which this peer is measured."""
    return [length for length in sizes.lengths if peer.longest is None or length <= peer.longest]


def run(bench: Bench, syncs: Syncs, peer: Peer, engine: str, sizes: Sizes) -> Outcome:
    """Measures a peer. After a failure the outcome has the measurements up to then and the reason."""
    outcome = Outcome(peer, engine)
    lengths = measured_lengths(peer, sizes)
    try:
        bench.say(f"{peer.title} on {engine}: installing")
        python, program = python_for(peer), program_for(peer)
        with bench.database(engine) as database, _store(bench, syncs, peer, program, database) as store:
            plan = (store.url, ",".join(map(str, lengths)), str(sizes.repeats), str(sizes.reads))
            talk = _Talk(bench, syncs, outcome, database, store.server)
            talk.run([python, str(SCRIPTS / peer.script), *plan], store.env, sizes.limit)
        if program is not None and not outcome.version:
            outcome.version = programs.version(program)
    except (CannotInstall, Skip) as reason:
        outcome.skipped = str(reason)
    except Exception as error:
        outcome.error = f"{type(error).__name__}: {error}"
    outcome.syncs = syncs.per_append()
    if not outcome.state and len(lengths) < len(sizes.lengths):
        outcome.note = f"not beyond {peer.longest:,} events: {peer.reason}"
    return outcome


@dataclass(frozen=True)
class _Store:
    """What a script talks to: the address, what is added to the script's environment, and the server if it is Threadkeep."""

    url: str
    env: Mapping[str, str] = field(default_factory=dict)
    server: Server | None = None


@contextlib.contextmanager
def _store(bench: Bench, syncs: Syncs, peer: Peer, program: Path | None, database: Database) -> Iterator[_Store]:
    if peer.own:
        with bench.server(database, index=peer.index, env=syncs.env) as server:
            yield _Store(server.target, server=server)
    elif program is not None:
        with serving(peer, program, database.directory, syncs.env) as url:
            yield _Store(url)
    else:
        yield _Store(
            database.dsn if database.engine == "postgres" else f"sqlite:///{database.directory / 'peer.db'}", syncs.env
        )


class _Talk:
    """Follows a script: collects what it prints, and looks at the database while it waits."""

    def __init__(self, bench: Bench, syncs: Syncs, outcome: Outcome, database: Database, server: Server | None) -> None:
        self._bench, self._syncs, self._outcome, self._database = bench, syncs, outcome, database
        self._indexed = server if outcome.peer.index else None
        self._empty = 0
        self._setting = ""

    def run(self, command: list[str], env: Mapping[str, str], limit: float) -> None:
        """Returns when the script has ended well; `limit` is in seconds."""
        log = self._database.directory / "peer.log"
        quiet = {"LANGSMITH_TRACING": "false", "OTEL_SDK_DISABLED": "true", "OPENAI_AGENTS_DISABLE_TRACING": "1"}
        with child(command, log, {**quiet, **env}, piped=True) as process:
            answer = _lines(process, limit)
            while (fact := answer()) is not None:
                if "version" in fact:
                    self._outcome.version, self._setting = fact["version"], fact["setting"]
                elif "filled" in fact:
                    self._filled(fact["filled"])
                    assert process.stdin is not None
                    process.stdin.write(b"\n")
                    process.stdin.flush()
                else:
                    self._outcome.times |= {(name, fact["n"]): fact[name] for name in OPERATIONS}
            if process.wait(30):
                printed = " ".join(tail(log, 6).split())[-REASON_CHARACTERS:]
                raise ChildError(f"ended with code {process.returncode}: {printed}")

    def _filled(self, count: int) -> None:
        outcome = self._outcome
        self._syncs.end(count)
        self._bench.say(f"{outcome.peer.title} on {outcome.engine}: {count:,} events")
        if self._indexed is not None:
            self._bench.wait_for_index(self._indexed, count)
        now = stored_bytes(self._bench, self._database)
        if count:
            outcome.stored[count] = (now - self._empty) / count
            found = (durability.setting(self._bench, self._database), self._setting)
            outcome.setting = ", ".join(filter(None, found))
        else:
            self._empty = now
        self._syncs.begin(count)


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
