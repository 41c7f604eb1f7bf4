"""Runs pg_dump and pg_restore. The connection, with its password, is passed to them in the environment, which other users of
the machine cannot read, and never on a command line."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

_DEBIAN: Final = Path("/usr/lib/postgresql")
_POLL_S: Final = 0.2
# Arguments of the driver, and how libpq calls them.
_PARAMETERS: Final = {
    "user": "PGUSER",
    "password": "PGPASSWORD",
    "database": "PGDATABASE",
    "passfile": "PGPASSFILE",
    "ssl": "PGSSLMODE",
    "sslrootcert": "PGSSLROOTCERT",
    "sslcert": "PGSSLCERT",
    "sslkey": "PGSSLKEY",
    "target_session_attrs": "PGTARGETSESSIONATTRS",
}


class ProgramFailed(RuntimeError):
    """A program of PostgreSQL is missing, too old, or failed."""


def program(name: str, folder: Path | None) -> Path:
    """Returns the path of a program: in `folder` if it is given, else in PATH, else in Debian's place for the newest version.
    Raises ProgramFailed."""
    if folder is not None:
        if (folder / name).exists():
            return folder / name
        raise ProgramFailed(f"there is no {name} in {folder}")
    # Debian's wrapper in PATH chooses a version by the clusters of this machine, and not by the server of the URL.
    versions = [each for each in _DEBIAN.glob(f"*/bin/{name}") if each.parent.parent.name.isdecimal()]
    if versions:
        return max(versions, key=lambda each: int(each.parent.parent.name))
    found = shutil.which(name)
    if found is None:
        raise ProgramFailed(
            f"{name} is not installed; install PostgreSQL's client programs, or name their folder with --pg-bin"
        )
    return Path(found)


def version_of(path: Path) -> str:
    """Returns the version of a program, such as 15.14. Raises ProgramFailed."""
    try:
        done = subprocess.run([path, "--version"], check=True, capture_output=True, text=True)  # noqa: S603 - pg_dump
    except (OSError, subprocess.CalledProcessError) as error:
        raise ProgramFailed(f"{path} cannot be run: {error}") from None
    found = re.search(r"\d+(\.\d+)*", done.stdout)
    return found[0] if found else "0"


def major(version: str) -> int:
    return int(version.partition(".")[0] or 0)


def environment(url: str) -> dict[str, str]:
    """Returns the environment that connects a program to the database, as the driver does."""
    from ..engine.postgres_hosts import connect_arguments  # its driver is an extra

    given = connect_arguments(url)
    hosts, ports = given.get("host", ""), given.get("port", "")
    values = {
        "PGHOST": ",".join(hosts) if isinstance(hosts, list) else hosts,
        "PGPORT": ",".join(map(str, ports)) if isinstance(ports, list) else ports,
        # Of several hosts, the one that is written to.
        "PGTARGETSESSIONATTRS": "read-write" if isinstance(hosts, list) else None,
        "PGAPPNAME": "threadkeep db",
        "PGOPTIONS": "-c statement_timeout=0 -c idle_in_transaction_session_timeout=0",
    }
    values |= {variable: given[name] for name, variable in _PARAMETERS.items() if name in given}
    return {**os.environ, **{name: str(value) for name, value in values.items() if value}}


def run(command: Sequence[str | Path], url: str, report: Callable[[], None]) -> None:
    """Runs a program to its end. Calls `report` now and then. Raises ProgramFailed with the last line it wrote."""
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(  # noqa: S603 - pg_dump or pg_restore
            command, env=environment(url), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors
        )
        try:
            while process.poll() is None:
                report()
                time.sleep(_POLL_S if process.poll() is None else 0)
        finally:
            _end(process)
        _check(process, command, errors)


@contextmanager
def output_of(command: Sequence[str | Path]) -> Iterator[IO[bytes]]:
    """Yields what a program that needs no database writes. Raises ProgramFailed at the end."""
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(  # noqa: S603 - pg_restore
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, bufsize=1 << 20
        )
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        try:
            yield process.stdout
            process.stdout.close()
            process.wait()
        finally:
            _end(process)
        _check(process, command, errors)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.kill()
        process.wait()


def _check(process: subprocess.Popen[bytes], command: Sequence[str | Path], errors: IO[bytes]) -> None:
    if process.returncode:
        errors.seek(0)
        lines = errors.read().decode(errors="replace").splitlines()
        reasons = [line for line in lines if "error" in line.lower()] or lines or ["no message"]
        raise ProgramFailed(f"{Path(command[0]).name} ended with status {process.returncode}: {reasons[0]}")
