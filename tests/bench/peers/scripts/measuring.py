"""Times one session of a store at several lengths. Runs in the peer's environment, so it imports nothing but Python's own.

Prints one JSON line a fact. After `{"filled": n}` it waits for a line on stdin, while the benchmark looks how many bytes are
stored.
"""

import asyncio
import importlib.metadata
import json
import random
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

TEXT_BYTES = 960  # with its envelope an event of Threadkeep is then 1 KB
LAST = 50


class Store(Protocol):
    """One empty session of a peer."""

    async def append(self, text: str) -> object:
        """Adds one message and returns when it is stored."""

    async def last(self, count: int) -> int:
        """Reads the last messages; how many came."""

    async def whole(self) -> int:
        """Reads the session; how many messages came."""


@dataclass(frozen=True)
class Plan:
    """The arguments that the benchmark passes on the command line."""

    url: str
    sizes: tuple[int, ...]
    repeats: int
    reads: int


def plan() -> Plan:
    """The command line: URL or path, comma-separated lengths, appends and short reads to time, whole reads to time."""
    url, sizes, repeats, reads = sys.argv[1:5]
    return Plan(url, tuple(int(size) for size in sizes.split(",")), int(repeats), int(reads))


def installed(distribution: str) -> str:
    """The version of a package in this environment."""
    return importlib.metadata.version(distribution)


def tell(**fact: Any) -> None:
    """Prints a fact."""
    print(json.dumps(fact), flush=True)


def text(source: random.Random) -> str:
    """A message: random words, so that nothing compresses it away."""
    words = ["".join(source.choices("abcdefghijklmnopqrstuvwxyz", k=source.randint(2, 9))) for _ in range(250)]
    return " ".join(words)[:TEXT_BYTES]


async def timed(action: Callable[[], Awaitable[object]], repeats: int) -> float:
    """The median, in milliseconds."""
    times = []
    for _ in range(repeats):
        before = time.perf_counter()
        await action()
        times.append(time.perf_counter() - before)
    return statistics.median(times) * 1000


async def measure(version: str, store: Store, wanted: Plan, setting: str = "") -> None:
    """Fills the session to each length in turn, and times it there. `setting` says how the store keeps what is appended, if the
    benchmark cannot read that from the database."""
    tell(version=version, setting=setting)
    await _stored(0)
    source = random.Random(11)
    held = 0
    for size in wanted.sizes:
        while held < size:
            await store.append(text(source))
            held += 1
        await _stored(held)
        counts = (await store.last(LAST), await store.whole())
        if counts != (min(LAST, held), held):
            raise ValueError(f"the last {LAST} were {counts[0]}, the whole session {counts[1]} messages of {held}")
        last = await timed(lambda: store.last(LAST), wanted.repeats)
        whole = await timed(store.whole, wanted.reads)
        append = await timed(lambda: store.append(text(source)), wanted.repeats)
        held += wanted.repeats
        tell(n=size, append=append, last=last, whole=whole)


async def _stored(count: int) -> None:
    tell(filled=count)
    await asyncio.to_thread(sys.stdin.readline)
