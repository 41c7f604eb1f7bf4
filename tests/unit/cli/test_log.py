"""The export format: every event's bytes come back as they were sent."""

from __future__ import annotations

import io
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from threadkeep import Session, SessionEvent, SessionRef, assistant, media, tool_call, tool_result, user
from threadkeep.cli.formats import EventItem, FileReader, Item, Malformed, ReadOptions, SessionStart
from threadkeep.cli.formats.log import OUTPUT_ONLY, end_line, event_bytes, event_line, header_line, session_line

SESSION = Session(ref=SessionRef(app="a", user_id="zoë", session_id="s"), metadata_json='{"n": 1.0}', labels={"k": "v"})
SESSION.create_time.FromJsonString("2026-01-02T03:04:05.123456789Z")


def read(*lines: str) -> list[Item]:
    return list(FileReader(io.BytesIO("".join(lines).encode()), "f", ReadOptions()))


def stored(event: SessionEvent, seq: int) -> SessionEvent:
    """As a server would hand it out."""
    copy = SessionEvent()
    copy.CopyFrom(event)
    copy.seq, copy.token_estimate, copy.size_bytes, copy.archived = seq, 7, 70, True
    copy.record_time.FromJsonString("2026-01-02T03:04:05.123456789Z")
    return copy


def export(*events: SessionEvent) -> list[str]:
    lines = [event_line("s", stored(event, seq)) for seq, event in enumerate(events, 1)]
    return [header_line(), session_line(SESSION), *lines, end_line(1, len(events))]


def test_bytes_ids_and_order_survive() -> None:
    events = [
        user("hé\x00 你好 🎉", event_id="e1", event_time=1_700_000_000_123_456_789, metadata='{"n": 9007199254740993}'),
        assistant(tool_calls=[tool_call("c", "f", '{"a":  1}')], event_id="e2", author="bot", author_role="r", branch="x.y"),
        tool_result("c", {"n": 1}, event_id="e3"),
        user([media("image/png", data=bytes(range(256)))], event_id="e4", synthetic=True, compaction_source="c"),
    ]
    start, *rest = read(*export(*events))
    assert isinstance(start, SessionStart)
    assert (start.session, start.restore, start.never_expires) == (SESSION, True, True)
    items = [each for each in rest if isinstance(each, EventItem)]
    assert [each.seq for each in items] == [1, 2, 3, 4]
    assert [each.event.SerializeToString() for each in items] == [each.SerializeToString() for each in events]


def test_fields_of_newer_writers_survive() -> None:
    newer = user("hi", event_id="e").SerializeToString() + b"\xba\x3e\x03new"  # field 999
    event = SessionEvent.FromString(newer)
    item = read(*export(event))[1]
    assert isinstance(item, EventItem)
    assert item.event.SerializeToString() == newer


def test_fields_added_by_the_server_are_not_in_the_stored_bytes() -> None:
    event = user("hi", event_id="e")
    assert event_bytes(stored(event, 3)) == event.SerializeToString()
    assert {field.name for field in SessionEvent.DESCRIPTOR.fields} >= set(OUTPUT_ONLY)


def test_expiry_is_kept_to_the_nanosecond() -> None:
    session = Session(ref=SESSION.ref)
    session.expire_time.FromJsonString("2030-01-02T03:04:05.123456789Z")
    start = read(header_line(), session_line(session), end_line(1, 0))[0]
    assert isinstance(start, SessionStart)
    assert (start.session.expire_time, start.never_expires) == (session.expire_time, False)


@given(st.text(), st.text(min_size=1), st.binary())
def test_any_text_and_bytes_survive(text: str, author: str, data: bytes) -> None:
    event = user([text.encode("utf-8", "replace").decode(), media("x/y", data=data)], event_id="e")
    event.author = author.encode("utf-8", "replace").decode()
    item = read(*export(event))[1]
    assert isinstance(item, EventItem)
    assert item.event.SerializeToString() == event.SerializeToString()


def changed(line: str, **fields: Any) -> str:
    return json.dumps(json.loads(line) | fields) + "\n"


def test_wrong_lines_name_their_field() -> None:
    header, session, event, end = export(user("hi", event_id="e"))
    nameless = event_line("s", stored(user("hi"), 1))
    cases = [
        ([changed(header, version=2)], "version"),
        ([header, changed(session, session_id=""), end], "session_id"),
        ([header, changed(session, labels=[1]), end], "labels"),
        ([header, changed(session, expire_time="soon"), end], "expire_time"),
        ([header, event, end], "session"),
        ([header, session, changed(event, session="t"), end], "session"),
        ([header, session, changed(event, seq=2), end], "seq"),
        ([header, session, changed(event, seq=True), end], "seq"),
        ([header, session, changed(event, event="?"), end], "event"),
        ([header, session, changed(event, event="////"), end], "event"),
        ([header, session, nameless, end], "event"),
        ([header, session, event, event, end], "seq"),
        ([header, changed(end, type="what"), end], "type"),
    ]
    for lines, field in cases:
        found = [each for each in read(*lines) if isinstance(each, Malformed)]
        assert [each.field for each in found] == [field], (lines, found)


def test_a_truncated_export_is_reported() -> None:
    *lines, _ = export(user("hi", event_id="e"))
    last = read(*lines)[-1]
    assert isinstance(last, Malformed)
    assert "truncated" in last.problem
    assert last.fatal
