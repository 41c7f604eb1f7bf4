"""`python -m tests.bench.charts`: keep the results of a version in docs/benchmarks, draw its charts and write their page."""

import argparse
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.bench.charts import lines, peers
from tests.bench.charts.bars import Chart, draw
from tests.bench.charts.page import FOLDER, page
from tests.bench.results import BadResults, read

DOCS = Path("docs")
LINES, PEERS = Path("bench.json"), Path("bench-peers.json")
PAGE = "benchmark-charts.md"
_VERSION = re.compile(r"\w[\w.+-]*")


def arguments(argv: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.charts", description=sys.modules[__name__].__doc__)
    parser.add_argument("lines", nargs="?", type=Path, default=LINES, help=f"from `make bench` (default: {LINES})")
    parser.add_argument("--peers", type=Path, help=f"from `make bench-peers` (default: {PEERS}, else what is kept)")
    parser.add_argument("--docs", type=Path, default=DOCS, help="where the page and its folder are (default: docs)")
    return parser.parse_args(argv)


def measured(path: Path, run: Mapping[str, Any]) -> str:
    """The version that a run measured, if its results are worth a chart."""
    if run.get("scale") == "quick":
        raise BadResults(f"{path}: measured with --quick: tiny sizes show nothing")
    version = run.get("threadkeep")
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        raise BadResults(f"{path}: does not say which version it measured: measure it again")
    return version


def keep(path: Path, folder: Path, name: str) -> str:
    """Copies results to where the versions are kept; returns the name of the file."""
    folder.mkdir(parents=True, exist_ok=True)
    if path.resolve() != (folder / name).resolve():
        shutil.copyfile(path, folder / name)
    return name


def write(folder: Path, charts: list[Chart]) -> None:
    """Writes the files of the charts; those of an earlier run that has others go."""
    for old in folder.glob("*.svg"):
        old.unlink()
    for chart in charts:
        (folder / f"{chart.slug}.svg").write_text(draw(chart), "utf-8")


def peers_file(source: Path, folder: Path, version: str) -> Path | None:
    """The results of peers that belong to those of `source`: a new file next to a new file, a kept one to a kept one."""
    kept = folder / f"{version}-peers.json"
    places = (kept, PEERS) if source.resolve().parent == folder.resolve() else (PEERS, kept)
    return next((path for path in places if path.exists()), None)


def make(source: Path, peers_source: Path | None, docs: Path) -> list[Path]:
    """Keeps, draws and writes; returns the written page and charts."""
    results, folder = read(source), docs / FOLDER
    version = measured(source, results.run)
    charts = list(lines.charts(results))
    if not charts:
        raise BadResults(f"{source}: no line with a target was measured")
    peers_source = peers_source or peers_file(source, folder, version)
    others = None
    if peers_source is not None:
        others = peers.read(peers_source)
        if (other := measured(peers_source, others.run)) != version:
            raise BadResults(f"{peers_source}: measured version {other}, and {source} measured {version}: measure it again")
    compared = list(peers.charts(others)) if others else []
    runs = [("make bench", results.run, keep(source, folder, f"{version}.json"))]
    if others and peers_source:
        runs.append(("make bench-peers", others.run, keep(peers_source, folder, f"{version}-peers.json")))
    write(folder, charts + compared)
    names = sorted(path.name for path in folder.glob("*.json"))
    text = page(charts, compared, runs, list(others.left_out()) if others else [], names)
    (docs / PAGE).write_text(text, "utf-8")
    return [docs / PAGE, *(folder / f"{chart.slug}.svg" for chart in charts + compared)]


def main(argv: list[str]) -> int:
    """Returns the exit code: 2 when a file cannot be read or holds nothing to draw."""
    args = arguments(argv)
    try:
        written = make(args.lines, args.peers, args.docs)
    except BadResults as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print("\n".join(map(str, written)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
