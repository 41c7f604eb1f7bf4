"""Whether an acknowledged append is on disk, measured: how many times a store calls fsync or fdatasync per append."""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.bench.harness import Bench, Database, Skip
from tests.bench.shim import Shim, shim

_SQLITE_MAGIC = b"SQLite format 3\0"
_WRITE_VERSION = 18  # of the file's header: 2 with a write-ahead log
EVERY_APPEND = (
    0.5  # calls per append from which on appends are waited for; a log that is synced in the background has far fewer
)


class Syncs:
    """Counts the calls of the programs that run with `env`. One store runs at a time, so all of them are its own."""

    def __init__(self, library: Shim | None) -> None:
        self._library = library
        self.env: Mapping[str, str] = library.env if library else {}
        self._calls = self._appends = 0
        self._begun: tuple[int, int] | None = None

    def begin(self, appends: int) -> None:
        """Counts from now on, in a session of this many appends."""
        if self._library is not None:
            self._begun = self._library.calls, appends

    def end(self, appends: int) -> None:
        """Stops, if it was counting; the session has this many appends now."""
        if self._library is not None and self._begun is not None:
            self._calls += self._library.calls - self._begun[0]
            self._appends += appends - self._begun[1]
        self._begun = None

    def per_append(self) -> float | None:
        """The calls per append since the last call of this method, None if nothing was counted."""
        found = self._calls / self._appends if self._appends else None
        self._calls = self._appends = 0
        self._begun = None
        return found


@contextlib.contextmanager
def counting(bench: Bench) -> Iterator[Syncs]:
    """Counts, if there is a C compiler; also in the PostgreSQL cluster of the run."""
    directory = bench.root / "shim"
    directory.mkdir()
    bench.root.chmod(0o755)  # PostgreSQL loads the library as another user
    with contextlib.ExitStack() as stack:
        try:
            library = stack.enter_context(shim(directory))
        except Skip:
            library = None
        syncs = Syncs(library)
        bench.cluster_env = syncs.env
        yield syncs


def setting(bench: Bench, database: Database) -> str:
    """How the database is configured, read from it: the journal of SQLite, the settings of PostgreSQL."""
    if database.engine == "postgres":
        names = ("fsync", "synchronous_commit")
        return ", ".join(f"{name}={bench.cluster().execute(f'SHOW {name}')}" for name in names)
    return next((journal for path in sorted(database.directory.rglob("*.db")) if (journal := journal_of(path))), "")


def journal_of(path: Path) -> str:
    """The journal of an SQLite database, from its header; "" for another file."""
    with path.open("rb") as file:
        header = file.read(_WRITE_VERSION + 1)
    if len(header) <= _WRITE_VERSION or not header.startswith(_SQLITE_MAGIC):
        return ""
    return "WAL" if header[_WRITE_VERSION] == 2 else "rollback journal"


def described(per_append: float | None, configured: str) -> str:
    """Both in words."""
    if per_append is None:
        counted = "fsync not counted (no C compiler)"
    elif per_append >= EVERY_APPEND:
        counted = f"fsync, {per_append:.1f} per append"
    else:
        counted = f"no fsync, {per_append:.2f} per append"
    return f"{counted}; {configured}" if configured else counted
