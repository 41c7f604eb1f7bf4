"""`python -m tests.bench.peers`: compare Threadkeep with other session stores, print the tables, write bench-peers.json."""

import argparse
import datetime
import sys
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from tests.bench import machine, options
from tests.bench.harness import Bench, bench
from tests.bench.peers import runner, table
from tests.bench.peers.catalog import PEERS, THREADKEEP, THREADKEEP_PLAIN, Peer
from tests.bench.peers.durability import Syncs, counting
from tests.bench.peers.runner import Outcome
from tests.bench.processes import end_on_signals


def arguments(argv: list[str]) -> argparse.Namespace:
    """The command line."""
    names = [peer.name for peer in PEERS]
    parser = argparse.ArgumentParser(prog="python -m tests.bench.peers", description=sys.modules[__name__].__doc__)
    parser.add_argument("--scale", choices=("small", "full"), default="full", help="lengths and repeats (default: full)")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: shows that everything runs, measures nothing")
    parser.add_argument("--engine", choices=(*options.ENGINES, "both"), default="both", help="database (default: both)")
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME", help=f"of {', '.join(names)}")
    parser.add_argument("--output", type=Path, default=Path("bench-peers.json"), help="where the results go")
    return parser.parse_args(argv)


def order(peers: list[Peer], engine: str) -> list[Peer]:
    """Threadkeep before and after the others, so that a machine that slows down does so for all."""
    return [THREADKEEP, *(peer for peer in peers if engine in peer.engines), THREADKEEP_PLAIN, THREADKEEP]


def main(argv: list[str]) -> int:
    """Returns the exit code: 1 when Threadkeep or a peer failed while it ran. One that cannot be had is skipped."""
    args = arguments(argv)
    end_on_signals()
    name = "quick" if args.quick else args.scale
    sizes = runner.SIZES[name]
    engines = options.ENGINES if args.engine == "both" else (args.engine,)
    peers = [peer for peer in PEERS if peer.name in args.only]
    settings = options.Options(options.SCALES[name], engines, (), args.output, strict=False)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(24), MofNCompleteColumn(), TimeElapsedColumn())
    console, begin = Console(), time.monotonic()
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    facts = {"scale": name, "engines": engines, "lengths": sizes.lengths, "started": started} | machine.facts()
    entries: list[dict[str, Any]] = []
    failed, interrupted = False, False
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        total = progress.add_task("stores", total=sum(len(order(peers, engine)) for engine in engines))
        try:
            with bench(settings, progress) as run, counting(run) as syncs:
                for engine in engines:
                    own, outcomes = _engine(run, syncs, progress, total, engine, peers, sizes)
                    table.show(console, engine, own, outcomes, sizes.lengths)
                    table.show_adapters(console, outcomes)
                    entries += [table.entry(outcome, own, outcomes) for outcome in (own, *outcomes)]
                    failed |= any(outcome.error for outcome in (own, *outcomes))
        except KeyboardInterrupt:
            console.print("interrupted; what was measured follows in the file")
            interrupted = True
    table.write(
        args.output, entries, facts | {"minutes": round((time.monotonic() - begin) / 60, 1), "interrupted": interrupted}
    )
    console.print(f"written to {args.output}" + ("; tiny sizes: nothing here is a measurement" if args.quick else ""))
    return 130 if interrupted else int(failed)


def _engine(
    run: Bench, syncs: Syncs, progress: Progress, total: Any, engine: str, peers: list[Peer], sizes: runner.Sizes
) -> tuple[Outcome, list[Outcome]]:
    outcomes = []
    for peer in order(peers, engine):
        outcomes.append(runner.run(run, syncs, peer, engine, sizes))
        progress.advance(total)
    own = [outcome for outcome in outcomes if outcome.peer is THREADKEEP]
    return table.merged(own), [outcome for outcome in outcomes if outcome.peer is not THREADKEEP]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
