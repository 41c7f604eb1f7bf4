from __future__ import annotations

import os
import random
import time
import uuid
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

import threadkeep
from threadkeep import Part, SessionEvent
from threadkeep.v1.message_pb2 import Role


def test_roles_and_content() -> None:
    built = [
        threadkeep.user("hi"),
        threadkeep.assistant(["a", threadkeep.text("b")]),
        threadkeep.system(threadkeep.text("be kind")),
        threadkeep.event("tool", []),
        threadkeep.event(Role.ROLE_USER),
    ]
    roles = [Role.ROLE_USER, Role.ROLE_ASSISTANT, Role.ROLE_SYSTEM, Role.ROLE_TOOL, Role.ROLE_USER]
    assert [event.message.role for event in built] == roles
    assert [threadkeep.text_of(event) for event in built] == ["hi", "a\nb", "be kind", "", ""]


def test_every_field_of_an_event() -> None:
    event = threadkeep.user(
        "hi",
        event_id="e",
        author="agent",
        author_role="researcher",
        branch="a.b",
        invocation_id="run",
        event_time=1_700_000_000_123_456_789,
        native=threadkeep.NativeContent(format="f/1", content=b"\x00"),
        usage={"input_tokens": 1, "output_tokens": 2},
        metadata={"zahl": 2**53 + 1, "text": "ü"},
        synthetic=True,
        compaction_source="summary",
    )
    assert (event.event_time.seconds, event.event_time.nanos) == (1_700_000_000, 123_456_789)
    assert event.metadata_json == '{"zahl":9007199254740993,"text":"ü"}'
    assert (event.usage.input_tokens, event.usage.output_tokens) == (1, 2)
    assert (event.event_id, event.author, event.author_role) == ("e", "agent", "researcher")
    assert (event.branch, event.invocation_id, event.compaction_source) == ("a.b", "run", "summary")
    assert event.native.format == "f/1"
    assert event.synthetic
    assert not threadkeep.user("hi").HasField("event_time")
    assert not threadkeep.user("hi").HasField("usage")
    assert not threadkeep.user("hi").HasField("native")


@pytest.mark.parametrize(
    "when",
    [datetime(2026, 1, 2, 3, 4, 5, 678_901, UTC), datetime(2026, 1, 2, 5, 4, 5, 678_901, timezone(timedelta(hours=2)))],
)
def test_datetimes_lose_nothing(when: datetime) -> None:
    time_ = threadkeep.user("hi", event_time=when).event_time
    assert (time_.seconds, time_.nanos) == (1_767_323_045, 678_901_000)


def test_times_before_the_epoch() -> None:
    time_ = threadkeep.user("hi", event_time=-1).event_time
    assert (time_.seconds, time_.nanos) == (-1, 999_999_999)


def test_tool_calls_keep_argument_text_and_write_mappings_compactly() -> None:
    verbatim, written = (
        threadkeep.tool_call("c1", "f", '{ "a" : 1.0 }'),
        threadkeep.tool_call("c2", "g", {"a": [1, 2]}, kind="x"),
    )
    event = threadkeep.assistant("on it", tool_calls=[verbatim, written])
    calls = [part.tool_call for part in event.message.parts[1:]]
    assert [call.arguments_json for call in calls] == ['{ "a" : 1.0 }', '{"a":[1,2]}']
    assert [(call.id, call.name, call.kind) for call in calls] == [("c1", "f", "function"), ("c2", "g", "x")]
    assert len(threadkeep.assistant(tool_calls=[verbatim]).message.parts) == 1


def test_tool_results() -> None:
    spoken = threadkeep.tool_result("c1", "42", name="f", author="runner")
    structured = threadkeep.tool_error("c2", {"ok": False})
    media = threadkeep.tool_result("c3", [threadkeep.media("image/png", uri="https://example.com/a.png"), "a chart"])
    first, second, third = (event.message.parts[0].tool_result for event in (spoken, structured, media))
    assert (spoken.message.role, spoken.author) == (Role.ROLE_TOOL, "runner")
    assert (first.call_id, first.name, first.parts[0].text, first.is_error) == ("c1", "f", "42", False)
    assert (second.structured_json, len(second.parts), second.is_error) == ('{"ok":false}', 0, True)
    assert [part.WhichOneof("content") for part in third.parts] == ["media", "text"]
    assert threadkeep.text_of(spoken) == "", "results are not message text"


def test_other_parts() -> None:
    assert threadkeep.media("image/png", data=b"\x89").media.data == b"\x89"
    assert threadkeep.media("image/png", file_id="f", name="n", detail="low").media.file_id == "f"
    assert threadkeep.data("openai.refusal", {"a": None}).data.json == '{"a":null}'
    thought = threadkeep.reasoning("because", signature=b"s", encrypted=b"e").reasoning
    assert (thought.text, thought.signature, thought.encrypted) == ("because", b"s", b"e")


def test_lone_surrogates_in_json_travel_escaped() -> None:
    assert threadkeep.data("x", {"a": "\ud800"}).data.json == '{"a":"\\ud800"}'


