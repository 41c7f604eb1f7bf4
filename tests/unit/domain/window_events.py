"""Active windows for the tests of turns and contexts, in as few words as the semantics use."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from threadkeep_server.domain.model import Role, WindowEvent

_ROLES = {"U": Role.USER, "A": Role.ASSISTANT, "S": Role.SYSTEM, "T": Role.TOOL}


def event(name: str, **facts: Any) -> WindowEvent:
    """An event of the role that its name begins with, `~` for a synthetic one, of one byte and one token.

    >>> event("A1@sub").branch
    'sub'
    """
    text, _, branch = name.partition("@")
    synthetic = text.startswith("~")
    base = WindowEvent(
        seq=0,
        time=0,
        role=_ROLES[text.lstrip("~")[0]],
        branch=branch,
        synthetic=synthetic,
        text=name,
        event_id=name,
        tokens=1,
        size=1,
        content_bytes=1,
    )
    return replace(base, **facts)


def call(name: str, *ids: str, **facts: Any) -> WindowEvent:
    return event(name, calls=ids, **facts)


def result(name: str, *ids: str, **facts: Any) -> WindowEvent:
    return event(name, results=ids, **facts)


def window(*events: WindowEvent | str) -> list[WindowEvent]:
    """The events, numbered from 1 in the order of the window; a string holds the names of several."""
    made = [each for item in events for each in (map(event, item.split()) if isinstance(item, str) else [item])]
    return [replace(each, seq=seq, position=seq) for seq, each in enumerate(made, 1)]


def names(events: Iterable[WindowEvent]) -> str:
    return " ".join(event.event_id for event in events)
