"""`python -m tests.recall_bench`: loads a set into a server, searches for its questions, and prints the recall of evidence."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from tests.support.databases.postgres import PostgresError
from threadkeep import AsyncClient
from threadkeep.errors import ThreadkeepError

from . import figures
from .loaders import LAYOUTS, OWN, load
from .model import Conversation
from .plain import CAREFUL, PLAIN
from .querying import APP, MODES, Answers, Ingested, Say, Served
from .reading import BadFile
from .served import EMBEDDERS, ENGINES, RERANKERS, CannotServe, served

_TIMEOUT_S = 120.0


def spread(conversations: Sequence[Conversation], limit: int) -> list[Conversation]:
    """At most `limit` of the questions, at even distances, and their conversations; 0: all."""
    total = sum(len(each.questions) for each in conversations)
    taken = range(total) if not 0 < limit < total else {number * total // limit for number in range(limit)}
    kept, first = [], 0
    for each in conversations:
        questions = tuple(question for number, question in enumerate(each.questions, first) if number in taken)
        first += len(each.questions)
        if questions:
            kept.append(replace(each, questions=questions))
    return kept


async def measured(
    address: str, conversations: Sequence[Conversation], modes: Sequence[str], say: Say, *, memory: bool
) -> tuple[Ingested, dict[str, Answers]]:
    """The answers of each mode, by its name; the baseline first."""
    async with AsyncClient(address, app=APP, timeout=_TIMEOUT_S) as client:
        set_ = Served(client, conversations)
        ingested = await set_.ingest(say, remember=memory)
        results = {PLAIN: set_.ask_plain(say), CAREFUL: set_.ask_plain(say, careful=True)}
        for mode in modes:
            results[mode] = await set_.ask(mode, say)
        for mode in modes if memory else ():
            results[f"memory, {mode}"] = await set_.ask_memory(mode, say)
    return ingested, results


def main(argv: Sequence[str] | None = None) -> int:
    """Returns the exit code: 2 if the arguments cannot be satisfied, 1 if the server failed."""
    options = _options(argv)
    console, errors = Console(), Console(stderr=True)
    try:
        every = list(load(options.path, options.layout))
        conversations = spread(every, options.limit)
        if not conversations:
            raise BadFile(options.path, "expected questions with evidence, found none")
        with _ProgressBar(errors) as say, served(options.engine, options.embedder, options.reranker) as server:
            run = measured(server.address, conversations, options.modes, say, memory=options.memory)
            ingested, results = asyncio.run(run)
    except (BadFile, CannotServe) as error:
        errors.print(f"bench-recall: {error}", style="red", soft_wrap=True, markup=False, highlight=False)
        return 2
    except (ThreadkeepError, PostgresError) as error:
        errors.print(
            f"bench-recall: {type(error).__name__}: {error}", style="red", soft_wrap=True, markup=False, highlight=False
        )
        return 1
    left_out = {each.id: each.left_out for each in every}
    measured_set = [replace(each, left_out=left_out[each.id]) for each in conversations]
    facts = figures.Run(str(options.path), options.engine, options.embedder, measured_set, ingested)
    figures.show(console, facts, results)
    if options.json is not None:
        figures.write(options.json, facts, results)
        console.print(f"written to {options.json}")
    return 0


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.recall_bench",
        description="Load conversations into a server, search for their questions, and print the recall of the evidence.",
        epilog="Other settings of the models come from the environment: THREADKEEP_EMBEDDER_PATH and its like.",
    )
    parser.add_argument(
        "path", nargs="?", type=Path, default=OWN, help="a file or a directory; the set of this repository by default"
    )
    parser.add_argument("--layout", choices=LAYOUTS, help="detected from the content by default")
    parser.add_argument("--modes", type=_modes, help=f"some of {','.join(MODES)}, with commas between; all by default")
    parser.add_argument("--embedder", choices=EMBEDDERS, default="hashing", help="of the server (default: hashing)")
    parser.add_argument("--reranker", choices=RERANKERS, default="none", help="of the server (default: none)")
    parser.add_argument("--engine", choices=ENGINES, default="sqlite", help="of the server (default: sqlite)")
    parser.add_argument("--limit", type=_count, default=0, help="the number of questions, at even distances; 0: all")
    parser.add_argument("--memory", action="store_true", help="ingest the sessions into memory too, and search it")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    options = parser.parse_args(argv)
    with_vectors = [mode for mode in ("semantic", "hybrid") if mode in (options.modes or ())]
    if options.embedder == "none" and with_vectors:
        parser.error(f"--modes {','.join(with_vectors)} need an embedder; choose one with --embedder")
    if options.modes is None:
        options.modes = MODES[:2] if options.embedder == "none" else MODES
    if options.json is not None and not options.json.absolute().parent.is_dir():
        parser.error(f"--json: there is no directory {options.json.absolute().parent}")
    return options


def _modes(text: str) -> tuple[str, ...]:
    modes = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not modes or not set(modes) <= set(MODES):
        raise argparse.ArgumentTypeError(f"must be some of {', '.join(MODES)}, with commas between, not {text!r}")
    return modes


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be 0 or more, not {text!r}")
    return int(text)


class _ProgressBar:
    """Shows the progress on standard error."""

    def __init__(self, console: Console) -> None:
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(24), TextColumn("{task.completed:,.0f}"))
        self._progress = Progress(*columns, TimeElapsedColumn(), console=console, transient=True)
        self._task = self._progress.add_task("starting a server", total=None)

    def __enter__(self) -> Say:
        self._progress.start()
        return self._say

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def _say(self, text: str, done: int, total: int) -> None:
        self._progress.update(self._task, description=text, completed=done, total=total or None)


if __name__ == "__main__":
    sys.exit(main())
