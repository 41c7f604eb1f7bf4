"""Builders of events, and their text. A value of a wrong type raises TypeError with the argument's name."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypedDict, Unpack

from ._arguments import refuse_unknown
from ._convert import Json, check, enum_value, json_text, timestamp
from .v1.event_pb2 import NativeContent, SessionEvent
from .v1.message_pb2 import (
    ChatMessage,
    DataPart,
    MediaPart,
    Part,
    ReasoningPart,
    Role,
    ToolCallPart,
    ToolResultPart,
)
from .v1.session_pb2 import TokenUsage
from .values.events import Event
from .values.incoming import Appendable, events_of

Content = str | Part | Sequence[str | Part]


class EventFields(TypedDict, total=False):
    """The fields of an event, without its message. Strings are at most 255 bytes unless specified otherwise.

    event_id: the idempotency key; a client makes one when it sends the event. author, author_role: the agent that wrote it.
    branch: dotted path of the agent branch, at most 1,024 bytes; empty is the root, which all agents read. event_time: an aware
    datetime, or nanoseconds since the epoch. invocation_id: groups the events of one run. native: the framework's own
    item. usage: TokenUsage, or its fields as a mapping. metadata: a JSON object, at most 256 KiB; text is kept verbatim.
    synthetic, compaction_source: for summaries.
    """

    event_id: str
    author: str
    author_role: str
    branch: str
    invocation_id: str
    event_time: datetime | int | None
    native: NativeContent | None
    usage: TokenUsage | Mapping[str, int] | None
    metadata: Mapping[str, Any] | str | None
    synthetic: bool
    compaction_source: str


_STRINGS = ("event_id", "author", "author_role", "branch", "invocation_id", "compaction_source")


def event(role: Role.ValueType | str, content: Content = (), **fields: Unpack[EventFields]) -> SessionEvent:
    """An event whose message has this role ("user", "assistant", "system", "tool", or a number of Role) and content.

    Content is a text, a part, or a sequence of both. The fields are those of `EventFields`.
    """
    refuse_unknown("event", fields, EventFields.__annotations__)
    strings = {name: check(fields.get(name, ""), str, name) for name in _STRINGS}
    usage, native = fields.get("usage"), fields.get("native")
    return SessionEvent(
        message=ChatMessage(role=enum_value(dict(Role.items()), "ROLE_", role, "role"), parts=_parts(content, "content")),
        event_time=timestamp(fields.get("event_time"), "event_time"),
        native=None if native is None else check(native, NativeContent, "native"),
        usage=TokenUsage(**usage) if isinstance(usage, Mapping) else usage and check(usage, TokenUsage, "usage"),
        metadata_json=json_text(fields.get("metadata"), "metadata"),
        synthetic=check(fields.get("synthetic", False), bool, "synthetic"),
        event_id=strings["event_id"],
        author=strings["author"],
        author_role=strings["author_role"],
        branch=strings["branch"],
        invocation_id=strings["invocation_id"],
        compaction_source=strings["compaction_source"],
    )


def user(content: Content, **fields: Unpack[EventFields]) -> SessionEvent:
    """A message of the user. On the root branch it starts a turn. See `event`."""
    return event(Role.ROLE_USER, content, **fields)


def assistant(content: Content = (), *, tool_calls: Sequence[Part] = (), **fields: Unpack[EventFields]) -> SessionEvent:
    """A message of the model, followed by its tool calls. See `event` and `tool_call`."""
    parts = [*_parts(content, "content"), *_parts(tool_calls, "tool_calls")]
    return event(Role.ROLE_ASSISTANT, parts, **fields)


def system(content: Content, **fields: Unpack[EventFields]) -> SessionEvent:
    """Instructions to the model. See `event`."""
    return event(Role.ROLE_SYSTEM, content, **fields)


def tool_result(
    call_id: str, content: Content | Mapping[str, Any], *, name: str = "", **fields: Unpack[EventFields]
) -> SessionEvent:
    """The event of one tool result. For several in one event: `event("tool", [tool_result_part(...), ...])`."""
    return event(Role.ROLE_TOOL, [tool_result_part(call_id, content, name=name)], **fields)


def tool_error(
    call_id: str, content: Content | Mapping[str, Any], *, name: str = "", **fields: Unpack[EventFields]
) -> SessionEvent:
    """The event of the result of a tool that failed. See `tool_result`."""
    return event(Role.ROLE_TOOL, [tool_result_part(call_id, content, name=name, is_error=True)], **fields)


def text(value: str) -> Part:
    """Plain text, which keyword filters and search read."""
    return Part(text=check(value, str, "text"))


def reasoning(value: str = "", *, signature: bytes = b"", encrypted: bytes = b"") -> Part:
    """The model's reasoning, with the provider's signature or its encrypted form, verbatim."""
    signature, encrypted = check(signature, bytes, "signature"), check(encrypted, bytes, "encrypted")
    return Part(reasoning=ReasoningPart(text=check(value, str, "reasoning"), signature=signature, encrypted=encrypted))


def tool_call(id: str, name: str, arguments: Json, *, kind: str = "function") -> Part:  # noqa: A002
    """A request to call a tool. Arguments given as text are kept verbatim, others are written as compact JSON."""
    arguments_json = json_text(arguments, "arguments")
    id, name, kind = check(id, str, "id"), check(name, str, "name"), check(kind, str, "kind")  # noqa: A001
    return Part(tool_call=ToolCallPart(id=id, name=name, kind=kind, arguments_json=arguments_json))


def tool_result_part(call_id: str, content: Content | Mapping[str, Any], *, name: str = "", is_error: bool = False) -> Part:
    """The result of the call `call_id`: text, parts, or a mapping, which is kept as structured JSON."""
    return Part(
        tool_result=ToolResultPart(
            call_id=check(call_id, str, "call_id"),
            name=check(name, str, "name"),
            parts=() if isinstance(content, Mapping) else _parts(content, "content"),
            structured_json=json_text(content, "content") if isinstance(content, Mapping) else "",
            is_error=check(is_error, bool, "is_error"),
        )
    )


def media(
    mime_type: str,
    *,
    data: bytes | None = None,
    uri: str | None = None,
    file_id: str | None = None,
    name: str = "",
    detail: str = "",
) -> Part:
    """Media of an IANA type, from exactly one of: `data`, which counts toward the event's limit, `uri`, `file_id`."""
    if sum(source is not None for source in (data, uri, file_id)) != 1:
        raise TypeError("give exactly one of data, uri and file_id")
    part = MediaPart(
        mime_type=check(mime_type, str, "mime_type"), name=check(name, str, "name"), detail=check(detail, str, "detail")
    )
    if data is not None:
        part.data = check(data, bytes, "data")
    elif uri is not None:
        part.uri = check(uri, str, "uri")
    else:
        part.file_id = check(file_id, str, "file_id")
    return Part(media=part)


