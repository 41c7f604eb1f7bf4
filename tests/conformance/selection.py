"""The cases of the short form: Python runs each on one engine, each other language those that show what it can get wrong.

The server is the same for all languages, and its own tests show what it does on both engines. What a language adds is how it
sends and reads: a trait of a case is a kind of step, an RPC, an argument of an SDK's method, or an error. Every language runs
cases with every trait, and the smoke cases; the other cases are dealt out, so that each is run by Python and by one more. The
fields of messages are no traits: generated code sends and reads them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

from tests.support.runs.toolchains import LANGUAGES

from .cases import Case, Step
from .engine import ENGINES

_MESSAGES = ("events", "expect", "items", "changes", "error", "save")
"""What steps send and expect as messages, by the generated code of each language, and names."""
OTHERS = tuple(language for language in LANGUAGES if language != "python")


def in_short_form(every: Sequence[Case]) -> Mapping[tuple[str, str], frozenset[str]]:
    """Returns the ids of the cases that each language runs on each server, by both."""
    covering, smoke = _covering(every), frozenset(case.id for case in every if case.area == "smoke")
    dealt = [case.id for case in every if case.id not in covering]
    chosen = {(language, "envoy"): smoke for language in LANGUAGES}
    for place, language in enumerate(OTHERS):
        chosen[language, "sqlite"] = covering.union(dealt[place :: len(OTHERS)])
    for place, engine in enumerate(ENGINES):
        chosen["python", engine] = smoke.union(case.id for case in every[place :: len(ENGINES)])
    return chosen


def traits(case: Case) -> set[Hashable]:
    """Returns what a language does in a case."""
    return {trait for step in case.steps for trait in _of_step(step)}


def _covering(every: Sequence[Case]) -> frozenset[str]:
    """Returns the ids of cases that together have every trait, those with most first, and all smoke cases."""
    chosen, shown = set[str](), set[Hashable]()
    having = {case.id: traits(case) for case in every}
    for case in sorted(every, key=lambda case: (case.area != "smoke", -len(having[case.id]))):
        if case.area == "smoke" or not having[case.id] <= shown:
            chosen.add(case.id)
            shown |= having[case.id]
    return frozenset(chosen)


def _of_step(step: Step) -> Iterator[Hashable]:
    rpc = step.subject if isinstance(step.subject, str) and "/" in step.subject else ""
    yield step.kind, rpc
    for key, value in step.said.items():
        if key != step.kind:
            yield step.kind, key
        if step.kind != "call" and key not in _MESSAGES:
            yield from _fields((step.kind, rpc, key), value)
    if isinstance(error := step.said.get("error"), Mapping):
        yield "error", error.get("reason"), error.get("code")
    for each in step.lists:
        for inner in each:
            yield from _of_step(inner)


def _fields(within: Hashable, value: Any) -> Iterator[Hashable]:
    """Yields every key with the one around it."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield within, key
            yield from _fields(key, each)
    elif isinstance(value, list):
        for each in value:
            yield from _fields(within, each)
