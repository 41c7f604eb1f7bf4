"""Converts SessionEvents to drafts, and append results to responses.

Reads all facts that the server stores of an event, once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from threadkeep.v1 import event_pb2, event_service_pb2, message_pb2, session_pb2

from ...domain import validation
from ...domain.errors import BatchTooLarge, EventTooLarge, InvalidField
from ...domain.model import NO_USAGE, EventDraft, Tools, Usage
from ...store.contract.events import Appended
from ..wire.prompt_text import measure
from .sessions import role_of, time_of

_NAMES = ("author", "author_role", "invocation_id", "compaction_source")
_OUTPUT_ONLY = ("seq", "record_time", "archived", "token_estimate", "size_bytes", "token_counter", "erased")


def drafts_of(events: Sequence[event_pb2.SessionEvent], limits: validation.Limits, make: DraftMaker) -> list[EventDraft]:
    """Returns drafts in order. Clears OUTPUT_ONLY fields of the messages and sets missing ids."""
    if len(events) > limits.max_batch_events:
        raise BatchTooLarge("events", len(events), limits.max_batch_events, "events")
    drafts = []
    for index, event in enumerate(events):
        try:
            draft = make(event)
        except InvalidField as error:
            raise InvalidField(f"events[{index}].{error.metadata['field']}", error.metadata["problem"]) from None
        if len(draft.body) > limits.max_event_bytes:
            raise EventTooLarge(f"events[{index}]", len(draft.body), limits.max_event_bytes)
        drafts.append(draft)
    return drafts


class DraftMaker:
    """Makes drafts. `count` returns the tokens of a prompt line; `new_id` returns an id for an event without one."""

    def __init__(self, new_id: Callable[[], str], count: Callable[[str], int]) -> None:
        self._new_id = new_id
        self._count = count

    def __call__(self, event: event_pb2.SessionEvent) -> EventDraft:
        """Returns the draft. Raises InvalidField with the field of the event. Skips unset fields: every append calls this."""
        for name in _OUTPUT_ONLY:
            event.ClearField(name)  # type: ignore[arg-type]
        event_id = event.event_id
        generated = not event_id
        if generated:
            event_id = event.event_id = self._new_id()
        message = event.message
        _check(event, event_id, message)
        shown = measure(message)
        if shown.tools & Tools.RESULTS:
            check_nesting("message.parts", message.parts)
        return EventDraft(
            event_id=event_id,
            body=event.SerializeToString(),
            role=role_of("message.role", message.role),
            generated_id=generated,
            author=event.author,
            author_role=event.author_role,
            branch=event.branch,
            event_time=time_of("event_time", event.event_time) if event.HasField("event_time") else None,
            synthetic=event.synthetic,
            token_estimate=self._count(shown.prompt_text),
            usage=_usage("usage", event.usage) if event.HasField("usage") else NO_USAGE,
            content_bytes=shown.content_bytes,
            tools=shown.tools,
        )


def _check(event: event_pb2.SessionEvent, event_id: str, message: message_pb2.ChatMessage) -> None:
    if not event.HasField("message"):
        raise InvalidField("message", "is required")
    if len(message.parts) > validation.MAX_PARTS:
        raise InvalidField("message.parts", f"must have at most {validation.MAX_PARTS} parts")
    validation.identifier("event_id", event_id, required=True)
    for name in _NAMES:
        if value := getattr(event, name):
            validation.identifier(name, value)
    if event.branch:
        validation.branch("branch", event.branch)
    if event.metadata_json:
        validation.json_object("metadata_json", event.metadata_json)
    if event.HasField("native"):
        validation.identifier("native.format", event.native.format, required=True)


def check_nesting(field: str, parts: Iterable[message_pb2.Part], left: int = validation.MAX_NESTING) -> None:
    """Raises InvalidField for tool results that are nested too deeply or have too many parts."""
    for part in parts:
        if part.HasField("tool_result"):
            if not left:
                raise InvalidField(field, f"must nest tool results at most {validation.MAX_NESTING} deep")
            validation.count(f"{field}.tool_result.parts", part.tool_result.parts, validation.MAX_PARTS)
            check_nesting(field, part.tool_result.parts, left - 1)


def set_appended(target: event_service_pb2.AppendEventsResponse, appended: Appended) -> None:
    """Fills an empty message, which takes a third of the time of constructing it."""
    for event in appended.events:
        target.events.add(event_id=event.event_id, seq=event.seq, replayed=event.replayed)
    target.log_version = appended.log_version
    target.last_seq = appended.last_seq
    target.session_created = appended.session_created
    window, counters = target.window, appended.window
    window.SetInParent()  # present, also where all counters are zero
    window.events = counters.events
    window.turns = counters.turns
    window.bytes = counters.bytes
    window.tokens = counters.tokens


def _usage(field: str, usage: session_pb2.TokenUsage) -> Usage:
    values = (
        usage.input_tokens,
        usage.output_tokens,
        usage.total_tokens,
        usage.cached_tokens,
        usage.reasoning_tokens,
    )
    # The totals of a session are 64-bit sums of these.
    if any(not 0 <= value < 1 << 40 for value in values):
        raise InvalidField(field, "must not contain a negative count or one of 2^40 or more")
    return Usage(*values)
