"""Event ids: random, or derived from the content, so that a repeated run adds nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from hashlib import sha256
from typing import Any

from ...messages import new_event_id
from ..types.messages import Message, Part, Role, ToolResult

EventIds = Callable[[Message, Mapping[str, Any]], str]
"""Returns the id of the event that stores a message, from the message and the request's context: 1 to 255 bytes, no control
characters. The server does not store an event whose id the session already has."""


def random_ids(message: Message, context: Mapping[str, Any]) -> str:
    """Returns a new id for every message: equal messages are stored separately."""
    return new_event_id()


def idempotent_ids(*context_keys: str) -> EventIds:
    """Returns a function that derives ids from the role and the content, or from the tool calls of an answer and their ids.
    Ids have at most 74 characters.

    One session then stores equal content once: a second "yes" is dropped. So is a call, with its result, whose id the model
    used before; use `random_ids` for answers if a server numbers the calls of each answer from the start. `context_keys`:
    values of the request's context that distinguish equal messages, for example `context_keys.RUN`.
    """

    def made(message: Message, context: Mapping[str, Any]) -> str:
        calls = [[call.id, call.name, call.arguments] for call in message.tool_calls]
        named = bool(calls) and all(call_id.strip() for call_id, _, _ in calls)
        salt = [[key, str(context[key])] for key in context_keys if context.get(key) is not None]
        return digest_id(message.role, ["calls", calls] if named else ["content", _told(message)], salt)

    return made


def digest_id(role: Role, *facts: Any) -> str:
    """Returns `<role>-<SHA-256>` of values that JSON can represent."""
    text = json.dumps(facts, ensure_ascii=True, separators=(",", ":"), default=_plain)
    return f"{role}-{sha256(text.encode()).hexdigest()}"


def results_id(answered: Sequence[tuple[str, str]]) -> str:
    """Returns the id of an event with tool results. `answered`: for each call the id of its event and its own id."""
    return digest_id(Role.TOOL, ["answers", [list(each) for each in answered]])


def answer_id(anchor: str, index: int) -> str:
    """Returns the id of the answer to the event `anchor`. Processes that resume the same turn derive the same id."""
    return digest_id(Role.ASSISTANT, ["answer", anchor, index])


def _told(message: Message) -> list[Any]:
    return [message.role, [_of_part(part) for part in message.parts]]


def _of_part(part: Part) -> list[Any]:
    """Returns the fields of a part that have a value, so that fields of later versions change no id."""
    said = {item.name: value for item in fields(part) if (value := getattr(part, item.name))}
    if isinstance(part, ToolResult):
        said["parts"] = [_of_part(each) for each in part.parts]
    return [type(part).__name__, said]


def _plain(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)
