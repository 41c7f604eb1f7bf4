"""A run of the measurements."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.bench import machine
from tests.sizing import figures
from tests.sizing.figures import FULL, QUICK, Figure
from tests.sizing.measurements import MEASUREMENTS
from tests.sizing.servers import place


def run(engines: Sequence[str], only: Sequence[str], output: Path, *, quick: bool) -> int:
    """Measures, prints and writes the figures; returns the exit status."""
    began, found = time.monotonic(), list[Figure]()
    busy = machine.busy(machine.facts())
    with tempfile.TemporaryDirectory(prefix="threadkeep-sizing-") as folder:
        for name in only:
            for engine in engines:
                print(f"{time.monotonic() - began:4.0f} s: {name} on {engine}", file=sys.stderr, flush=True)
                with place(engine, Path(folder) / name) as where:
                    found += MEASUREMENTS[name](where, QUICK if quick else FULL)
    title = f"Sizing, {time.monotonic() - began:.0f} s" + (f"; the machine was busy: {busy}" if busy else "")
    figures.show(found, title + ("; tiny sizes: nothing here is a measurement" if quick else ""))
    figures.write(found, output)
    return 0
