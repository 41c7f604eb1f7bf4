"""Verification finds nothing in a sound database, and each kind of damage in a damaged one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from sqlalchemy import Connection

from threadkeep_server.store.sql.engine.base import SqlOptions
from threadkeep_server.store.sql.engine.factory import open_engine
from threadkeep_server.store.sql.verification.findings import Verified
from threadkeep_server.store.sql.verification.verify import verify
from threadkeep_server.transport.wire.stated import READERS

from .conftest import Command

_ONE_EVENT = "id = (SELECT max(id) FROM events WHERE NOT archived AND tools <> 8)"
_ONE_SESSION = "id = (SELECT session FROM events WHERE id = (SELECT max(id) FROM events WHERE NOT archived))"
# What is done to a database, and the kinds of findings that must name it.
DAMAGE = {
    "an event is gone": (f"DELETE FROM events WHERE {_ONE_EVENT}", {"seq", "counters"}),
    "an event has another seq": (f"UPDATE events SET seq = seq + 1000 WHERE {_ONE_EVENT}", {"seq", "position", "event"}),
    "an event is archived by nothing": (f"UPDATE events SET archived = true WHERE {_ONE_EVENT}", {"counters"}),
    "the content of an event is cut off": (f"UPDATE events SET body = substr(body, 1, 5) WHERE {_ONE_EVENT}", {"event"}),
    "the content of an event is of another one": (
        f"UPDATE events SET body = (SELECT body FROM events WHERE id = 1) WHERE {_ONE_EVENT}",
        {"event"},
    ),
    "an event has another author": (f"UPDATE events SET author = 'eve' WHERE {_ONE_EVENT}", {"event"}),
    "a counter is wrong": (f"UPDATE sessions SET window_tokens = window_tokens + 1 WHERE {_ONE_SESSION}", {"counters", "feed"}),
    "the content of a window is miscounted": (
        f"UPDATE sessions SET window_content = window_content + 1 WHERE {_ONE_SESSION}",
        {"counters"},
    ),
    "a session is gone": (f"DELETE FROM sessions WHERE {_ONE_SESSION}", {"orphan", "feed"}),
    "a session is older than its events": (f"UPDATE sessions SET log_version = 0 WHERE {_ONE_SESSION}", {"versions", "feed"}),
    "a label is gone": ("DELETE FROM session_labels", {"labels"}),
    "a compaction is of the future": ("UPDATE compactions SET log_version = 1000000", {"versions"}),
    "an outcome is unreadable": ("UPDATE operations SET outcome = substr(outcome, 2)", {"operation"}),
    "an outcome is of the future": (
        "UPDATE operations SET session = (SELECT min(id) FROM sessions WHERE last_seq = 0)",
        {"operation"},
    ),
    "an append has left the feed": (
        "DELETE FROM changes WHERE id = (SELECT max(id) FROM changes WHERE kind = 1 AND session IN (SELECT id FROM sessions))",
        {"feed"},
    ),
    "the feed begins twice": ("INSERT INTO feed_floor (one, xid, change) VALUES (2, 0, 0)", {"feed"}),
    "the feed begins after changes": ("UPDATE feed_floor SET xid = 1000000000, change = 1000000000", {"feed"}),
    "a consumer is past the end": ("UPDATE consumer_partitions SET xid = 1000000000, change = 1000000000", {"consumer"}),
    "a consumer lacks a partition": ("DELETE FROM consumer_partitions WHERE number = 0", {"consumer"}),
    "incarnations are unreadable": ("UPDATE threadkeep_meta SET value = '?' WHERE key = 'incarnations'", {"feed"}),
    "totals of state are wrong": ("UPDATE state_totals SET bytes = bytes + 1", {"state"}),
    "a value of state is gone": ("DELETE FROM state_values", {"state"}),
    "state has no totals": ("DELETE FROM state_totals", {"state"}),
    "a memory is unreadable": ("UPDATE memories SET content = substr(content, 2, 3)", {"memory"}),
}


@pytest.fixture(scope="module")
def damaged(filled_url: str) -> Callable[[str], Verified]:
    """Verifies the database as it is with the damage, which it then loses."""
    pragmas = "PRAGMA defer_foreign_keys = ON"

    def look(sql: str) -> Verified:
        async def work() -> Verified:
            engine = open_engine(filled_url, SqlOptions(search_index=False))
            found: list[Verified] = []

            def unit(connection: Connection) -> None:
                if connection.dialect.name == "sqlite":
                    connection.exec_driver_sql(pragmas)
                assert connection.exec_driver_sql(sql).rowcount, "it damages nothing"
                found.append(verify(connection, READERS, None, lambda _: None))
                raise _Undone

            try:
                with pytest.raises(_Undone):
                    await engine.write(unit)
            finally:
                await engine.aclose()
            return found[0]

        return asyncio.run(work())

    return look


class _Undone(Exception):
    """Rolls back."""


def test_a_sound_database_has_no_findings(filled_url: str, db: Command) -> None:
    found = db("verify", "--database-url", filled_url)
    assert found["shown"] == []
    assert (found["status"], found["findings"], found["unread"]) == (0, 0, 0)
    assert found["sessions"] > 5
    assert found["events"] > 50


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_found(damaged: Callable[[str], Verified], name: str) -> None:
    sql, kinds = DAMAGE[name]
    found = damaged(sql)
    assert kinds <= set(found.findings.counts), found.findings.kept
