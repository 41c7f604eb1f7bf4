"""What to measure, how often and at what size."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ENGINES = ("sqlite", "postgres")


@dataclass(frozen=True)
class Scale:
    """Sizes of one run. Every loop of the benchmark is bounded by one of these."""

    name: str
    rounds: int  # interleaved rounds of each comparison
    seconds: float  # measured time of one subject in one round
    warmup: float  # seconds before each measurement that are not counted
    flat_sizes: tuple[int, ...]  # events per session whose cost is compared; the first is the baseline
    flat_sessions: int  # sessions of the first size, so that none grows much while it is measured
    search_users: int
    search_events_per_user: int
    search_rounds: int
    ranked_sizes: tuple[int, ...]  # events in the scope of a ranked search
    ranked_share: int  # of the events in the scopes of messages of a length, one in so many
    memory_events: int
    memory_sessions: int
    subscribers: tuple[int, ...]  # to one session
    replay_changes: int
    idle_streams: int
    idle_seconds: float  # over which the server's CPU time is taken while they idle
    listed_sessions: int  # of a user, in a list that is compared with one of 100


QUICK = Scale("quick", 2, 0.3, 0.1, (20, 200), 4, 4, 500, 1, (500,), 20, 2_000, 2, (1, 10), 2_000, 100, 1.0, 200)
SMALL = Scale(
    "small",
    3,
    1.5,
    0.5,
    (100, 2_000, 10_000),
    20,
    20,
    5_000,
    2,
    (10_000,),
    1,
    50_000,
    5,
    (1, 10, 100, 1_000),
    50_000,
    1_000,
    15.0,
    10_000,
)
FULL = Scale(
    "full",
    7,
    3.0,
    1.0,
    (100, 10_000, 100_000),
    40,
    20,
    50_000,
    3,
    (10_000, 1_000_000),
    1,
    1_000_000,
    10,
    (1, 10, 100, 1_000),
    1_000_000,
    5_000,
    15.0,
    100_000,
)
SCALES = {scale.name: scale for scale in (QUICK, SMALL, FULL)}


@dataclass(frozen=True)
class Options:
    """The command line, checked."""

    scale: Scale
    engines: tuple[str, ...]
    only: tuple[str, ...]
    output: Path
    strict: bool


def parse(argv: Sequence[str], names: dict[str, str]) -> Options:
    """Reads the command line; `names` are the lines that can be chosen, with what each measures."""
    listed = "\n".join(f"  {name:<12} {text}" for name, text in names.items())
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench",
        description="Measure Threadkeep against raw baselines taken in the same run.",
        epilog=f"lines:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--scale", choices=("small", "full"), default="full", help="sizes and rounds (default: full)")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: shows that everything runs, measures nothing")
    parser.add_argument("--engine", choices=(*ENGINES, "both"), default="both", help="database under test (default: both)")
    parser.add_argument("--only", nargs="+", choices=tuple(names), default=[], metavar="NAME", help="only these lines")
    parser.add_argument("--output", type=Path, default=Path("bench.json"), help="where the results go (default: bench.json)")
    parser.add_argument("--strict", action="store_true", help="exit 1 when a line misses its target")
    args = parser.parse_args(argv)
    return Options(
        scale=QUICK if args.quick else SCALES[args.scale],
        engines=ENGINES if args.engine == "both" else (args.engine,),
        only=tuple(args.only) or tuple(names),
        output=args.output,
        strict=args.strict,
    )
