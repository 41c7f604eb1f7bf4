"""Ids of the events of a conversation: new ones each time, or after what they hold, so that a repeated run adds nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from hashlib import sha256
from typing import Any

from ...messages import new_event_id
from ..types.messages import Message, Part, Role, ToolResult

EventIds = Callable[[Message, Mapping[str, Any]], str]
"""The id of the event that stores a message, given the request's context: 1 to 255 bytes, no control characters. An event whose
id the session has already is not stored again."""


def random_ids(message: Message, context: Mapping[str, Any]) -> str:
    """An id of its own for every message: what is said twice is stored twice."""
    return new_event_id()


def idempotent_ids(*context_keys: str) -> EventIds:
    """Ids after role and content, or after the calls that an answer makes, their ids among them; at most 74 characters.

    In one session the same content is then stored once: a second "yes" is dropped. So is the same call under an id that the
    model gave before, with its result: where a server numbers the calls of each answer anew, let answers have `random_ids`.
    `context_keys`: values of the request's context that tell what is equal apart, for example `context_keys.RUN`.
    """

    def made(message: Message, context: Mapping[str, Any]) -> str:
        calls = [[call.id, call.name, call.arguments] for call in message.tool_calls]
        named = bool(calls) and all(call_id.strip() for call_id, _, _ in calls)
        salt = [[key, str(context[key])] for key in context_keys if context.get(key) is not None]
        return digest_id(message.role, ["calls", calls] if named else ["content", _told(message)], salt)

    return made


def digest_id(role: Role, *facts: Any) -> str:
    """`<role>-<SHA-256>` of facts that JSON can hold."""
    text = json.dumps(facts, ensure_ascii=True, separators=(",", ":"), default=_plain)
    return f"{role}-{sha256(text.encode()).hexdigest()}"


def results_id(answered: Sequence[tuple[str, str]]) -> str:
    """Of the event that answers these calls, each given by the id of the event that made it and its own."""
    return digest_id(Role.TOOL, ["answers", [list(each) for each in answered]])


def answer_id(anchor: str, index: int) -> str:
    """Of the answer to what `anchor` stores, for a turn that several may resume at once: they give it the same id."""
    return digest_id(Role.ASSISTANT, ["answer", anchor, index])


def _told(message: Message) -> list[Any]:
    return [message.role, [_of_part(part) for part in message.parts]]


def _of_part(part: Part) -> list[Any]:
    """What a part says; fields that say nothing do not count, so that a later version's new ones change no id."""
    said = {item.name: value for item in fields(part) if (value := getattr(part, item.name))}
    if isinstance(part, ToolResult):
        said["parts"] = [_of_part(each) for each in part.parts]
    return [type(part).__name__, said]


def _plain(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)
