"""Messages with sequential numbers, and summaries that list the numbers of the messages they replace.

A reader of a window can check that every message is in it exactly once: itself, as the stub of a tool result, or in a summary.
A mark is `w2:17`, the eighteenth event of writer 2; `w2:0-17` are all up to it.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections import Counter
from collections.abc import Awaitable, Iterable, Sequence
from itertools import groupby

import threadkeep
from threadkeep.v1.event_pb2 import SessionEvent
from threadkeep.v1.message_pb2 import ROLE_TOOL

from .models.model_endpoint import Behaviour, ModelEndpoint, replies

Mark = tuple[int, int]
TURN = 4

_MARK = re.compile(r"\bw(\d+):(\d+)(?:-(\d+))?")
_LONG = "and so on " * 40
_AHEAD = "## What follows"  # the part of a summarizer's prompt that is not summarized


def turn(writer: int, number: int) -> list[SessionEvent]:
    """Returns a complete turn of a tool-calling agent; its first event has this number. The result is long enough to trim."""
    names = [f"w{writer}:{number + place}" for place in range(TURN)]
    call = f"call-{writer}-{number}"
    return [
        threadkeep.user(f"{names[0]} starts", event_id=names[0]),
        threadkeep.assistant(f"{names[1]} looks", tool_calls=[threadkeep.tool_call(call, "look", "{}")], event_id=names[1]),
        threadkeep.tool_result(call, f"{names[2]} {_LONG}", name="look", event_id=names[2]),
        threadkeep.assistant(f"{names[3]} answers", event_id=names[3]),
    ]


def summary(covered: Iterable[Mark], name: str) -> list[SessionEvent]:
    """Returns the two events that replace others."""
    fields = {"synthetic": True, "compaction_source": "test"}
    return [
        threadkeep.user("What was said?", event_id=f"{name}-q", **fields),  # type: ignore[arg-type]
        threadkeep.assistant(spelled(covered), event_id=f"{name}-a", **fields),  # type: ignore[arg-type]
    ]


def shown(events: Iterable[SessionEvent]) -> Counter[Mark]:
    """Counts each mark in a window, in events and in their replacements."""
    return Counter(mark for event in events for mark in marks(text_shown(event)))


def marks(text: str) -> list[Mark]:
    """Returns every mark in a text."""
    found = []
    for writer, first, last in _MARK.findall(text):
        found += [(int(writer), number) for number in range(int(first), int(last or first) + 1)]
    return found


def spelled(covered: Iterable[Mark]) -> str:
    """Returns the marks in their shortest form."""
    words = []
    for _, run in groupby(enumerate(sorted(covered)), key=lambda item: (item[1][0], item[1][1] - item[0])):
        members = [mark for _, mark in run]
        words.append(f"w{members[0][0]}:{members[0][1]}-{members[-1][1]}")
    return "Said so far: " + " ".join(words)


def text_shown(event: SessionEvent) -> str:
    """Returns the text of an event, including tool results."""
    parts = event.message.parts
    texts = [part.text for part in parts if part.HasField("text")]
    texts += [inner.text for part in parts for inner in part.tool_result.parts]
    return "\n".join(texts)


def is_summary(event: SessionEvent) -> bool:
    return event.synthetic and event.message.role != ROLE_TOOL


def stands_for(event: SessionEvent) -> Sequence[Mark]:
    """Returns the marks that the stub of a tool result replaces."""
    return marks(text_shown(event)) if event.synthetic and event.message.role == ROLE_TOOL else ()


def summarizing(model: ModelEndpoint, slowest: float = 0.0) -> Behaviour:
    """A model that returns the marks of the summarized text, after up to `slowest` seconds."""

    def behave(writer: asyncio.StreamWriter) -> Awaitable[None]:
        prompt = model.requests[-1].json["messages"][-1]["content"]
        text = spelled(set(marks(prompt.partition(_AHEAD)[0])))
        return _later(replies(model.answer(text)), writer, random.uniform(0, slowest))

    return behave


async def _later(behaviour: Behaviour, writer: asyncio.StreamWriter, seconds: float) -> None:
    await asyncio.sleep(seconds)
    await behaviour(writer)
