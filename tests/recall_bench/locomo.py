"""LoCoMo's layout (Maharana et al., "Evaluating Very Long-Term Conversational Memory of LLM Agents", 2024), as in
locomo10.json.

A list of samples (or one): `conversation` holds `speaker_a`, `speaker_b`, and for each N a `session_N`, a list of turns
{speaker, dia_id, text, blip_caption?}, and a `session_N_date_time` such as "1:56 pm on 8 May, 2023". `qa` is a list of
{question, evidence: ["D1:3", ...], category: 1 to 5}. The caption of an image counts as said. Evidence is read leniently:
a string may have several ids, and "D:11:26" is D11:26."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import reading
from .model import Conversation, Question, Session, Turn

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}

_EVIDENCE = re.compile(r"D\s*:?\s*(\d+)\s*:\s*(\d+)")
_SESSION = re.compile(r"session_(\d+)")
_TIMES = ("%I:%M %p on %d %B, %Y", "%I:%M %p on %d %B %Y", "%d %B, %Y")


def matches(data: Any) -> bool:
    first = data[0] if isinstance(data, list) and data else data
    return isinstance(first, dict) and "conversation" in first and "qa" in first and isinstance(first["conversation"], dict)


def read(path: Path, data: Any) -> Iterator[Conversation]:
    samples = data if isinstance(data, list) else [data]
    for index, each in enumerate(samples):
        what = f"sample {index}"
        sample = reading.as_object(path, each, what)
        talk = reading.as_object(path, reading.member(path, sample, "conversation", what), f"{what}.conversation")
        sessions = _sessions(path, talk, what)
        requested = reading.as_list(path, reading.member(path, sample, "qa", what), f"{what}.qa")
        questions, left_out = reading.split(
            _question(path, one, sessions, f"{what}.qa[{n}]") for n, one in enumerate(requested)
        )
        yield Conversation(str(sample.get("sample_id", f"{path.stem}-{index}")), sessions, questions, left_out)


def evidence(value: Any) -> list[str]:
    """The ids that evidence names: "D8:6; D9:17" names two, "D:11:26" and "D11:026" are D11:26.

    >>> evidence(["D8:6; D9:17", "D:11:26"])
    ['D8:6', 'D9:17', 'D11:26']
    """
    reported = value if isinstance(value, list) else [value]
    return [f"D{int(day)}:{int(turn)}" for text in reported for day, turn in _EVIDENCE.findall(str(text))]


def _sessions(path: Path, talk: dict[str, Any], what: str) -> tuple[Session, ...]:
    numbers = sorted(int(found[1]) for key in talk if (found := _SESSION.fullmatch(key)))
    if not numbers:
        raise reading.BadFile(path, f"expected {what}.conversation to have session_1 and so on; it has {sorted(talk)}")
    sessions: list[Session] = []
    for number in numbers:
        name = f"session_{number}"
        turns = reading.as_list(path, talk[name] or [], f"{what}.{name}")
        time = reading.parse_time(talk.get(f"{name}_date_time"), *_TIMES)
        start = reading.after(sessions) if time is None else time
        said = tuple(_turn(path, turn, talk, start, n, f"{what}.{name}[{n}]") for n, turn in enumerate(turns))
        if said:
            sessions.append(Session(name, start, said))
    return tuple(sessions)


def _turn(path: Path, each: Any, talk: dict[str, Any], start: int, index: int, what: str) -> Turn:
    turn = reading.as_object(path, each, what)
    speaker = str(reading.member(path, turn, "speaker", what))
    caption = turn.get("blip_caption")
    text = str(turn.get("text", "")) + (f" [image: {caption}]" if caption else "")
    role = "assistant" if speaker == talk.get("speaker_b") else "user"
    named = evidence(reading.member(path, turn, "dia_id", what))
    return Turn(named[0] if named else str(turn["dia_id"]), speaker, role, text, reading.turn_time(start, index))


def _question(path: Path, each: Any, sessions: tuple[Session, ...], what: str) -> Question | str:
    requested = reading.as_object(path, each, what)
    kind = requested.get("category")
    name = CATEGORIES.get(kind, f"category {kind}") if isinstance(kind, int) else f"category {kind}"
    text = str(reading.member(path, requested, "question", what))
    return reading.question(text, name, evidence(requested.get("evidence", [])), sessions, reading.asked_after(sessions))
