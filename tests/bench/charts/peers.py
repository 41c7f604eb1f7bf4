"""The charts of `make bench-peers`: one operation of every store, in milliseconds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.charts.bars import Bar, Chart, Group
from tests.bench.peers.catalog import PEERS, THREADKEEP
from tests.bench.peers.durability import EVERY_APPEND
from tests.bench.peers.table import HEADINGS
from tests.bench.results import BadResults, load

LENGTH = 1000  # of the session that is shown, if it was measured
ENGINES = {"sqlite": "SQLite", "postgres": "PostgreSQL"}


@dataclass(frozen=True)
class Peers:
    """A run of `make bench-peers`."""

    run: Mapping[str, Any]
    stores: Sequence[Mapping[str, Any]]

    def left_out(self) -> Iterator[tuple[str, str]]:
        """The stores that were not measured, and why; each once."""
        found = {store["store"]: store["error"] or store["skipped"] for store in self.stores if not store["milliseconds"]}
        yield from found.items()


def read(path: Path) -> Peers:
    """A file that `make bench-peers` wrote."""
    run, stores = load(path, "stores")
    needed = {"store", "engine", "version", "milliseconds", "durability", "skipped", "error"}
    for store in stores:
        if missing := needed - set(store):
            raise BadResults(f"{path}: a store has no {min(missing)}: measure it again")
    return Peers(run, stores)


def charts(peers: Peers) -> Iterator[Chart]:
    """A chart per engine and operation."""
    for engine in dict.fromkeys(store["engine"] for store in peers.stores):
        stores = [store for store in peers.stores if store["engine"] == engine]
        lengths = {time["events"] for store in stores for time in store["milliseconds"]}
        if not lengths:
            continue
        length = LENGTH if LENGTH in lengths else max(lengths)
        for operation, heading in HEADINGS.items():
            groups = tuple(_groups(stores, operation, length))
            title = f"{heading.capitalize()}, next to Threadkeep on {ENGINES.get(engine, engine)}: shorter is better"
            subtitle = f"Milliseconds per call in a session of {length:,} events, one call in flight"
            yield Chart(f"peers-{engine}-{operation}", title, subtitle, groups, command(peers, engine))


def command(peers: Peers, engine: str) -> str:
    """What measures these stores again."""
    titles = {store["store"] for store in peers.stores if store["engine"] == engine}
    names = [peer.name for peer in PEERS if peer.title in titles]
    possible = [peer.name for peer in PEERS if engine in peer.engines]
    scale = "" if peers.run.get("scale") == "full" else f"--scale {peers.run.get('scale')} "
    only = "" if names == possible else f" --only {' '.join(names)}"
    return f'make bench-peers ARGS="{scale}--engine {engine}{only}"'


def _groups(stores: Sequence[Mapping[str, Any]], operation: str, length: int) -> Iterator[Group]:
    for store in stores:
        for time in store["milliseconds"]:
            if (time["operation"], time["events"]) == (operation, length):
                syncs = store["durability"]["fsyncs_per_append"]
                loose = syncs is not None and syncs < EVERY_APPEND
                own = store["store"].startswith(THREADKEEP.title)
                color = "blue" if own else "gray" if loose else "orange"
                note = store["durability"]["text"].partition(";")[0] if operation == "append" else ""
                yield Group(
                    f"{store['store']} {store['version']}".rstrip(), note, (Bar("", time["ms"], _shown(time["ms"]), color),)
                )


def _shown(milliseconds: float) -> str:
    return f"{milliseconds:,.2f} ms" if milliseconds < 10 else f"{milliseconds:,.0f} ms"
