"""Prints the results of the last run and writes docs/conformance.md: `python -m tests.conformance.matrix`.

With --counts it prints only the counts. With --check it writes nothing, and fails unless every required case was run, no case
failed except known failures, and the page is up to date.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, product

from tests.support.runs.toolchains import LANGUAGES

from . import cases, results
from .cases import Case
from .drivers import ROOT
from .engine import SERVERS
from .results import KnownFailure, Outcomes

PAGE = ROOT / "docs" / "conformance.md"
_MARKS = {"passed": "+", "failed": "-", "known": "k", "": "."}
_NAMES = {"python": "Python", "typescript": "TypeScript", "go": "Go", "java": "Java", "rust": "Rust"}
_ENGINE_NAMES = {"sqlite": "SQLite", "postgresql": "PostgreSQL", "envoy": "SQLite behind Envoy"}
_HEAD = """# Conformance

Results of the [conformance suite](../tests/conformance/README.md), per language and engine. On PostgreSQL, Python runs all
cases and the other languages run the smoke cases, as all do behind Envoy; with `THREADKEEP_LONG=1`, all run all cases.
`make test-conformance` generates this page.
"""


def is_required(engine: str, language: str, case: Case) -> bool:
    """Returns whether a full run includes the case. The engine affects only the server, so on PostgreSQL one language runs all
    cases and the others run the smoke cases, as all do behind Envoy. With THREADKEEP_LONG=1 all languages run all cases."""
    return engine == "sqlite" or case.area == "smoke" or (engine == "postgresql" and language == "python")


@dataclass(frozen=True)
class Matrix:
    """All cases, with the outcomes of a run."""

    cases: Sequence[Case]
    outcomes: Outcomes
    known: Sequence[KnownFailure]

    def outcome(self, language: str, engine: str, case: Case) -> str:
        """Returns passed, failed, known, or "" for a case that was not run."""
        return self.outcomes.get(language, {}).get(engine, {}).get(case.id, "")

    def passed(self, language: str, engine: str, among: Sequence[Case] | None = None) -> int:
        return sum(self.outcome(language, engine, case) == "passed" for case in (self.cases if among is None else among))

    @property
    def is_full(self) -> bool:
        """Whether every required case was run."""
        cells = ((language, engine, case) for language in LANGUAGES for engine in SERVERS for case in self.cases)
        return all(self.outcome(*cell) for cell in cells if is_required(cell[1], cell[0], cell[2]))

    @property
    def failed(self) -> int:
        cells = ((language, engine, case) for language in LANGUAGES for engine in SERVERS for case in self.cases)
        return sum(self.outcome(*cell) == "failed" for cell in cells)


def last_run() -> Matrix:
    """Returns the matrix of the last run. Raises CaseError and ValueError for invalid cases or known failures."""
    every = cases.load()
    return Matrix(every, results.load(), results.load_known_failures({case.id for case in every}))


def counts(matrix: Matrix) -> Iterator[str]:
    """Yields one line per language: "go: 263 of 263 cases passed on sqlite, 4 of 4 on postgresql"."""
    for language in LANGUAGES:
        if not matrix.outcomes.get(language):
            yield f"{language}: not run"
            continue
        ran = {engine: sum(bool(matrix.outcome(language, engine, case)) for case in matrix.cases) for engine in SERVERS}
        first, *others = SERVERS
        parts = [f"{matrix.passed(language, first)} of {ran[first]} cases passed on {first}"]
        parts += [f"{matrix.passed(language, engine)} of {ran[engine]} on {engine}" for engine in others]
        failing = sum(matrix.outcome(language, engine, case) == "known" for engine in SERVERS for case in matrix.cases)
        yield f"{language}: {', '.join(parts)}" + (f"; {failing} known failures" if failing else "")


def table(matrix: Matrix) -> Iterator[str]:
    """Yields the matrix for a terminal: one mark per engine in each cell, and the number of passed cases per area."""
    width = max(len(case.name) for case in matrix.cases) + 4
    yield f"{'+ passed, - failed, k known failure, . not run; ' + ' and '.join(SERVERS):<{width}}" + "".join(
        f"{language:>14}" for language in LANGUAGES
    )
    for area, among in by_area(matrix.cases):
        passes = ["/".join(str(matrix.passed(language, engine, among)) for engine in SERVERS) for language in LANGUAGES]
        yield f"{f'{area} ({len(among)})':<{width}}" + "".join(f"{each:>14}" for each in passes)
        for case in among:
            cells = ("".join(_MARKS[matrix.outcome(language, engine, case)] for engine in SERVERS) for language in LANGUAGES)
            yield f"  {case.name:<{width - 2}}" + "".join(f"{cell:>14}" for cell in cells)


def page(matrix: Matrix) -> str:
    """Returns docs/conformance.md: one row per language and engine, of the cases that a full run requires."""
    lines = [_HEAD, "| language | engine | cases | passed | known failures |", "| --- | --- | --- | --- | --- |"]
    for language, engine in product(LANGUAGES, SERVERS):
        required = [case for case in matrix.cases if is_required(engine, language, case)]
        known = sum(matrix.outcome(language, engine, case) == "known" for case in required)
        passed = f"{matrix.passed(language, engine, required)}{_missed(matrix, language, engine, required)}"
        lines.append(f"| {_NAMES[language]} | {_ENGINE_NAMES[engine]} | {len(required)} | {passed} | {known} |")
    lines += ["", "## Cases per area", "", areas_line(matrix.cases), "", "## Known failures", ""]
    for each in matrix.known:
        where = f" on {_ENGINE_NAMES[each.engine]}" if each.engine else ""
        lines.append(f"- {_NAMES[each.language]}{where}, `{each.case}`: {each.reason}")
    if not matrix.known:
        lines.append("None.")
    return "\n".join(lines) + "\n"


def _missed(matrix: Matrix, language: str, engine: str, required: Sequence[Case]) -> str:
    """Returns the number of cases per area that did not pass, in parentheses; empty if all passed."""
    missed = [case for case in required if matrix.outcome(language, engine, case) != "passed"]
    return f" (not passed: {areas_line(missed)})" if missed else ""


def by_area(among: Sequence[Case]) -> list[tuple[str, list[Case]]]:
    """Returns the cases by area, in order of name; smoke first, because it runs first."""
    ordered = sorted(among, key=lambda case: (case.area != "smoke", case.area))
    return [(area, list(each)) for area, each in groupby(ordered, key=lambda case: case.area)]


def areas_line(among: Sequence[Case]) -> str:
    """Returns the number of cases per area: "smoke 10, appends 29"."""
    return ", ".join(f"{area} {len(each)}" for area, each in by_area(among))


def differs(matrix: Matrix) -> str | None:
    """Returns the problem of a page that is out of date, or None."""
    if PAGE.exists() and PAGE.read_text() == page(matrix):
        return None
    return f"docs/{PAGE.name} is out of date; write it with `python -m tests.conformance.matrix`"


def main(arguments: Sequence[str]) -> int:
    """Prints the matrix, then the counts. Returns the exit status."""
    matrix, problem = last_run(), None
    if "--counts" in arguments:
        print("\n".join(counts(matrix)))
        return 0
    print("\n".join(table(matrix)), end="\n\n")
    if "--check" in arguments:
        problem = differs(matrix) if matrix.is_full else "some required cases were not run"
        problem = f"{matrix.failed} cases failed" if matrix.failed else problem
    elif matrix.is_full:
        PAGE.write_text(page(matrix))
    else:
        print(f"docs/{PAGE.name} is unchanged, because some required cases were not run\n")
    print("\n".join(counts(matrix)))
    if problem:
        print(problem, file=sys.stderr)
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