def data(type: str, value: Json) -> Part:  # noqa: A002
    """A framework's own kind of content as JSON; text is kept verbatim."""
    return Part(data=DataPart(type=check(type, str, "type"), json=json_text(value, "value")))


def _parts(content: object, argument: str) -> list[Part]:
    items = [content] if isinstance(content, str | Part) else content
    if not isinstance(items, Sequence) or isinstance(items, bytes):
        raise TypeError(f"{argument} must be str, Part or a sequence of them, not {type(content).__name__}")
    return [text(item) if isinstance(item, str) else check(item, Part, f"{argument}[{n}]") for n, item in enumerate(items)]


def text_of(event: SessionEvent | Event) -> str:
    """The event's text as it is searched: its text parts joined by a line feed. Empty when it has none."""
    if isinstance(event, Event):
        return event.text
    return Event(check(event, SessionEvent, "event")).text


# Ids are unique, not secret. The system's randomness would cost a system call each, where another thread may take the GIL. The
# generator of `random` repeats itself in programs that seed it.
_random = random.Random()  # noqa: S311
if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_random.seed)


def new_event_id() -> str:
    """A UUIDv7: ids sort by their creation time, to a quarter of a microsecond."""
    millis, rest = divmod(time.time_ns(), 1_000_000)
    fraction = rest * 4096 // 1_000_000
    digits = f"{millis << 80 | 7 << 76 | fraction << 64 | 2 << 62 | _random.getrandbits(62):032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def with_ids(*events: Appendable | Iterable[Appendable]) -> list[SessionEvent]:
    """Copies of the values as events, each with an id. Append these, and again after an error: nothing is stored twice."""
    copies = events_of(events)
    for copy in copies:
        copy.event_id = copy.event_id or new_event_id()
    return copies
