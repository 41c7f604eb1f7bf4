"""Schema 5: text parts in the old form are migrated to the current encoding."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection

from tests.migration.old_form import field, old_event, old_message
from tests.support.clock import NOW
from tests.support.codec import CODEC, as_draft, draft, event
from tests.support.memories import memory, remember
from tests.support.runs.thoroughness import with_long
from tests.support.sessions import append, compact, placed, ref, session_with
from threadkeep.v1 import event_pb2, message_pb2
from threadkeep_server.domain.model import EventDraft, Role
from threadkeep_server.store.sql.engine.base import SqlOptions
from threadkeep_server.store.sql.engine.factory import open_engine
from threadkeep_server.store.sql.schema import versions
from threadkeep_server.store.sql.schema.memories import memories
from threadkeep_server.store.sql.schema.migrations import plain_text, rewriting
from threadkeep_server.store.sql.schema.tables import changes, compactions, events, sessions
from threadkeep_server.store.sql.store import SqlStore, open_store

# Unknown fields, as of a newer writer: a number, bytes, and a group with a field 1.
_UNKNOWN = st.sampled_from([b"", field(77, b"x"), b"\xf8\x06\x05", b"\xfb\x06" + field(1, field(1, b"no")) + b"\xfc\x06"])
_TEXTS = st.text(max_size=200) | st.just("\n\x05hello") | st.text(alphabet="ab", min_size=120, max_size=135)


def _with(message: Any, unknown: bytes) -> Any:
    message.MergeFromString(unknown)
    return message


def _result(parts: list[message_pb2.Part], text: str) -> message_pb2.Part:
    result = message_pb2.ToolResultPart(call_id="c1", name="f", parts=parts, structured_json=text, is_error=bool(text))
    return message_pb2.Part(tool_result=result)


_PLAIN = (
    st.builds(lambda text, more: _with(message_pb2.Part(text=text), more), _TEXTS, _UNKNOWN)
    | st.builds(lambda text: message_pb2.Part(reasoning=message_pb2.ReasoningPart(text=text, signature=b"\x0a\x03abc")), _TEXTS)
    | st.builds(lambda text: message_pb2.Part(tool_call=message_pb2.ToolCallPart(id="c1", arguments_json=text)), _TEXTS)
    | st.builds(lambda text: message_pb2.Part(data=message_pb2.DataPart(type="t", json=text)), _TEXTS)
    | st.builds(lambda more: _with(message_pb2.Part(), more), _UNKNOWN)
)
_PARTS = st.recursive(_PLAIN, lambda inner: st.builds(_result, st.lists(inner, max_size=4), _TEXTS), max_leaves=8)
_MESSAGES = st.builds(
    lambda parts, more: _with(message_pb2.ChatMessage(role=message_pb2.ROLE_USER, parts=parts), more),
    st.lists(_PARTS, max_size=5),
    _UNKNOWN,
)


@st.composite
def _events(draw: st.DrawFn) -> event_pb2.SessionEvent:
    made = event_pb2.SessionEvent(event_id=draw(st.text(min_size=1, max_size=20)), message=draw(_MESSAGES))
    made.author, made.metadata_json = draw(st.sampled_from(["", "me"])), draw(st.sampled_from(["", '{"a": 1.0}']))
    if draw(st.booleans()):
        made.native.format, made.native.content = "f/1", field(1, field(1, b"native stays"))
    return _with(made, draw(_UNKNOWN))


def _sealed(body: bytes, *, seq: int) -> bytes:
    return CODEC.seal(EventDraft("e", body, Role.USER, token_estimate=7), seq, NOW)


@given(_events(), st.integers(1, 1 << 40))
def test_an_event_in_the_old_form_is_migrated_to_the_current_form(event: event_pb2.SessionEvent, seq: int) -> None:
    old, new = old_event(event), event.SerializeToString()
    assert plain_text.event(_sealed(old, seq=seq), len(old)) == (_sealed(new, seq=seq), len(new))


@given(_MESSAGES)
def test_a_message_in_the_old_form_is_migrated_to_the_current_form(message: message_pb2.ChatMessage) -> None:
    assert plain_text.message(old_message(message)) == message.SerializeToString()


@pytest.mark.parametrize("bad", [b"\x0a", b"\x12\x05ab", b"\x12\x02\x0a\x09", b"\x0f", b"\xff" * 11])
def test_an_invalid_encoding_is_rejected(bad: bytes) -> None:
    with pytest.raises(ValueError, match=r"ends inside|wire type"):
        plain_text.message(bad)


# databases


def _events_of(number: int) -> list[EventDraft]:
    """An event of each kind; the numbered one is long enough for its lengths to need fewer bytes than before."""
    inner = message_pb2.Part(tool_result=message_pb2.ToolResultPart(call_id="c1", parts=[message_pb2.Part(text="found")]))
    return [
        draft("x" * (60 + number), event_id=f"u{number}"),
        draft("", event_id=f"empty{number}"),
        draft(None, event_id=f"t{number}", role=Role.TOOL, parts=[inner]),
        draft(None, event_id=f"none{number}", role=Role.ASSISTANT),
    ]


def _aged(body: EventDraft, *, old: bool) -> EventDraft:
    if old:
        made = as_draft(event_pb2.SessionEvent.FromString(body.body))
        made.body = old_event(event_pb2.SessionEvent.FromString(body.body))
        return made
    return body


async def _fill(store: SqlStore, *, old: bool) -> None:
    """Writes the same sessions with the old or the current encoding."""
    for session in ("s1", "s2"):
        await session_with(store, session_id=session)
    for number in range(20):
        await append(store, *(_aged(each, old=old) for each in _events_of(number)), to=ref(f"s{number % 2 + 1}"))
    summary = event("sum", event_id="sum", role=Role.ASSISTANT, synthetic=True)
    inserted = placed("u2", _aged(as_draft(summary), old=old))
    await compact(store, ["u0", "t0"], inserted, compaction_id="c1")
    for number in range(20, 24):
        await append(store, *(_aged(each, old=old) for each in _events_of(number)), to=ref("s1"))
    await remember(store, memory("tea", id="m1"), memory("é" * 70, id="m2"))


async def _rows(store: SqlStore) -> dict[str, list[dict[str, Any]]]:
    """Returns everything that schema 5 rewrites, without times and historic values."""
    kept = {
        sessions: (sessions.c.session_id, sessions.c.window_bytes),
        events: (events.c.id, events.c.event_id, events.c.archived, events.c.size, events.c.body),
        changes: (changes.c.id, changes.c.kind, changes.c.size, changes.c.window_version, changes.c.window_bytes),
        memories: (memories.c.memory_id, memories.c.content, memories.c.text),
    }

    def read(connection: Connection) -> dict[str, list[dict[str, Any]]]:
        return {
            table.name: [dict(row._mapping) for row in connection.execute(sa.select(*columns).order_by(columns[0]))]
            for table, columns in kept.items()
        }

    return await store._engine.read(read)


def _make_old(connection: Connection) -> None:
    """The service makes memories of messages; this converts them back to the form of schema 4."""
    for row in connection.execute(sa.select(memories.c.id, memories.c.content)).all():
        content = old_message(message_pb2.ChatMessage.FromString(row.content))
        connection.execute(memories.update().where(memories.c.id == row.id).values(content=content))


def _downgrade(connection: Connection) -> None:
    for name, columns in {"sessions_user": "tenant, user_id, id", "sessions_app": "tenant, app, id"}.items():
        connection.exec_driver_sql(f"DROP INDEX {name}")
        connection.exec_driver_sql(f"CREATE INDEX {name} ON sessions ({columns})")
    connection.exec_driver_sql("DROP INDEX sessions_created")
    for table in (
        "removals",
        "archivings",
        "listed_events",
        "erasures",
        "erased_ids",
        "tenant_keys",
        "window_changes",
        "memory_prefixes",
        "operations",
        "erased_events",
        "superseded_events",
        "log_erasures",
        "shared_states",
        "state_totals",
        "state_values",
        "past_values",
        "past_archivings",
        "unfinished_forks",
        "servers",
    ):
        connection.exec_driver_sql(f"DROP TABLE {table}")
    of_sessions = ("sessions_active", "sessions_active_user", "sessions_active_app", "sessions_forks")
    for index in (*of_sessions, "events_all_leads", "events_counted", "events_branch"):
        connection.exec_driver_sql(f"DROP INDEX {index}")
    for index in ("memories_namespace", "memories_expiry"):
        connection.exec_driver_sql(f"DROP INDEX {index}")
    parents = (f"parent_{column}" for column in ("session_id", "uid", "seq", "log_version"))
    for column in ("active_minute", "window_content", "moved_xid", "moved_change", *parents):
        connection.exec_driver_sql(f"ALTER TABLE sessions DROP COLUMN {column}")
    for column in ("added_version", "archived_version", "counters"):
        connection.exec_driver_sql(f"ALTER TABLE events DROP COLUMN {column}")
    for column in ("namespace", "update_time", "ttl", "expire_time"):
        connection.exec_driver_sql(f"ALTER TABLE memories DROP COLUMN {column}")
    for table in ("changes", "parked_changes"):
        connection.exec_driver_sql(f"ALTER TABLE {table} DROP COLUMN state")
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("DROP FUNCTION threadkeep_append, threadkeep_append_with_state")
    connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0004'")
    connection.exec_driver_sql("UPDATE threadkeep_meta SET value = '4' WHERE key = 'schema_version'")
    connection.exec_driver_sql("UPDATE threadkeep_meta SET value = '3' WHERE key = 'oldest_code'")
    _make_old(connection)


# In several slices on each engine; in a single one on PostgreSQL in the long form alone.
AT_ONCE = with_long(
    [("sqlite", 3), ("sqlite", 1000), pytest.param("postgresql", 3, marks=pytest.mark.postgres)],
    pytest.param("postgresql", 1000, marks=pytest.mark.postgres),
)


@pytest.mark.parametrize(("empty_url", "at_once"), AT_ONCE, indirect=["empty_url"])
async def test_a_database_of_schema_4_is_migrated_to_current_contents(
    empty_url: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, at_once: int
) -> None:
    monkeypatch.setattr(rewriting, "ROWS_AT_ONCE", at_once)
    monkeypatch.setattr(rewriting, "BYTES_AT_ONCE", at_once * 100)
    monkeypatch.setattr(rewriting, "REPORT_EVERY_S", 0)
    async with open_store(empty_url, CODEC) as store:
        await _fill(store, old=True)
        await store._engine.write(_downgrade)
    async with open_store(f"sqlite:///{tmp_path}/today.db", CODEC) as store:
        await _fill(store, old=False)
        today = await _rows(store)
    caplog.set_level("INFO")
    async with open_store(empty_url, CODEC) as store:
        migrated = await _rows(store)
        replayed = await append(store, _events_of(3)[0], to=ref("s2"))
    assert [event.replayed for event in replayed.events] == [True]
    assert "migrating: rewriting events, row id" in caplog.text
    for table in ("sessions", "events", "memories"):
        assert migrated[table] == today[table]
    _compare_changes(migrated["changes"], today["changes"])


def _compare_changes(migrated: list[dict[str, Any]], today: list[dict[str, Any]]) -> None:
    """The window counters before a compaction keep their values: the events of that window are not recorded."""
    past = 0
    for one, other in zip(migrated, today, strict=True):
        if one["window_version"] == 0 and one["window_bytes"] > other["window_bytes"]:
            past += 1
            one["window_bytes"] = other["window_bytes"]
        assert one == other
    assert past == 10, "the appends to the session that was compacted"


async def test_an_unreadable_row_is_kept_and_the_rest_is_migrated(empty_url: str, caplog: pytest.LogCaptureFixture) -> None:
    async with open_store(empty_url, CODEC) as store:
        await session_with(store, _aged(draft("hello", event_id="e1"), old=True), draft(None, event_id="bad"))

        def spoil(connection: Connection) -> None:
            _downgrade(connection)
            connection.execute(events.update().where(events.c.event_id == "bad").values(body=b"\x1a\x05\x12", size=3))

        await store._engine.write(spoil)
    engine = open_engine(empty_url, SqlOptions())
    try:
        await versions.prepare(engine)
        query = sa.select(events.c.body).order_by(events.c.id)
        bodies = await engine.read(lambda connection: connection.execute(query).scalars().all())
        assert await engine.read(lambda connection: connection.execute(sa.select(compactions)).all()) == []
    finally:
        await engine.aclose()
    assert (CODEC.text(bodies[0]), bodies[1]) == ("hello", b"\x1a\x05\x12")
    assert "row 2 is not valid and stays as it is" in caplog.text
