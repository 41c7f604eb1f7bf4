"""What every line needs: the echo, the load generator, fresh databases, and servers under test."""

import contextlib
import json
import os
import selectors
import shutil
import subprocess
import sys
import tempfile
import time
import unittest.mock
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.progress import Progress, TaskID

from tests.bench import processes
from tests.bench.options import Options, Scale
from tests.bench.processes import ChildError, child, cpu_seconds, free_port, module, tail, wait_for_port
from tests.support.databases.postgres import HOW_TO_INSTALL, PostgresCluster, PostgresError, find_binaries

START_SECONDS = 60.0
GRACE_SECONDS = 10.0
IN_FLIGHT = 64
Result = dict[str, Any]
Subject = Callable[[], Result]


class Skip(Exception):
    """A line cannot be measured here; says why."""


@dataclass(frozen=True)
class Database:
    """An empty database for one server."""

    engine: str
    url: str
    directory: Path

    @property
    def dsn(self) -> str:
        """The URL as asyncpg takes it."""
        return self.url.replace("postgresql+asyncpg://", "postgresql://")


@dataclass(frozen=True)
class Server:
    """A process that answers on a port: the server under test, or the echo."""

    target: str
    process: subprocess.Popen[bytes]
    index: bool = False

    @property
    def pid(self) -> int:
        """The process id."""
        return self.process.pid


class Driver:
    """The load generator's process."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self._process = process
        self._log = log
        assert process.stdout is not None
        self._selector = selectors.DefaultSelector()
        self._selector.register(process.stdout, selectors.EVENT_READ)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def submit(self, op: str, timeout: float, **job: Any) -> None:
        """Starts a job; `poll` gives its result."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(job | {"op": op, "timeout": timeout}).encode() + b"\n")
        self._process.stdin.flush()

    def poll(self, seconds: float) -> Result | None:
        """The result, or None if the job has not ended within `seconds`."""
        if not self._selector.select(seconds):
            return None
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise ChildError(f"the load generator ended:\n{tail(self._log)}")
        answer = json.loads(line)
        if "error" in answer:
            raise ChildError(answer["error"])
        return {} if answer["ok"] is None else answer["ok"]

    def stop(self) -> None:
        """Ends the process."""
        processes.stop(self._process)

    def run(self, op: str, timeout: float = 120.0, **job: Any) -> Result:
        """The result of a job, which must end in time."""
        self.submit(op, timeout, **job)
        result = self.poll(timeout + GRACE_SECONDS)
        if result is None:
            raise ChildError(f"the load generator did not end {op} within {timeout:g} s")
        return result


