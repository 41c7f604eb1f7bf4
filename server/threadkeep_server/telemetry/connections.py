"""Counts the open connections of ports, as Linux lists them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

_TABLES: Final = (Path("/proc/self/net/tcp"), Path("/proc/self/net/tcp6"))
_ESTABLISHED: Final = "01"


def open_connections(ports: Mapping[str, int]) -> Mapping[str, int] | None:
    """Returns the number of established connections by the names of the ports; None on another system. Takes milliseconds."""
    texts = [table.read_text() for table in _TABLES if table.exists()]
    return counted(ports, (line for text in texts for line in text.splitlines()[1:])) if texts else None


def counted(ports: Mapping[str, int], lines: Iterable[str]) -> Mapping[str, int]:
    """Counts the lines of tables of connections."""
    found: Counter[str] = Counter()
    for line in lines:
        _, local, _, state, *_ = line.split(maxsplit=4)
        if state == _ESTABLISHED:
            found[local.rpartition(":")[2]] += 1
    return {name: found[f"{port:04X}"] for name, port in ports.items()}
