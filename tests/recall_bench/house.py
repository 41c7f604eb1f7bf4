"""The layout of the set of this repository: one file per conversation.

{"conversation": id, "sessions": [{"id", "time": "2024-03-02T18:30:00", "turns": [{"id", "speaker", "role", "text", "calls"?,
"results"?, "media"?}]}], "questions": [{"question", "type", "evidence": [turn ids], "time"?}]}. Times are UTC. Evidence must
name turns: a mistake here makes the file a bad one, instead of leaving the question out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import reading
from .model import Conversation, Question, Session, Turn

_TIMES = ("%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d")


def matches(data: Any) -> bool:
    return isinstance(data, dict) and {"conversation", "sessions", "questions"} <= data.keys()


def read(path: Path, data: Any) -> Iterator[Conversation]:
    whole = reading.as_object(path, data, "the file")
    sessions = tuple(_session(path, each, n) for n, each in enumerate(reading.as_list(path, whole["sessions"], "sessions")))
    questions = [_question(path, each, sessions) for each in reading.as_list(path, whole["questions"], "questions")]
    yield Conversation(str(whole["conversation"]), sessions, tuple(questions))


def _session(path: Path, each: Any, number: int) -> Session:
    what = f"sessions[{number}]"
    session = reading.as_object(path, each, what)
    start = _time(path, reading.member(path, session, "time", what))
    turns = reading.as_list(path, reading.member(path, session, "turns", what), f"{what}.turns")
    return Session(
        str(reading.member(path, session, "id", what)),
        start,
        tuple(_turn(path, turn, start, n, f"{what}.turns[{n}]") for n, turn in enumerate(turns)),
    )


def _turn(path: Path, each: Any, start: int, index: int, what: str) -> Turn:
    turn = reading.as_object(path, each, what)
    reported = {name: str(reading.member(path, turn, name, what)) for name in ("id", "speaker", "role")}
    texts = {name: str(turn.get(name, "")) for name in ("text", "calls", "results", "media")}
    return Turn(**reported, **texts, time_ns=reading.turn_time(start, index))


def _question(path: Path, each: Any, sessions: tuple[Session, ...]) -> Question:
    requested = reading.as_object(path, each, "a question")
    text, kind, gold = (reading.member(path, requested, name, "a question") for name in ("question", "type", "evidence"))
    time = _time(path, requested["time"]) if "time" in requested else reading.asked_after(sessions)
    question = reading.question(text, kind, gold, sessions, time)
    if isinstance(question, str) or len(question.gold_turns) != len(gold):
        raise reading.BadFile(path, f"expected the evidence of {text!r} to name turns, found {gold}")
    return question


def _time(path: Path, text: Any) -> int:
    time = reading.parse_time(text, *_TIMES)
    if time is None:
        raise reading.BadFile(path, f"expected a time like 2024-03-02T18:30:00, found {text!r}")
    return time
