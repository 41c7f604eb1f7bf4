"""Substring search with the index and without, on the same data."""

from tests.bench.harness import Bench, Result
from tests.bench.lines.base import compared
from tests.bench.payloads import ABSENT, PLANTS
from tests.bench.report import Line, at_least

EVENT_BYTES = 600
SESSIONS_PER_USER = 50
SEARCHED_USERS = 5
SPEEDUP = 20


def _sessions(bench: Bench) -> list[tuple[str, str, int, int]]:
    scale = bench.scale
    count = max(scale.search_events_per_user // SESSIONS_PER_USER, 1)
    starts = range(0, scale.search_events_per_user, count)
    return [(f"s{start // count:05d}", f"u{user:03d}", start, count) for user in range(scale.search_users) for start in starts]


def search(bench: Bench, engine: str) -> list[Line]:
    """Latency of a search by term. The server is restarted on the same database, with the index and without, in turn."""
    scale = bench.scale
    events = scale.search_users * scale.search_events_per_user
    users = [f"u{number:03d}" for number in range(min(SEARCHED_USERS, scale.search_users))]
    terms = (*PLANTS, ABSENT)
    results: dict[tuple[str, bool], list[Result]] = {(item.term, index): [] for item in terms for index in (True, False)}
    with bench.database(engine) as database:
        with bench.server(database, index=True) as server:
            bench.load(server, _sessions(bench), size=EVENT_BYTES, plant=True)
            indexed_in = bench.wait_for_index(server, events)
        for number in range(scale.search_rounds):
            for index in (True, False):
                with bench.server(database, index=index) as server:
                    if index:
                        bench.wait_for_index(server, events)
                    for item in terms:
                        kind = "index" if index else "scan"
                        bench.say(f"search on {engine} · round {number + 1} of {scale.search_rounds} · {kind} · {item.name}")
                        job = {"users": users, "term": item.term, "hits": item.hits, "in_flight": 1, "min_count": 3}
                        results[item.term, index].append(bench.measure(server, "search", **job))
    lines = []
    for item in terms:
        scan, mine = results[item.term, False], results[item.term, True]
        text = f"search, {item.name} ({item.hits} hits) in {scale.search_events_per_user:,} events of {events:,}: scan ÷ index"
        line = compared("search", engine, text, "p50", scan, mine, at_least(SPEEDUP))
        note = f"the index caught up {indexed_in:,.0f} s after the load" if item is terms[0] else ""
        lines.append(Line(**{**vars(line), "measured": line.baseline, "baseline": line.measured, "note": note}))
    return lines
