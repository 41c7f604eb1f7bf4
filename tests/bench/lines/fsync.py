"""A disk that is slower by a millisecond a sync."""

import contextlib
import mmap
import shutil
import struct
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.bench.harness import Bench, Result, Server, Skip, own_postgres
from tests.bench.lines.base import compared
from tests.bench.report import Line, at_least

DELAY_US = 1000
SESSIONS = 64
SOURCE = Path(__file__).parents[1] / "fsync_shim.c"
_LAYOUT = struct.Struct("QQ")


class Shim:
    """The delay of every fsync in the processes that run with `env`, changed while they run."""

    def __init__(self, library: Path, control: Path, view: mmap.mmap) -> None:
        self.env: Mapping[str, str] = {"LD_PRELOAD": str(library), "THREADKEEP_BENCH_FSYNC": str(control)}
        self._view = view

    def delay(self, microseconds: int) -> None:
        """Every fsync from now on takes this much longer."""
        self._view[:8] = struct.pack("Q", microseconds)

    @property
    def calls(self) -> int:
        """How many there were."""
        return int(_LAYOUT.unpack(self._view[:])[1])


@contextlib.contextmanager
def shim(directory: Path) -> Iterator[Shim]:
    """Compiles the shim."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        raise Skip("needs a C compiler to slow fsync down, and there is none")
    library, control = directory / "fsync_shim.so", directory / "fsync.control"
    command = [compiler, "-O2", "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-ldl"]
    built = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if built.returncode:
        raise Skip(f"the shim does not compile: {built.stderr.strip().splitlines()[-1]}")
    control.write_bytes(bytes(_LAYOUT.size))
    for path, mode in ((directory, 0o755), (library, 0o755), (control, 0o666)):  # PostgreSQL runs as another user
        path.chmod(mode)
    with control.open("r+b") as file, mmap.mmap(file.fileno(), _LAYOUT.size) as view:
        yield Shim(library, control, view)


def slow(bench: Bench, engine: str) -> list[Line]:
    """The same server in turn with the disk as it is and with the slower one."""
    directory = bench.root / "shim"
    directory.mkdir(exist_ok=True)
    bench.root.chmod(0o755)
    with contextlib.ExitStack() as stack:
        slower = stack.enter_context(shim(directory))
        if engine == "sqlite":
            database = stack.enter_context(bench.database(engine))
            server = stack.enter_context(bench.server(database, env=slower.env))
        else:
            database = stack.enter_context(own_postgres(bench, slower.env))
            server = stack.enter_context(bench.server(database))
        names = bench.create(server, SESSIONS)
        syncs: dict[int, list[float]] = {0: [], DELAY_US: []}
        results = bench.interleave(
            f"slow fsync on {engine}",
            {
                "as it is": lambda: _measure(bench, server, slower, 0, names, syncs),
                "1 ms slower": lambda: _measure(bench, server, slower, DELAY_US, names, syncs),
            },
        )
    if not slower_calls(syncs):
        raise ValueError("no fsync went through the shim")
    grouped = {delay: sorted(values)[len(values) // 2] for delay, values in syncs.items()}
    note = f"appends per fsync {grouped[0]:,.1f}, with the slower one {grouped[DELAY_US]:,.1f}"
    text = "unary append, 64 in flight, fsync 1 ms slower ÷ as it is"
    return [compared("fsync", engine, text, "rate", results["1 ms slower"], results["as it is"], at_least(2 / 3), note)]


def slower_calls(syncs: dict[int, list[float]]) -> bool:
    """Whether the shim was called at all."""
    return all(value > 0 for values in syncs.values() for value in values)


def _measure(bench: Bench, server: Server, shim: Shim, delay: int, names: list[str], syncs: dict[int, list[float]]) -> Result:
    shim.delay(delay)
    before = shim.calls
    try:
        result = bench.measure(server, "append", sessions=names)
    finally:
        shim.delay(0)
    during = shim.calls - before
    share = result["seconds"] / (result["seconds"] + bench.scale.warmup)
    syncs[delay].append(result["count"] / (during * share) if during else 0.0)
    return result
