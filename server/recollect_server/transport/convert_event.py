"""From a SessionEvent to a draft: everything the server wants to know of an event is read out of it here, once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from recollect.v1 import event_pb2, message_pb2, session_pb2

from ..domain import rules
from ..domain.errors import BatchTooLarge, EventTooLarge, InvalidField
from ..domain.model import NO_USAGE, EventDraft, Usage
from ..domain.text import estimate_tokens
from .convert import role_of, time_of

_OUTPUT_ONLY = ("seq", "record_time", "archived", "token_estimate", "size_bytes")


def drafts_of(events: Sequence[event_pb2.SessionEvent], limits: rules.Limits, new_id: Callable[[], str]) -> list[EventDraft]:
    """Drafts in order. Clears OUTPUT_ONLY fields of the given messages and sets missing ids."""
    if len(events) > limits.max_batch_events:
        raise BatchTooLarge("events", len(events), limits.max_batch_events, "events")
    return [_draft(f"events[{index}]", event, limits, new_id) for index, event in enumerate(events)]


def _draft(field: str, event: event_pb2.SessionEvent, limits: rules.Limits, new_id: Callable[[], str]) -> EventDraft:
    for name in _OUTPUT_ONLY:
        event.ClearField(name)  # type: ignore[arg-type]
    generated = not event.event_id
    if generated:
        event.event_id = new_id()
    _check(field, event)
    body = event.SerializeToString()
    if len(body) > limits.max_event_bytes:
        raise EventTooLarge(field, len(body), limits.max_event_bytes)
    return EventDraft(
        event_id=event.event_id,
        body=body,
        role=role_of(f"{field}.message.role", event.message.role),
        generated_id=generated,
        author=event.author,
        author_role=event.author_role,
        branch=event.branch,
        event_time=time_of(f"{field}.event_time", event.event_time) if event.HasField("event_time") else None,
        synthetic=event.synthetic,
        token_estimate=estimate_tokens(_characters(event.message.parts)),
        usage=_usage(f"{field}.usage", event.usage) if event.HasField("usage") else NO_USAGE,
    )


def _check(field: str, event: event_pb2.SessionEvent) -> None:
    if not event.HasField("message"):
        raise InvalidField(f"{field}.message", "is required")
    if len(event.message.parts) > rules.MAX_PARTS:
        raise InvalidField(f"{field}.message.parts", f"must have at most {rules.MAX_PARTS} parts")
    rules.identifier(f"{field}.event_id", event.event_id, required=True)
    rules.identifier(f"{field}.author", event.author)
    rules.identifier(f"{field}.author_role", event.author_role)
    rules.branch(f"{field}.branch", event.branch)
    rules.identifier(f"{field}.invocation_id", event.invocation_id)
    rules.identifier(f"{field}.compaction_source", event.compaction_source)
    rules.json_object(f"{field}.metadata_json", event.metadata_json)
    if event.HasField("native"):
        rules.identifier(f"{field}.native.format", event.native.format, required=True)


def _usage(field: str, usage: session_pb2.TokenUsage) -> Usage:
    values = (
        usage.input_tokens,
        usage.output_tokens,
        usage.total_tokens,
        usage.cached_tokens,
        usage.reasoning_tokens,
    )
    # A session's totals are sums of these in 64 bits.
    if any(not 0 <= value < 1 << 40 for value in values):
        raise InvalidField(field, "must not hold negative or absurdly large counts")
    return Usage(*values)


def _characters(parts: Iterable[message_pb2.Part]) -> int:
    """Characters that a model would be shown."""
    total = 0
    for part in parts:
        kind = part.WhichOneof("content")
        if kind == "text":
            total += len(part.text.text)
        elif kind == "tool_call":
            total += len(part.tool_call.name) + len(part.tool_call.arguments_json)
        elif kind == "tool_result":
            result = part.tool_result
            total += len(result.name) + (_characters(result.parts) or len(result.structured_json))
        elif kind == "reasoning":
            total += len(part.reasoning.text)
        elif kind == "data":
            total += len(part.data.json)
    return total
