"""A database of the first schema. Rows are written by SQL alone, so that later code cannot change them.

Do not edit the inserted data: such databases exist.
"""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection

import threadkeep_server.store.sql as sql_package

FIRST = "0001"
STORE_ID = "00000000-0000-4000-8000-000000000001"

SESSION_COLUMNS = (
    "id, tenant, app, user_id, session_id, uid, create_time, update_time, expire_time, metadata_json, labels_json, log_version,"
    "window_version, last_seq, window_events, window_turns, window_bytes, window_tokens,"
    "usage_input, usage_output, usage_total, usage_cached, usage_reasoning"
)
SESSIONS = (
    (1, "default", "shop", "alice", "s1", "u-1", 1_700_000_000_000_000_001, 1_700_000_300_000_000_003, None,
     b'{"topic": "shoes"}', b'{"tier": "gold"}', 2, 0, 3, 3, 1, 177, 19, 5, 7, 12, 0, 0),
    (2, "default", "shop", "bob", "s2", "u-2", 1_700_000_001_000_000_000, 1_700_000_001_000_000_000,
     4_000_000_000_000_000_000, b"", b"{}", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
)  # fmt: skip

EVENT_COLUMNS = (
    "id, session, seq, position, event_id, time, role, author, author_role, branch, synthetic, turn_start, archived, size,"
    "tokens, body"
)
# Bodies as stored: the caller's SessionEvent, then the fields of the server. Each is (size of the caller's, hex).
BODIES = {
    "e1": (
        41,
        "0a0265311a230801121f0a1d0a1b446f20796f752068617665205245442073686f65733f20f09f98801001420608e4e2cfaa06800106880129",
    ),
    "e2": (
        96,
        (
            "0a0265321a4a0802121e0a1c0a1a53747261c39f6520352c203130302520776f6f6c5f736f636b7312261a240a026331120466696e641a"
            "0866756e6374696f6e220e7b2273697a65223a2034322e307d220673656c6c65723a0608c8e3cfaa061002420608c8e3cfaa0680010788"
            "0160"
        ),
    ),
    "e3": (
        40,
        "0a0265331a0d080212090a070a056e6f7465642205636c65726b320c73656c6c65722e636c65726b1003420608ace4cfaa06800102880128",
    ),
}
# The same bodies in schema 5, where the text of a part is a plain string.
PLAIN_BODIES = {
    "e1": (
        39,
        "0a0265311a210801121d0a1b446f20796f752068617665205245442073686f65733f20f09f98801001420608e4e2cfaa06800106880127",
    ),
    "e2": (
        94,
        (
            "0a0265321a480802121c0a1a53747261c39f6520352c203130302520776f6f6c5f736f636b7312261a240a026331120466696e641a08"
            "66756e6374696f6e220e7b2273697a65223a2034322e307d220673656c6c65723a0608c8e3cfaa061002420608c8e3cfaa0680010788015e"
        ),
    ),
    "e3": (
        38,
        "0a0265331a0b080212070a056e6f7465642205636c65726b320c73656c6c65722e636c65726b1003420608ace4cfaa06800102880126",
    ),
}
TEXTS = {"e1": "Do you have RED shoes? \U0001f600", "e2": "Straße 5, 100% wool_socks", "e3": "noted"}


def _event(id_: int, event_id: str, role: int, *, author: str = "", branch: str = "") -> tuple[object, ...]:
    size, body = BODIES[event_id]
    time = 1_700_000_000_000_000_000 + id_ * 100_000_000_000
    turn_start = role == 1 and not branch
    place = (id_, 1, id_, id_ << 20, event_id, time, role)
    return (*place, author, "", branch, False, turn_start, False, size, 3, bytes.fromhex(body))


EVENTS = (_event(1, "e1", 1), _event(2, "e2", 2, author="seller"), _event(3, "e3", 2, author="clerk", branch="seller.clerk"))


def build(connection: Connection) -> None:
    """Creates the first schema with its data in an empty database."""
    migrate(connection, FIRST)
    meta = (("schema_version", "1"), ("oldest_code", "1"), ("store_id", STORE_ID))
    _insert(connection, "threadkeep_meta", '"key", "value"', meta)
    _insert(connection, "sessions", SESSION_COLUMNS, SESSIONS)
    _insert(connection, "session_labels", 'session, "key", "value"', ((1, "tier", "gold"),))
    _insert(connection, "events", EVENT_COLUMNS, EVENTS)
    changes = ((1, 1, 1, 1_700_000_100_000_000_000, 1, 2), (2, 1, 1, 1_700_000_300_000_000_003, 3, 3))
    _insert(connection, "changes", 'id, kind, session, "time", "first", "last"', changes)
    if connection.dialect.name == "postgresql":
        for table in ("sessions", "events", "changes"):
            connection.exec_driver_sql(f"SELECT setval('{table}_id_seq', (SELECT max(id) FROM {table}))")


def upgrade(connection: Connection, version: int) -> None:
    """Migrates the database to a later schema."""
    migrate(connection, f"{version:04}")
    for key in ("schema_version", "oldest_code"):
        connection.exec_driver_sql(f"UPDATE threadkeep_meta SET value = '{version}' WHERE key = '{key}'")


def migrate(connection: Connection, revision: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(sql_package.__path__[0]) / "schema" / "migrations"))
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


def _insert(connection: Connection, table: str, columns: str, rows: tuple[tuple[object, ...], ...]) -> None:
    names = [f"p{n}" for n in range(len(rows[0]))]
    statement = sa.text(f"INSERT INTO {table} ({columns}) VALUES ({', '.join(':' + name for name in names)})")
    connection.execute(statement, [dict(zip(names, row, strict=True)) for row in rows])
