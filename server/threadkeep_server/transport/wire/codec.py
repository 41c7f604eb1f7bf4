"""The codec of the store. An event keeps the bytes of its draft verbatim; the fields of the server are appended.

Protobuf parsers merge concatenated encodings of one message. Therefore sealing an event appends fields to the caller's bytes,
and reading it copies bytes.
"""

from __future__ import annotations

from threadkeep.v1 import event_pb2, message_pb2

from ...domain.feed import FeedEvent
from ...domain.model import SECOND_NS, BodyFacts, EventDraft, StoredEvent, Usage
from ...domain.search import Texts, Words
from ...search.analysis.analyzer import ANALYZER_VERSION
from ...search.analysis.terms import words_of
from ...store.contract.codec import Reading
from .prompt_text import measure

# SessionEvent.archived = true: field 15, wire type varint.
_ARCHIVED = bytes((15 << 3, 1))


class EventCodec:
    """Implements store.contract.store.Codec for threadkeep.v1.SessionEvent. `token_counter` is stored with each event; empty
    means the estimate."""

    words_version = ANALYZER_VERSION

    def __init__(self, token_counter: str = "") -> None:
        self._token_counter = token_counter

    def seal(self, draft: EventDraft, seq: int, record_time: int) -> bytes:
        added = event_pb2.SessionEvent(seq=seq, token_estimate=draft.token_estimate, size_bytes=len(draft.body))
        if self._token_counter:
            added.token_counter = self._token_counter
        added.record_time.seconds, added.record_time.nanos = divmod(record_time, SECOND_NS)
        return draft.body + added.SerializeToString()

    def tombstone(self, body: bytes) -> bytes:
        event = event_pb2.SessionEvent.FromString(body)
        left = event_pb2.SessionEvent(event_id=event.event_id, seq=event.seq, branch=event.branch, erased=True)
        left.message.role = event.message.role
        left.record_time.CopyFrom(event.record_time)
        if event.HasField("event_time"):
            left.event_time.CopyFrom(event.event_time)
        return left.SerializeToString()

    def text(self, body: bytes) -> str:
        return message_text(event_pb2.SessionEvent.FromString(body).message)

    def facts(self, body: bytes) -> BodyFacts:
        event = event_pb2.SessionEvent.FromString(body)
        return BodyFacts(message_text(event.message), event.invocation_id, event.native.format, event.metadata_json)

    def usage(self, body: bytes) -> tuple[str, Usage]:
        event = event_pb2.SessionEvent.FromString(body)
        spent = event.usage
        kinds = (spent.input_tokens, spent.output_tokens, spent.total_tokens, spent.cached_tokens, spent.reasoning_tokens)
        return event.invocation_id, Usage(*kinds)

    def texts(self, body: bytes) -> Texts:
        return message_texts(event_pb2.SessionEvent.FromString(body).message)

    def words(self, body: bytes, time: int) -> Words:
        event = event_pb2.SessionEvent.FromString(body)
        return words_of(message_texts(event.message), time, event.author)

    def memory_words(self, content: bytes, time: int, author: str = "") -> Words:
        return words_of(message_texts(message_pb2.ChatMessage.FromString(content)), time, author)

    def reading(self, body: bytes) -> Reading:
        message = event_pb2.SessionEvent.FromString(body).message
        shown = measure(message)
        names = tuple([part.tool_result.name for part in message.parts if part.HasField("tool_result")])
        return Reading(shown.prompt_text, shown.content_bytes, *message_ties(message), names)

    def ties(self, body: bytes) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return message_ties(event_pb2.SessionEvent.FromString(body).message)


def message_text(message: message_pb2.ChatMessage) -> str:
    """Returns the text that keyword filters and substring search match."""
    return "\n".join([part.text for part in message.parts if part.HasField("text")])


def message_texts(message: message_pb2.ChatMessage) -> Texts:
    """What of a message is searched, by field; the forms are those of threadkeep.v1.SearchField."""
    if len(message.parts) == 1 and message.parts[0].HasField("text"):
        return Texts(message.parts[0].text, "", "", "")
    calls, results, media = [], [], []
    for part in message.parts:
        if part.HasField("tool_call"):
            calls.append(f"{part.tool_call.name}\n{part.tool_call.arguments_json}")
        elif part.HasField("tool_result"):
            results.append(_result_text(part.tool_result))
        elif part.HasField("media") and part.media.name:
            media.append(part.media.name)
    return Texts(message_text(message), "\n".join(calls), "\n".join(results), "\n".join(media))


def _result_text(result: message_pb2.ToolResultPart) -> str:
    """Returns the text of a result and of nested results. Appends limit the nesting."""
    pieces = [result.name]
    for part in result.parts:
        if part.HasField("text"):
            pieces.append(part.text)
        elif part.HasField("tool_result"):
            pieces.append(_result_text(part.tool_result))
    pieces.append(result.structured_json)
    return "\n".join(piece for piece in pieces if piece)


def message_ties(message: message_pb2.ChatMessage) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the ids of the tool calls in a message, and the call ids of its tool results."""
    calls = tuple([part.tool_call.id for part in message.parts if part.HasField("tool_call")])
    results = tuple([part.tool_result.call_id for part in message.parts if part.HasField("tool_result")])
    return calls, results


def published(event: StoredEvent | FeedEvent) -> bytes:
    """Returns the encoded threadkeep.v1.SessionEvent that readers receive."""
    return event.body + _ARCHIVED if event.archived else event.body
