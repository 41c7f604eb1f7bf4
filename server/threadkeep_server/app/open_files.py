"""The open files that the system allows this process; a connection is one."""

from __future__ import annotations

import contextlib
import resource
from typing import Final

_OTHERS: Final = 256
"""Open files that are no connections: the database's, libraries, sockets of the server itself."""


def raise_open_files() -> None:
    """Raises the limit of this process, which its children inherit, as far as it may."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):  # the system's own limit may be lower
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def most_connections(wanted: int, ports: int) -> int:
    """Returns how many connections each of the ports may have, at most `wanted`. More would take the files that the database
    needs."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return wanted
    return max(1, min(wanted, (files - _OTHERS) // ports))
