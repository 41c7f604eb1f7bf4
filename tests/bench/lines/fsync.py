"""A disk that is slower by a millisecond a sync."""

import contextlib

from tests.bench.harness import Bench, Result, Server, own_postgres
from tests.bench.lines.base import compared
from tests.bench.report import Line, at_least
from tests.bench.shim import Shim, shim

DELAY_US = 1000
SESSIONS = 64


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
