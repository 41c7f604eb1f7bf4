"""Real conversations from outside the repository, as events, and the matching of calls and results."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from threadkeep.formats.openai import event_of
from threadkeep.v1.event_pb2 import SessionEvent

Conversation = list[SessionEvent]

_SERVER_FIELDS = ("seq", "record_time", "archived", "token_estimate", "size_bytes", "token_counter")


@cache
def agent_runs() -> list[Conversation]:
    """200 runs of a tool-calling agent (tau-bench, airline); event ids are unique within a run."""
    return [_conversation(record["traj"]) for record in _load("tau-bench-airline-gpt-4o.json")]


@cache
def dialogues() -> list[Conversation]:
    """Short dialogues of a user and an assistant (Schema-Guided Dialogue)."""
    roles = {"USER": "user", "SYSTEM": "assistant"}
    return [
        _conversation([{"role": roles[turn["speaker"]], "content": turn["utterance"]} for turn in record["turns"]])
        for record in _load("sgd-test-dialogues-001.json")
    ]


def _load(name: str) -> Any:
    folder = Path(os.environ.get("THREADKEEP_SHARED_DATA", Path(__file__).parents[3] / "shared" / "data"))
    if not (folder / name).is_file():
        pytest.skip(f"{folder / name} is not there; set THREADKEEP_SHARED_DATA to the folder with the real conversations")
    return json.loads((folder / name).read_text())


def _conversation(messages: Sequence[Any]) -> Conversation:
    return [event_of(message, f"m{number}") for number, message in enumerate(messages, 1)]


def renamed(conversation: Conversation, name: str) -> Conversation:
    """Returns the conversation with new event ids and the same call ids."""
    copies = []
    for number, event in enumerate(conversation):
        copy = SessionEvent(event_id=f"{name}-{number}")
        copy.MergeFrom(SessionEvent(message=event.message, native=event.native, author=event.author))
        copies.append(copy)
    return copies


def as_sent(event: SessionEvent) -> bytes:
    """Returns the encoding of an event without the fields of the server."""
    copy = SessionEvent()
    copy.CopyFrom(event)
    for name in _SERVER_FIELDS:
        copy.ClearField(name)  # type: ignore[arg-type]
    return copy.SerializeToString(deterministic=True)


def calls_of(event: SessionEvent) -> list[str]:
    return [part.tool_call.id for part in event.message.parts if part.HasField("tool_call")]


def results_of(event: SessionEvent) -> list[str]:
    return [part.tool_result.call_id for part in event.message.parts if part.HasField("tool_result")]


def answered(events: Sequence[SessionEvent]) -> set[tuple[str, str]]:
    """Returns event ids of calls and their results: a result belongs to the latest call before it with its id, on its own
    branch if one exists there."""
    pairs = set()
    latest: dict[tuple[str | None, str], str] = {}
    for event in events:
        for call in calls_of(event):
            latest[event.branch, call] = latest[None, call] = event.event_id
        for result in results_of(event):
            caller = latest.get((event.branch, result)) or latest.get((None, result))
            if caller is not None:
                pairs.add((caller, event.event_id))
    return pairs


def orphans(events: Sequence[SessionEvent]) -> list[str]:
    """Returns event ids of results without a call before them."""
    with_call = {result for _, result in answered(events)}
    return [event.event_id for event in events if results_of(event) and event.event_id not in with_call]
