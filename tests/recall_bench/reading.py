"""Shared by the readers of the layouts: typed access to JSON with errors that name the place, and times."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .model import DAY_NS, Question, Session

NO_EVIDENCE = "no evidence is named"
UNKNOWN_EVIDENCE = "its evidence names no turn"

_TURN_NS = 10**9
_BASE_NS = 1_700_000_000 * 10**9


class BadFile(ValueError):
    """A file that does not have its layout. The message names the path, what was found, and what was expected."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}")


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise BadFile(path, f"expected a JSON file in UTF-8: {error}") from error


def as_list(path: Path, value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise BadFile(path, f"expected {what} to be a list, found {type(value).__name__}")
    return value


def as_object(path: Path, value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadFile(path, f"expected {what} to be an object, found {type(value).__name__}")
    return value


def member(path: Path, value: Mapping[str, Any], name: str, what: str) -> Any:
    if name not in value:
        raise BadFile(path, f"expected {what} to have {name!r}; it has {sorted(value)}")
    return value[name]


def parse_time(text: object, *formats: str) -> int | None:
    """Nanoseconds since 1970, read as UTC; None where it fits none of the formats."""
    for form in formats:
        try:
            return int(datetime.strptime(str(text).strip(), form).replace(tzinfo=UTC).timestamp()) * 10**9
        except ValueError:
            continue
    return None


def after(sessions: Iterable[Session]) -> int:
    """The time of a session without one: a day after the session before."""
    return max((session.time_ns for session in sessions), default=_BASE_NS - DAY_NS) + DAY_NS


def turn_time(session_ns: int, index: int) -> int:
    """The time of a turn; in most sets turns have none, and follow each other by a second."""
    return session_ns + index * _TURN_NS


def asked_after(sessions: Iterable[Session]) -> int:
    """The time of a question without one: right after the last turn."""
    return max((turn.time_ns for session in sessions for turn in session.turns), default=_BASE_NS) + _TURN_NS


def question(text: str, kind: str, gold: Iterable[str], sessions: Iterable[Session], time_ns: int) -> Question | str:
    """A question about turns, or the reason to leave it out. Evidence that names no turn is dropped."""
    home = {turn.id: session.id for session in sessions for turn in session.turns}
    wanted = list(gold)
    known = frozenset(one for one in wanted if one in home)
    if not known:
        return UNKNOWN_EVIDENCE if wanted else NO_EVIDENCE
    return Question(text, kind, known, frozenset(home[one] for one in known), time_ns)


def split(requested: Iterable[Question | str]) -> tuple[tuple[Question, ...], tuple[str, ...]]:
    """Questions, and the reasons of those that were left out."""
    every = list(requested)
    return tuple(q for q in every if isinstance(q, Question)), tuple(q for q in every if isinstance(q, str))
