"""Catching up: the whole feed from its beginning."""

from tests.bench.harness import Bench, Database, Result
from tests.bench.lines.base import compared, cpu_note
from tests.bench.report import Line, at_least, rate

SESSIONS = 16
LOADED_IN_FLIGHT = 64
ROUNDS = 3


def replay(bench: Bench, engine: str) -> list[Line]:
    """Changes of one event each, compared with a bare handler that reads and streams the same rows."""
    each = bench.scale.replay_changes // SESSIONS
    count = each * SESSIONS
    limit = 120 + count * 0.002
    with bench.database(engine) as database, bench.server(database) as server:
        bench.say(f"appending {count:,} events on {engine}")
        load = {"sessions": bench.create(server, SESSIONS), "batch": 1, "window": LOADED_IN_FLIGHT, "max_count": each}
        bench.driver.run("stream", limit, target=server.target, seconds=limit, **load)
        job = {"timeout": limit, "expected": count, "warmup": 0}
        seen: list[Result] = []

        def threadkeep() -> Result:
            seen.append(bench.measure(server, "replay", **job))
            return seen[-1]

        def bare() -> Result:
            page = round(seen[-1]["per_message"])
            return bench.measure(bench.echo, "bare_replay", url=_address(database), page=page, **job)

        results = bench.interleave(f"replay on {engine}", {"threadkeep": threadkeep, "bare": bare}, ROUNDS)
    mine, base = results["threadkeep"], results["bare"]
    text = f"catching up with {count:,} changes ÷ bare stream of the same events"
    size = seen[-1]["bytes"] / count
    note = f"{rate(seen[-1]['per_message'], '')} changes a message, {size:,.0f} bytes each; {cpu_note(mine, base)}"
    return [compared("replay", engine, text, "rate", mine, base, at_least(0.30), note)]


def _address(database: Database) -> str:
    return database.url.removeprefix("sqlite:///") if database.engine == "sqlite" else database.dsn
