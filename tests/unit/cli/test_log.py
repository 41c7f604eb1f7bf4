"""The export format: every event's bytes come back as they were sent."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkeep import Session, SessionEvent, SessionParent, SessionRef, assistant, media, tool_call, tool_result, user
from threadkeep.cli.formats import (
    EventItem,
    FileReader,
    Item,
    Malformed,
    ReadOptions,
    SessionStart,
    StateItem,
    WindowChange,
    WindowItem,
)
from threadkeep.cli.formats.items import Placed
from threadkeep.cli.formats.log import (
    OUTPUT_ONLY,
    VERSION,
    end_line,
    event_bytes,
    event_line,
    header_line,
    session_line,
    state_line,
    window_line,
)

SESSION = Session(ref=SessionRef(app="a", user_id="zoë", session_id="s"), metadata_json='{"n": 1.0}', labels={"k": "v"})
SESSION.create_time.FromJsonString("2026-01-02T03:04:05.123456789Z")
FORKED = {"session_id": "o", "uid": "u", "at_seq": 1, "at_log_version": 1}


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
        ([changed(header, version=VERSION + 1)], "version"),
        ([header, changed(session, session_id=""), end], "session_id"),
        ([header, changed(session, labels=[1]), end], "labels"),
        ([header, changed(session, expire_time="soon"), end], "expire_time"),
        ([header, changed(session, context_bytes=-1), end], "context_bytes"),
        ([header, changed(session, forked_from="s"), end], "forked_from"),
        ([header, changed(session, forked_from=FORKED | {"session_id": ""}), end], "forked_from.session_id"),
        ([header, changed(session, forked_from=FORKED | {"uid": 1}), end], "forked_from.uid"),
        ([header, changed(session, forked_from=FORKED | {"at_seq": -1}), end], "forked_from.at_seq"),
        ([header, changed(session, forked_from=FORKED | {"at_seq": True}), end], "forked_from.at_seq"),
        ([header, changed(session, forked_from=FORKED | {"at_log_version": 1 << 63}), end], "forked_from.at_log_version"),
        (
            [header, changed(session, forked_from={"session_id": "o", "uid": "u", "at_seq": 1}), end],
            "forked_from.at_log_version",
        ),
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


CHANGES = [
    WindowChange("suffix", archived=("e1", "é"), placed=(Placed("e2", "e9"), Placed("e3")), branch="", erase=True),
    WindowChange("compaction", archived=("e1",), strategy="s", actor="a"),
    WindowChange("erasure", archived=("e1",), erased=("e1", "e0")),
    WindowChange("rewind", archived=("e1",), changes=3, through_seq=0, erase=True),
    WindowChange("none"),
]


def test_changes_of_windows_and_state_survive() -> None:
    event = stored(user("x", event_id="e2"), 1)
    event.erased = True
    lines = [event_line("s", event, placed=True), *(window_line("s", change) for change in CHANGES)]
    lines.append(state_line("user", SessionRef(app="a", user_id="u"), 3, {"k": "1e400"}))
    start, item, *windows, state = read(header_line(), session_line(SESSION), *lines, end_line(1, 1))
    assert isinstance(start, SessionStart)
    assert isinstance(item, EventItem)
    assert (start.window_changed, item.placed, item.event.message.parts[-1].text) == (False, True, "(erased 1)")
    assert [each.change for each in windows if isinstance(each, WindowItem)] == CHANGES
    assert isinstance(state, StateItem)
    assert (state.ref, dict(state.values)) == (SessionRef(app="a", user_id="u"), {"k": "1e400"})


def test_the_origin_and_the_context_size_of_a_session_survive() -> None:
    origin = SessionParent(session=SessionRef(session_id="o"), uid="u", at_seq=(1 << 63) - 1, at_log_version=2)
    session = Session(ref=SESSION.ref, context_bytes=1 << 40, parent=origin)
    (start,) = read(header_line(), session_line(session), end_line(1, 0))
    assert isinstance(start, SessionStart)
    assert start.session == session


def window(how: str, archived: str = "", erased: str = "", placed: str = "") -> str:
    """A line of version 2."""
    inserted = [{"event_id": each, "before": None} for each in placed.split()]
    fields = {"archived": archived.split(), "erased": erased.split(), "placed": inserted}
    return json.dumps({"type": "window", "session": "s", "how": how, **fields}) + "\n"


@pytest.mark.parametrize(
    ("lines", "calls"),
    [
        ([window("clear", "a b", "a")], ["clear a b", "erasure a"]),
        ([window("compaction", "a b", "a b")], ["compaction a b", "erasure a b"]),
        ([window("suffix", "a b", "a b")], ["suffix a b!"]),
        ([window("suffix", "a b", "a")], ["suffix a b", "erasure a"]),
        ([window("erasure", "a", "a")], ["erasure a"]),
        ([window("upsert", "a", "a", placed="a")], ["upsert a!"]),
        # The earlier version is erased once the later one is gone too.
        ([window("suffix", "a b", "a", placed="a"), window("suffix", "a", "a")], ["suffix a b", "suffix a!", "erasure a"]),
    ],
)
def test_lines_of_version_2_are_one_or_more_calls(lines: list[str], calls: list[str]) -> None:
    header = header_line().replace(f'"version":{VERSION}', '"version":2')
    found = read(header, session_line(SESSION), *lines, end_line(1, 0))[1:]
    changes = [each.change for each in found if isinstance(each, WindowItem)]
    assert [f"{each.how} {' '.join(each.archived)}{'!' if each.erase else ''}" for each in changes] == calls
    assert all(each.erased == (each.archived if each.how == "erasure" else ()) for each in changes)


def test_older_files_are_read_and_newer_ones_refused() -> None:
    def of_version(number: int) -> list[Item]:
        return read(header_line().replace(f'"version":{VERSION}', f'"version":{number}'), session_line(SESSION), end_line(1, 0))

    for number in range(1, VERSION + 1):
        assert [type(each) for each in of_version(number)] == [SessionStart]
    (refused,) = of_version(VERSION + 1)
    assert isinstance(refused, Malformed)
    assert "a newer threadkeep can read it" in refused.problem


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ({"type": "window", "session": "other", "how": "clear"}, "session"),
        ({"type": "window", "session": "s", "how": "?"}, "how"),
        ({"type": "window", "session": "s", "how": "clear", "archived": "e1"}, "archived"),
        ({"type": "window", "session": "s", "how": "clear", "placed": [1]}, "placed"),
        ({"type": "window", "session": "s", "how": "rewind", "changes": 1, "through_seq": 0}, "changes"),
        ({"type": "window", "session": "s", "how": "rewind", "changes": 0}, "through_seq"),
        ({"type": "state", "scope": "tenant", "values": {}}, "scope"),
        ({"type": "state", "scope": "app", "values": {"k": 1}}, "values"),
    ],
)
def test_a_wrong_line_is_reported_with_its_field(line: dict[str, Any], field: str) -> None:
    problem = read(header_line(), session_line(SESSION), json.dumps(line) + "\n", end_line(1, 0))[1]
    assert isinstance(problem, Malformed)
    assert problem.field == field
