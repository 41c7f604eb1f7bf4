"""The content that long-term memory stores of an event, and the text that a model receives of it."""

from __future__ import annotations

from collections.abc import Iterable

from threadkeep.v1 import event_pb2, message_pb2

from ...domain.model import ROLES, SECOND_NS
from ...domain.search import Texts
from ...service.memory.memories import RememberedEvent, ShownEvent
from .codec import message_texts


class MemoryTextReader:
    """Implements service.memory.EventReader for threadkeep.v1.SessionEvent."""

    def remember(self, body: bytes, *, include_tools: bool, include_reasoning: bool) -> RememberedEvent | None:
        event = event_pb2.SessionEvent.FromString(body)
        content = message_pb2.ChatMessage(role=event.message.role)
        content.parts.extend(_kept_parts(event.message.parts, include_tools, include_reasoning))
        text = searched_text(content)
        if not text.strip():
            return None
        return RememberedEvent(
            event_id=event.event_id,
            content=content.SerializeToString(),
            text=text,
            author=event.author,
            time=_time(event),
            synthetic=event.synthetic,
        )

    def show(self, body: bytes) -> ShownEvent:
        event = event_pb2.SessionEvent.FromString(body)
        texts = message_texts(event.message)
        return ShownEvent(
            event_id=event.event_id,
            seq=event.seq,
            role=ROLES[event.message.role],
            author=event.author,
            time=_time(event),
            text=texts.text or _joined(texts),
        )

    def memory_texts(self, content: bytes) -> Texts:
        return message_texts(message_pb2.ChatMessage.FromString(content))


def searched_text(message: message_pb2.ChatMessage) -> str:
    """Returns the text of a memory that is embedded and matched by substring: the texts of all fields."""
    return _joined(message_texts(message))


def _joined(texts: Texts) -> str:
    return "\n".join(text for text in texts if text.strip())


def _time(event: event_pb2.SessionEvent) -> int:
    time = event.event_time if event.HasField("event_time") else event.record_time
    return time.seconds * SECOND_NS + time.nanos


def _kept_parts(parts: Iterable[message_pb2.Part], include_tools: bool, include_reasoning: bool) -> Iterable[message_pb2.Part]:
    """Yields the parts to store. Reasoning becomes text, so that it is searchable; its signature is dropped."""
    for part in parts:
        kind = part.WhichOneof("content")
        if kind == "text" or (kind == "tool_call" and include_tools):
            yield part
        elif kind == "tool_result" and include_tools:
            yield message_pb2.Part(tool_result=_without_media(part.tool_result))
        elif kind == "reasoning" and include_reasoning and part.reasoning.text.strip():
            yield message_pb2.Part(text=part.reasoning.text)


def _without_media(result: message_pb2.ToolResultPart) -> message_pb2.ToolResultPart:
    """Returns the texts and JSON of the result. Media would be stored twice and is not searchable."""
    kept = message_pb2.ToolResultPart(
        call_id=result.call_id, name=result.name, structured_json=result.structured_json, is_error=result.is_error
    )
    for part in result.parts:
        if part.HasField("text"):
            kept.parts.append(part)
        elif part.HasField("tool_result"):
            kept.parts.add().tool_result.CopyFrom(_without_media(part.tool_result))
    return kept
