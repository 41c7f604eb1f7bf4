"""Makes the events that a compaction inserts."""

from __future__ import annotations

from threadkeep.v1 import event_pb2, message_pb2

from ...compaction.plan import NewEvent
from ...domain.model import SECOND_NS, EventDraft
from .events import DraftMaker


class SummaryEncoder:
    """Implements service.compaction.compaction_runner.Composer for threadkeep.v1.SessionEvent."""

    def __init__(self, make_draft: DraftMaker) -> None:
        self._make_draft = make_draft

    def compose(self, new: NewEvent, event_id: str, time: int, original: bytes | None) -> EventDraft:
        event = event_pb2.SessionEvent(event_id=event_id, branch=new.branch, synthetic=True, compaction_source=new.source)
        event.event_time.seconds, event.event_time.nanos = divmod(time, SECOND_NS)
        event.message.role = message_pb2.Role.ValueType(new.role)
        if original is None:
            event.message.parts.add().text = new.text
        else:
            _replace_results(event, new.text, event_pb2.SessionEvent.FromString(original))
        return self._make_draft(event)


def _replace_results(event: event_pb2.SessionEvent, text: str, original: event_pb2.SessionEvent) -> None:
    """Adds a tool result with this text for each tool result of the original."""
    event.author, event.author_role = original.author, original.author_role
    event.invocation_id = original.invocation_id
    for part in original.message.parts:
        if part.HasField("tool_result"):
            result = event.message.parts.add().tool_result
            result.call_id, result.name = part.tool_result.call_id, part.tool_result.name
            result.is_error = part.tool_result.is_error
            result.parts.add().text = text
