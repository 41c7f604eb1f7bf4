"""What the log of a session has, and what an agent of a fleet read of it, in the same atoms."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from threadkeep import Client, Event, event_filter

from .turns import Fleet, Turn

APP, USER = "fleet", "ada"

_TURN = 4
"""The events of a turn: question, call, result, answer."""
_LINE = re.compile(
    r"(?P<own>\S+)(?:: (?P<text>.*)|"
    r" calls (?P<name>\S+) (?P<arguments>.*) \[(?P<call>.+)\]|"
    r" returns (?P<value>.*) \[(?P<of>.+)\])"
)
"""A message on a line, or a part of it."""
_ANSWER = re.compile(r"«(.+?)» Answers read: (\d+)\.")


class Wrong(Exception):
    """An agent did not read what it had to read, or the log is not whole."""


class Atom(NamedTuple):
    """A text, a call or a result."""

    kind: str
    id: str
    content: object


class Reading(NamedTuple):
    """What a program printed."""

    own: list[str]
    """The framework's own type of each line."""
    atoms: list[Atom]


def reading_of(printed: str) -> Reading:
    """Returns what a program read. Other lines of its output are left out, which name no type."""
    reading = Reading([], [])
    for found in map(_LINE.fullmatch, printed.splitlines()):
        if found is None or found["own"] == "answer":
            continue
        if found["text"] is not None:
            atom = Atom("text", "", found["text"])
        elif found["name"] is not None:
            atom = Atom("call", found["call"], (found["name"], _value(found["arguments"])))
        else:
            atom = Atom("result", found["of"], _value(found["value"]))
        reading.own.append(found["own"])
        reading.atoms.append(atom)
    return reading


def log_of(address: str, session: str) -> list[Event]:
    """Returns all events of a session, those that a compaction archived among them."""
    with Client(address, app=APP, user_id=USER) as client:
        return list(client.events(session, event_filter(branch_match="exact")))


def check_reading(reading: Reading, log: Sequence[Event], due: range) -> int:
    """Checks that a program read the newest turns of a log as they are, whole, and so many. Returns how many."""
    turns = len(reading.atoms) // _TURN
    atoms = _atoms(log)
    if reading.atoms != atoms[len(atoms) - len(reading.atoms) :] or len(reading.atoms) % _TURN or turns not in due:
        wanted = f"{due.start} to {due.stop - 1}"
        raise Wrong(f"it has to read {wanted} turns of\n{_listed(atoms)}\nand has read\n{_listed(reading.atoms)}")
    return turns


def check_answer(turn: Turn, log: Sequence[Event], read: range) -> None:
    """Checks the newest turn of a log: it is there once and whole, and its model's prompt had so many answers."""
    question, *steps, answer = (each.content for each in _atoms(log[-_TURN:]))
    found = _ANSWER.fullmatch(str(answer))
    if len(log) % _TURN or question != turn.question or len(steps) != _TURN - 2 or found is None or found[1] != turn.answer:
        raise Wrong(f"the turn {turn.question!r} is not whole:\n{_listed(_atoms(log))}")
    if int(found[2]) not in read:
        raise Wrong(f"the model read {found[2]} answers: there were {read.start} to {read.stop - 1}")


def check_log(fleet: Fleet, log: Sequence[Event]) -> None:
    """Checks that a log has all turns verbatim: each event once, in order, and archived if the policy did not keep its turn."""
    if [event.seq for event in log] != list(range(1, _TURN * len(fleet.turns) + 1)):
        raise Wrong(f"the log has a gap: {[event.seq for event in log]}")
    for number, turn in enumerate(fleet.turns):
        question, call, result, answer = _atoms(log[_TURN * number : _TURN * (number + 1)])
        found = _ANSWER.fullmatch(str(answer.content))
        kinds = [each.kind for each in (question, call, result, answer)]
        whole = kinds == ["text", "call", "result", "text"] and call.id == result.id and question.content == turn.question
        if not whole or found is None or found[1] != turn.answer:
            raise Wrong(f"turn {number + 1} is not whole:\n{_listed(_atoms(log))}")


def _atoms(log: Sequence[Event]) -> list[Atom]:
    atoms = []
    for event in log:
        if event.text and not event.tool_results:
            atoms.append(Atom("text", "", event.text))
        atoms += [Atom("call", call.id, (call.name, _value(call.arguments))) for call in event.tool_calls]
        atoms += [Atom("result", result.call_id, _value(result.text)) for result in event.tool_results]
    return atoms


def _value(text: str) -> Any:
    """Returns a result, which some frameworks keep as text; where it has to be an object, a text is its only value."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return next(iter(value.values())) if isinstance(value, dict) and list(value) in (["result"], ["output"]) else value


def _listed(atoms: Sequence[Atom]) -> str:
    return "\n".join(f"  {atom.kind} {atom.id} {atom.content}" for atom in atoms)
