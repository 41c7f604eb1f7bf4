"""Events for tests: real protobuf bytes and messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any

from threadkeep.v1 import event_pb2, message_pb2
from threadkeep_server.domain.model import SECOND_NS, EventDraft, Role, StoredEvent, Usage
from threadkeep_server.domain.text import estimate_tokens
from threadkeep_server.transport.wire.codec import EventCodec, message_text, published
from threadkeep_server.transport.wire.prompt_text import measure

CODEC = EventCodec()
_ids = count(1)


def event(
    text: str | None = "",
    *,
    role: Role = Role.USER,
    event_id: str | None = None,
    author: str = "",
    author_role: str = "",
    branch: str = "",
    time: int | None = None,
    synthetic: bool = False,
    metadata_json: str = "",
    invocation_id: str = "",
    native_format: str = "",
    usage: Usage | None = None,
    parts: Sequence[message_pb2.Part] = (),
) -> event_pb2.SessionEvent:
    """Returns a message as a client sends it; with text None only `parts`."""
    message = event_pb2.SessionEvent(
        event_id=f"auto-{next(_ids)}" if event_id is None else event_id,
        author=author,
        author_role=author_role,
        branch=branch,
        synthetic=synthetic,
        metadata_json=metadata_json,
        invocation_id=invocation_id,
    )
    if native_format:
        message.native.format = native_format
    message.message.role = message_pb2.Role.ValueType(role)
    if text is not None:
        message.message.parts.add().text = text
    message.message.parts.extend(parts)
    if time is not None:
        message.event_time.seconds, message.event_time.nanos = divmod(time, SECOND_NS)
    if usage is not None:
        message.usage.input_tokens, message.usage.output_tokens = usage.input, usage.output
        message.usage.total_tokens = usage.total
        message.usage.cached_tokens, message.usage.reasoning_tokens = usage.cached, usage.reasoning
    return message


def as_draft(message: event_pb2.SessionEvent) -> EventDraft:
    """Returns the draft that the transport passes to the store."""
    usage = message.usage
    has_time = message.HasField("event_time")
    shown = measure(message.message)
    return EventDraft(
        event_id=message.event_id,
        body=message.SerializeToString(deterministic=True),
        role=Role(message.message.role),
        author=message.author,
        author_role=message.author_role,
        branch=message.branch,
        event_time=message.event_time.seconds * SECOND_NS + message.event_time.nanos if has_time else None,
        synthetic=message.synthetic,
        token_estimate=estimate_tokens(len(message_text(message.message))),
        usage=Usage(usage.input_tokens, usage.output_tokens, usage.total_tokens, usage.cached_tokens, usage.reasoning_tokens),
        content_bytes=shown.content_bytes,
        tools=shown.tools,
    )


def draft(text: str | None = "", **fields: Any) -> EventDraft:
    """Returns an event to append; the fields are those of `event`."""
    return as_draft(event(text, **fields))


def call(*ids: str, **fields: Any) -> EventDraft:
    """Returns an ASSISTANT event with tool calls."""
    parts = [message_pb2.Part(tool_call=message_pb2.ToolCallPart(id=each, name="f", arguments_json="{}")) for each in ids]
    return draft(None, **{"role": Role.ASSISTANT, "parts": parts, **fields})


def result(*ids: str, **fields: Any) -> EventDraft:
    """Returns a TOOL event with results of tool calls."""
    parts = [message_pb2.Part(tool_result=message_pb2.ToolResultPart(call_id=each, name="f")) for each in ids]
    return draft(None, **{"role": Role.TOOL, "parts": parts, **fields})


def parse(stored: StoredEvent) -> event_pb2.SessionEvent:
    """Returns the message that clients receive for a stored event."""
    return event_pb2.SessionEvent.FromString(published(stored))


def texts(stored: Iterable[StoredEvent]) -> list[str]:
    return [CODEC.text(item.body) for item in stored]