@pytest.mark.parametrize(
    ("build", "problem"),
    [
        (lambda: threadkeep.user(7), "content must be"),  # type: ignore[arg-type]
        (lambda: threadkeep.user(b"hi"), "content must be"),  # type: ignore[arg-type]
        (lambda: threadkeep.user(["hi", 7]), r"content\[1\] must be Part"),  # type: ignore[list-item]
        (lambda: threadkeep.user("hi", author=7), "author must be str, not int"),  # type: ignore[arg-type]
        (lambda: threadkeep.user("hi", event_time="now"), "event_time must be datetime or int, not str"),  # type: ignore[arg-type]
        (lambda: threadkeep.user("hi", event_time=True), "event_time must be datetime or int, not bool"),
        (lambda: threadkeep.user("hi", metadata=7), "metadata must be"),  # type: ignore[arg-type]
        (lambda: threadkeep.user("hi", metadata={"a": object()}), "metadata is not JSON"),
        (lambda: threadkeep.user("hi", usage=7), "usage must be TokenUsage"),  # type: ignore[arg-type]
        (lambda: threadkeep.user("hi", native=b""), "native must be NativeContent"),  # type: ignore[arg-type]
        (lambda: threadkeep.user("hi", synthetic=1), "synthetic must be bool"),  # type: ignore[arg-type]
        (lambda: threadkeep.user("hi", tone="red"), "event has no argument 'tone'; it takes event_id, "),  # type: ignore[call-arg]
        (lambda: threadkeep.event(None), "role must be str"),  # type: ignore[arg-type]
        (lambda: threadkeep.text(7), "text must be str"),  # type: ignore[arg-type]
        (lambda: threadkeep.tool_call(1, "f", {}), "id must be str"),  # type: ignore[arg-type]
        (lambda: threadkeep.tool_call("c", "f", 7), "arguments must be"),  # type: ignore[arg-type]
        (lambda: threadkeep.tool_result(1, "x"), "call_id must be str"),  # type: ignore[arg-type]
        (lambda: threadkeep.media("image/png"), "exactly one of"),
        (lambda: threadkeep.media("image/png", data="x"), "data must be bytes"),  # type: ignore[arg-type]
        (lambda: threadkeep.media("image/png", uri="x", data=b""), "exactly one of"),
        (lambda: threadkeep.data(7, {}), "type must be str"),  # type: ignore[arg-type]
        (lambda: threadkeep.reasoning("x", signature="s"), "signature must be bytes"),  # type: ignore[arg-type]
        (lambda: threadkeep.text_of("hi"), "event must be SessionEvent"),  # type: ignore[arg-type]
    ],
)
def test_wrong_types_name_the_argument(build: Any, problem: str) -> None:
    with pytest.raises(TypeError, match=problem):
        build()


@pytest.mark.parametrize(
    ("build", "problem"),
    [
        (lambda: threadkeep.user("hi", event_time=datetime(2026, 1, 1)), "event_time must have a time zone"),  # noqa: DTZ001
        (lambda: threadkeep.user("hi", metadata={"a": float("nan")}), "metadata is not JSON"),
        (lambda: threadkeep.event("robot"), "role must be one of unspecified, user, assistant, system, tool, not 'robot'"),
    ],
)
def test_wrong_values_name_the_argument(build: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        build()


def test_ids_differ_in_forked_processes_and_after_seeding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: 1_700_000_000_000_000_000)

    def in_child() -> str:
        random.seed(7)
        reader, writer = os.pipe()
        if not os.fork():
            os.write(writer, threadkeep.new_event_id().encode())
            os._exit(0)
        os.wait()
        return os.read(reader, 100).decode()

    ids = {in_child(), in_child(), threadkeep.new_event_id()}
    assert len(ids) == 3
    assert all(uuid.UUID(each).version == 7 for each in ids)


def test_ids_are_uuid7_in_order_of_time() -> None:
    before = time.time_ns() // 1_000_000
    ids = [threadkeep.new_event_id() for _ in range(1000)]
    parsed = [uuid.UUID(each) for each in ids]
    assert all(each.version == 7 and each.variant == uuid.RFC_4122 for each in parsed)
    assert before <= parsed[0].int >> 80 <= parsed[-1].int >> 80 <= time.time_ns() // 1_000_000
    assert len(set(ids)) == 1000
    assert ids[0] < ids[500] < ids[-1]


def test_with_ids_copies_and_keeps_given_ids() -> None:
    events = threadkeep.user("a"), threadkeep.user("b", event_id="mine")
    copies = threadkeep.with_ids(*events)
    assert [event.event_id for event in events] == ["", "mine"]
    assert uuid.UUID(copies[0].event_id).version == 7
    assert copies[1] == events[1]
    assert threadkeep.with_ids(*copies) == copies


def test_text_of_skips_parts_that_are_not_text() -> None:
    event = SessionEvent()
    event.message.parts.extend([Part(), threadkeep.reasoning("hm"), threadkeep.text("a"), threadkeep.text("")])
    assert threadkeep.text_of(event) == "a\n"
