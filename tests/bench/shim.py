"""Counts every fsync of a program, and makes it slower: a C library that is loaded before libc."""

import contextlib
import mmap
import shutil
import struct
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.bench.harness import Skip

SOURCE = Path(__file__).parent / "fsync_shim.c"
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
    """Compiles the shim. Every user can load it: PostgreSQL runs as one of its own."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        raise Skip("needs a C compiler (gcc or cc) to intercept fsync, and there is none")
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
