"""A log with everything in it that a language could get wrong."""

from __future__ import annotations

from typing import Literal, get_args

from google.protobuf.timestamp_pb2 import Timestamp

from threadkeep.v1.event_pb2 import NativeContent, SessionEvent
from threadkeep.v1.message_pb2 import (
    ROLE_ASSISTANT,
    ROLE_SYSTEM,
    ROLE_TOOL,
    ROLE_USER,
    ChatMessage,
    DataPart,
    MediaPart,
    Part,
    ReasoningPart,
    Role,
    ToolCallPart,
    ToolResultPart,
)
from threadkeep.v1.session_pb2 import TokenUsage

EVERY_BYTE = bytes(range(256))
NOT_A_DOUBLE = 2**53 + 1
"""The first integer that a double cannot hold."""
LARGEST_COUNT = 2**40 - 1
"""The largest count of tokens that a server takes."""
TEXTS = (
    "plain",
    "",
    "e\u0301 and \u00e9 are two",  # the same letter, composed and not
    "\U0001f469\u200d\U0001f680 \U00010348 \U0010ffff",  # beyond 16 bits, joined
    "\u0000 \u0001 \u007f \u0085 \u2028 \ufeff \ufffd \uffff",
    "\u05e9\u05dc\u05d5\u05dd \u202e\u0627\u0644\u0633\u0644\u0627\u0645\u202c",
    "quotes \" ' ` \\ / </script> ${user} {{x}} %s\r\n\t",
)
METADATA = '{\n  "z" : 1.0,\t"a": 12345678901234567890 , "n": 1e2, "\u00e9": "\\u00e9 \\/", "a ": [ ] ,"deep":{"x" :null}  }'
"""A JSON object that no program writes again as it was."""
ARGUMENTS = '{"q" : "\\u0041",  "n":1.50, "n":2}'
_OutputOnly = Literal["seq", "record_time", "archived", "token_estimate", "size_bytes", "token_counter"]
OUTPUT_ONLY: tuple[_OutputOnly, ...] = get_args(_OutputOnly)
"""What the server fills in."""


def log() -> list[SessionEvent]:
    """The events, each with an id."""
    return [*_plain(), *_tools(), *_kinds(), *_times(), *_numbers(), *_names()]


def stripped(event: SessionEvent) -> SessionEvent:
    """The event as its writer sent it."""
    copy = SessionEvent()
    copy.CopyFrom(event)
    for name in OUTPUT_ONLY:
        copy.ClearField(name)
    return copy


def _event(event_id: str, role: Role.ValueType, *parts: Part) -> SessionEvent:
    return SessionEvent(event_id=event_id, message=ChatMessage(role=role, parts=parts))


def _text(text: str) -> Part:
    return Part(text=text)


def _plain() -> list[SessionEvent]:
    said = [_event(f"text-{n}", ROLE_USER, _text(text), _text(text)) for n, text in enumerate(TEXTS)]
    return [_event("system", ROLE_SYSTEM, _text("Be brief.")), *said, _event("nothing-said", ROLE_ASSISTANT)]


def _tools() -> list[SessionEvent]:
    calls = [
        Part(tool_call=ToolCallPart(id="c1", name="search", kind="function", arguments_json=ARGUMENTS)),
        Part(tool_call=ToolCallPart(id="c2", name="\u691c\u7d22", arguments_json="not JSON {")),
    ]
    result = ToolResultPart(
        call_id="c1",
        name="search",
        parts=[
            _text("found"),
            Part(media=MediaPart(mime_type="image/png", data=EVERY_BYTE)),
            Part(data=DataPart(type="table", json='{"rows":[ ]}')),
        ],
        structured_json='{ "hits" : 3.0 }',
    )
    failed = ToolResultPart(call_id="c2", is_error=True)
    return [
        _event("calls", ROLE_ASSISTANT, _text("I look."), *calls),
        _event("results", ROLE_TOOL, Part(tool_result=result), Part(tool_result=failed)),
    ]


def _kinds() -> list[SessionEvent]:
    reasoning = ReasoningPart(text="So\u2026", signature=EVERY_BYTE, encrypted=EVERY_BYTE[::-1])
    media = [
        MediaPart(mime_type="audio/wav", data=EVERY_BYTE * 64, name="s\u00f6und.wav"),
        MediaPart(mime_type="image/webp", data=b""),
        MediaPart(mime_type="image/jpeg", uri="https://example.org/a%20b?c=d#e", detail="low"),
        MediaPart(mime_type="application/pdf", file_id="file-1"),
        MediaPart(mime_type="text/plain", uri=""),
    ]
    native = _event("native", ROLE_ASSISTANT)
    native.native.CopyFrom(NativeContent(format="test.bytes/1", content=EVERY_BYTE * 3))
    nothing = _event("native-empty", ROLE_ASSISTANT)
    nothing.native.CopyFrom(NativeContent(format="test.bytes/1"))
    return [
        _event("reasoning", ROLE_ASSISTANT, Part(reasoning=reasoning), Part(reasoning=ReasoningPart())),
        _event("media", ROLE_USER, *(Part(media=each) for each in media)),
        _event("data", ROLE_ASSISTANT, Part(data=DataPart(type="x.y/1", json='[1.0, 1e400 ,"\\ud83d\\ude00"]'))),
        native,
        nothing,
    ]


def _times() -> list[SessionEvent]:
    times = {
        "nanosecond": (1_700_000_000, 1),
        "just-before": (1_700_000_000, 999_999_999),
        "epoch": (0, 0),
        "before-the-epoch": (-1, 123_456_789),
        "first": (-9_223_286_400, 1),
        "last": (9_223_286_399, 999_999_999),
    }
    events = []
    for name, (seconds, nanos) in times.items():
        event = _event(f"time-{name}", ROLE_USER, _text(name))
        event.event_time.CopyFrom(Timestamp(seconds=seconds, nanos=nanos))
        events.append(event)
    return events


def _numbers() -> list[SessionEvent]:
    largest, none = _event("usage-largest", ROLE_ASSISTANT, _text("long")), _event("usage-none", ROLE_ASSISTANT, _text("free"))
    largest.usage.CopyFrom(
        TokenUsage(
            input_tokens=LARGEST_COUNT,
            output_tokens=LARGEST_COUNT - 1,
            total_tokens=2**31,
            cached_tokens=2**32 + 1,
            reasoning_tokens=1,
        )
    )
    none.usage.CopyFrom(TokenUsage())
    return [largest, none]


def _names() -> list[SessionEvent]:
    named = _event("\u00fcml\u00e4ut/id with spaces \U0001f600", ROLE_ASSISTANT, _text("named"))
    named.author, named.author_role, named.branch = "ag\u00e9nt \U0001f916", "researcher", "orchestrator.researcher.\u00e9"
    named.invocation_id, named.metadata_json = "run 1", METADATA
    made = _event("made", ROLE_ASSISTANT, _text("summary"))
    made.synthetic, made.compaction_source, made.branch = True, "test", "orchestrator"
    return [named, made]
