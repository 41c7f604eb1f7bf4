"""LongMemEval's layout (Wu et al., "LongMemEval: Benchmarking Chat Assistants on Long-Term Interactive Memory", 2025).

A list of {question_id, question_type, question, question_date, haystack_dates, haystack_session_ids, haystack_sessions: lists
of {role, content, has_answer?}, answer_session_ids}: each question has a conversation of its own. Its sessions are put in the
order of their dates, "2023/05/20 (Sat) 02:21". Questions that cannot be answered (question_id ends with "_abs") are left out. A
session id that comes twice is numbered."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import reading
from .model import Conversation, Question, Session, Turn

ABSTENTION = "it has no answer"

_WEEKDAY = re.compile(r"\s*\(\w+\)\s*")
_TIMES = ("%Y/%m/%d %H:%M", "%Y/%m/%d", "%Y-%m-%d %H:%M", "%Y-%m-%d")


def matches(data: Any) -> bool:
    first = data[0] if isinstance(data, list) and data else data
    return isinstance(first, dict) and "haystack_sessions" in first and "question" in first


def read(path: Path, data: Any) -> Iterator[Conversation]:
    for index, each in enumerate(data if isinstance(data, list) else [data]):
        what = f"question {index}"
        item = reading.as_object(path, each, what)
        name = str(item.get("question_id", f"{path.stem}-{index}"))
        sessions, gold, renamed = _sessions(path, item, what)
        if name.endswith("_abs"):
            yield Conversation(name, sessions, (), (ABSTENTION,))
            continue
        text = str(reading.member(path, item, "question", what))
        reported = reading.as_list(path, item.get("answer_session_ids") or [], f"{what}.answer_session_ids")
        homes = frozenset(new for one in reported for new in renamed.get(str(one), ()))
        time = _time(item.get("question_date"))
        asked_at = reading.asked_after(sessions) if time is None else time
        if gold or homes:
            found = homes | {s.id for s in sessions if any(turn.id in gold for turn in s.turns)}
            question = Question(text, str(item.get("question_type", "unknown")), gold, frozenset(found), asked_at)
            yield Conversation(name, sessions, (question,))
        else:
            yield Conversation(name, sessions, (), (reading.UNKNOWN_EVIDENCE if reported else reading.NO_EVIDENCE,))


def _sessions(path: Path, item: dict[str, Any], what: str) -> tuple[tuple[Session, ...], frozenset[str], dict[str, list[str]]]:
    """The sessions in the order of time; the turns that have the answer; what each session id of the file has become."""
    talks = reading.as_list(path, reading.member(path, item, "haystack_sessions", what), f"{what}.haystack_sessions")
    names = reading.as_list(path, item.get("haystack_session_ids") or [], f"{what}.haystack_session_ids")
    dates = reading.as_list(path, item.get("haystack_dates") or [], f"{what}.haystack_dates")
    sessions: list[Session] = []
    gold: set[str] = set()
    renamed: dict[str, list[str]] = {}
    for number, talk in enumerate(talks):
        original = str(names[number]) if number < len(names) else f"session_{number}"
        same = renamed.setdefault(original, [])
        name = f"{original}#{len(same) + 1}" if same else original
        same.append(name)
        time = _time(dates[number]) if number < len(dates) else None
        start = reading.after(sessions) if time is None else time
        turns: list[Turn] = []
        for index, each in enumerate(reading.as_list(path, talk, f"{what}.haystack_sessions[{number}]")):
            where = f"{what}.haystack_sessions[{number}][{index}]"
            turn = reading.as_object(path, each, where)
            role = str(reading.member(path, turn, "role", where))
            text = str(reading.member(path, turn, "content", where))
            turns.append(Turn(f"{name}:{index}", role, role, text, reading.turn_time(start, index)))
            if turn.get("has_answer"):
                gold.add(turns[-1].id)
        sessions.append(Session(name, start, tuple(turns)))
    return tuple(sorted(sessions, key=lambda session: session.time_ns)), frozenset(gold), renamed


def _time(text: Any) -> int | None:
    return reading.parse_time(_WEEKDAY.sub(" ", str(text)).strip(), *_TIMES)
