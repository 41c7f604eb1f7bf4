"""What /proc says about a server: memory, descriptors, threads and processor time of the process and of what it started."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.bench.processes import cpu_seconds, memory


@dataclass(frozen=True, slots=True)
class Sample:
    """Memory in MiB, processor time in seconds since the start."""

    resident: float
    anonymous: float
    descriptors: int
    threads: int
    cpu: float


def sample(pid: int) -> Sample:
    """Returns the sum over the process and those that it started."""
    found = [each for each in map(_sample_of, tree(pid)) if each is not None]
    return Sample(
        sum(each.resident for each in found),
        sum(each.anonymous for each in found),
        sum(each.descriptors for each in found),
        sum(each.threads for each in found),
        sum(each.cpu for each in found),
    )


def tree(pid: int) -> Iterator[int]:
    """Yields the process and those below it."""
    yield pid
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from tree(int(child))


def _sample_of(pid: int) -> Sample | None:
    with contextlib.suppress(OSError):
        used = memory(pid)
        folder = Path(f"/proc/{pid}")
        counts = [len(list((folder / name).iterdir())) for name in ("fd", "task")]
        return Sample(used.resident, used.anonymous, counts[0], counts[1], cpu_seconds(pid))
    return None
