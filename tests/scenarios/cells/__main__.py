"""`python -m tests.scenarios.cells`: simulates 1,000 nodes, prints what happened, and exits with 1 if something was wrong."""

from __future__ import annotations

import argparse
import sys
import time

from .report import checks, lines
from .simulation import Options, Simulation


def main(argv: list[str]) -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.scenarios.cells", description=__doc__)
    for name, default in (("nodes", 1_000), ("tenants", 20_000), ("ticks", 300), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default, help=f"default: {default:,}")
    given = parser.parse_args(argv)
    began = time.process_time()
    run = Simulation(Options(nodes=given.nodes, tenants=given.tenants, ticks=given.ticks, seed=given.seed))
    run.run()
    print("\n".join(lines(run)))
    print(f"{time.process_time() - began:.1f} s", file=sys.stderr)
    return int(not all(check.holds for check in checks(run)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
