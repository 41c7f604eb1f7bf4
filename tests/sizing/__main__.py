"""`python -m tests.sizing`: `measure` what a server needs; `soak`: hours of low load on both engines; `judge` a soak."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.bench.processes import end_on_signals
from tests.sizing import measuring, soak
from tests.sizing.measurements import MEASUREMENTS
from tests.sizing.servers import ENGINES


def main(argv: list[str]) -> int:
    """Returns the exit status: 1 if a judgment failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.sizing", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    soaking = commands.add_parser("soak", help="rounds of low load; judges memory, descriptors, threads and latencies")
    soaking.add_argument("--engine", choices=(*ENGINES, "both"), default="both", help="database under test (default: both)")
    soaking.add_argument("--hours", type=float, default=2.0, help="how long (default: 2)")
    soaking.add_argument("--round", type=float, default=300.0, metavar="SECONDS", help="length of a round (default: 300)")
    soaking.add_argument("--rate", type=float, default=1.0, help="calls a second of each kind (default: 1)")
    soaking.add_argument("--folder", type=Path, default=Path("soak"), help="databases and results (default: soak)")
    measures = commands.add_parser("measure", help="memory, bytes, rates and recovery, in some minutes")
    measures.add_argument("--engine", choices=(*ENGINES, "both"), default="both", help="database under test (default: both)")
    measures.add_argument("--only", nargs="+", choices=tuple(MEASUREMENTS), default=list(MEASUREMENTS), help="only these")
    measures.add_argument("--quick", action="store_true", help="tiny sizes: shows that everything runs, measures nothing")
    measures.add_argument("--output", type=Path, default=Path("build/sizing.json"), help="default: build/sizing.json")
    judging = commands.add_parser("judge", help="judges a soak that runs or has ended")
    judging.add_argument("folder", type=Path)
    options = parser.parse_args(argv)
    if options.command == "judge":
        return soak.show(options.folder)
    end_on_signals()
    engines = ENGINES if options.engine == "both" else (options.engine,)
    if options.command == "measure":
        options.output.parent.mkdir(parents=True, exist_ok=True)
        return measuring.run(engines, options.only, options.output, quick=options.quick)
    return soak.run(soak.Soak(engines, options.hours, options.round, options.rate, options.folder))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