class Bench:
    """One run of the benchmark."""

    def __init__(self, options: Options, root: Path, stack: contextlib.ExitStack, progress: Progress) -> None:
        self.options = options
        self.progress = progress
        self.root = root
        self._stack = stack
        self._task: TaskID | None = None
        # Added to the environment of the PostgreSQL cluster, which is started at first use.
        self.cluster_env: Mapping[str, str] = {}
        self._databases = 0
        self._cluster: PostgresCluster | None = None
        self._driver: Driver | None = None
        self._echo: Server | None = None

    @property
    def scale(self) -> Scale:
        """The sizes of this run."""
        return self.options.scale

    @property
    def driver(self) -> Driver:
        """The load generator, started at first use."""
        if self._driver is None:
            log = self.root / "driver.log"
            process = self._stack.enter_context(child(module("tests.bench.driver"), log, piped=True))
            self._driver = Driver(process, log)
        return self._driver

    @property
    def echo(self) -> Server:
        """The baseline server, started at first use."""
        if self._echo is None:
            self._echo = self._stack.enter_context(self.bare())
        return self._echo

    def say(self, text: str) -> None:
        """Shows what the benchmark is doing."""
        if self._task is None:
            self._task = self.progress.add_task(text, total=None)
        self.progress.update(self._task, description=text)

    def restart(self) -> None:
        """Replaces the load generator at its next use: after a failed job it may be in any state."""
        if self._driver is not None:
            self._driver.stop()
        self._driver = None

    # --- databases and servers --------------------------------------------------------------------------------------
    @contextlib.contextmanager
    def database(self, engine: str) -> Iterator[Database]:
        """A new, empty database."""
        self._databases += 1
        name = f"bench_{self._databases}"
        directory = self.root / name
        directory.mkdir()
        try:
            sqlite = engine == "sqlite"
            url = f"sqlite:///{directory / 'threadkeep.db'}" if sqlite else self.cluster().create_database(name)
            yield Database(engine, url, directory)
        finally:
            if engine == "postgres" and self._cluster is not None:
                with contextlib.suppress(PostgresError):
                    self._cluster.drop_database(name)
            shutil.rmtree(directory, ignore_errors=True)

    def cluster(self) -> PostgresCluster:
        """The PostgreSQL cluster, durable, started at first use."""
        if self._cluster is None:
            self.say("starting PostgreSQL")
            self._cluster = self._stack.enter_context(postgres_cluster(self.cluster_env))
        return self._cluster

    @contextlib.contextmanager
    def bare(self) -> Iterator[Server]:
        """A baseline server of one's own."""
        port, log = free_port(), self.root / "echo.log"
        with child(module("tests.bench.echo", str(port)), log) as process:
            wait_for_port(process, port, log)
            yield Server(f"127.0.0.1:{port}", process)

    @contextlib.contextmanager
    def server(self, database: Database, *, index: bool = False, env: Mapping[str, str] | None = None) -> Iterator[Server]:
        """A server under test on the database."""
        with self.started(database, index=index, env=env) as server:
            self.info(server)
            yield server
            self.driver.run("forget", target=server.target)

    @contextlib.contextmanager
    def started(
        self,
        database: Database,
        *,
        index: bool = False,
        env: Mapping[str, str] | None = None,
        command: Sequence[str] | None = None,
    ) -> Iterator[Server]:
        """The same for other load generators. `command`: the server, if it is not the one under test."""
        port = free_port()
        log = database.directory / "server.log"
        settings = {
            "THREADKEEP_DATABASE_URL": database.url,
            "THREADKEEP_DATA_DIR": str(database.directory),
            "THREADKEEP_GRPC_ADDRESS": f"127.0.0.1:{port}",
            "THREADKEEP_HTTP_ADDRESS": "",
            "THREADKEEP_SEARCH_INDEX": "true" if index else "false",
        }
        with child(command or server_command(), log, settings | dict(env or {})) as process:
            wait_for_port(process, port, log, START_SECONDS)
            try:
                yield Server(f"127.0.0.1:{port}", process, index)
            except Exception as error:
                if process.poll() is not None:
                    raise ChildError(f"the server ended with code {process.returncode}:\n{tail(log)}") from error
                last = tail(log, 1)
                raise ChildError(f"{error}; last in the server's log: {last}") from error

    def info(self, server: Server) -> Result:
        """What the server says about itself."""
        return self.driver.run("info", START_SECONDS, target=server.target)

    def create(self, server: Server, count: int, prefix: str = "s") -> list[str]:
        """Makes sessions; gives their names."""
        names = [f"{prefix}{number:05d}" for number in range(count)]
        self.driver.run("create", target=server.target, sessions=names)
        return names

    def load(self, server: Server, sessions: list[tuple[str, str, int, int]], *, size: int, plant: bool = False) -> None:
        """Fills sessions (name, user, number of the first event among the user's, count)."""
        total = sum(count for *_, count in sessions)
        limit = 120 + total * 0.002
        per_user = max(first + count for _, _, first, count in sessions)
        job = {"sessions": sessions, "per_user": per_user, "size": size, "plant": plant, "batch": 500, "in_flight": 4}
        self.say(f"loading {total:,} events")
        self.driver.run("load", limit, target=server.target, **job)

    def wait_for_index(self, server: Server, events: int) -> float:
        """Returns once the index has caught up; the seconds that took."""
        begin = time.monotonic()
        limit = 60 + events * 0.002
        while (lag := self.info(server)["lag"]) > 0:
            if time.monotonic() - begin > limit:
                raise ChildError(f"the index still lags {lag:,} batches after {limit:,.0f} s")
            self.say(f"waiting for the index: {lag:,} batches left")
            time.sleep(0.25)
        return time.monotonic() - begin

    # --- measuring --------------------------------------------------------------------------------------------------
    def measure(self, server: Server | None, op: str, **job: Any) -> Result:
        """Runs one timed job; the result includes the server's CPU seconds per event."""
        job = {"warmup": self.scale.warmup, "seconds": self.scale.seconds, "batch": 1, "in_flight": IN_FLIGHT} | job
        if server is None:
            return self.driver.run(op, **job)
        driver, began = self.driver, time.monotonic()
        before, before_driver = cpu_seconds(server.pid), cpu_seconds(driver.pid)
        result = driver.run(op, target=server.target, **job)
        took = time.monotonic() - began
        busy, busy_driver = cpu_seconds(server.pid) - before, cpu_seconds(driver.pid) - before_driver
        share = result["seconds"] / (result["seconds"] + float(job["warmup"]))
        load = {"server_busy": busy / took, "driver_busy": busy_driver / took}
        return result | load | {"cpu": busy * share / result["count"]}

    def interleave(self, text: str, subjects: Mapping[str, Subject], rounds: int | None = None) -> dict[str, list[Result]]:
        """Measures the subjects in turn, round after round (no more than `rounds`), every second round backwards."""
        results: dict[str, list[Result]] = {name: [] for name in subjects}
        count = min(self.scale.rounds, rounds or self.scale.rounds)
        for number in range(count):
            order = list(subjects) if number % 2 == 0 else list(subjects)[::-1]
            for name in order:
                self.say(f"{text} · round {number + 1} of {count} · {name}")
                results[name].append(subjects[name]())
        return results


def server_command() -> list[str]:
    """The program under test; THREADKEEP_BENCH_COMMAND names another build."""
    other = os.environ.get("THREADKEEP_BENCH_COMMAND")
    return other.split() if other else [str(Path(sys.executable).with_name("threadkeep")), "serve"]


@contextlib.contextmanager
def postgres_cluster(env: Mapping[str, str] | None = None) -> Iterator[PostgresCluster]:
    """A durable PostgreSQL cluster, started with these variables in its environment."""
    binaries = find_binaries()
    if binaries is None:
        raise Skip(HOW_TO_INSTALL)
    cluster = PostgresCluster(binaries, fsync=True, settings={"shared_buffers": "256MB", "max_wal_size": "4GB"})
    with contextlib.ExitStack() as stack:
        with unittest.mock.patch.dict(os.environ, env or {}):
            stack.enter_context(cluster)
        yield cluster


@contextlib.contextmanager
def own_postgres(bench: "Bench", env: Mapping[str, str]) -> Iterator[Database]:
    """An empty database in a cluster of its own."""
    directory = bench.root / "own"
    directory.mkdir(exist_ok=True)
    with postgres_cluster(env) as cluster:
        yield Database("postgres", cluster.create_database("bench"), directory)


@contextlib.contextmanager
def bench(options: Options, progress: Progress) -> Iterator[Bench]:
    """A run; ends every process and removes every file when it is over, however it ends."""
    with contextlib.ExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="threadkeep-bench-", ignore_cleanup_errors=True)))
        yield Bench(options, root, stack, progress)
