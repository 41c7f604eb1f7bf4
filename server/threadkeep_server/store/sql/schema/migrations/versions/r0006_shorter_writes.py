"""A stored function of PostgreSQL appends a group in one round trip. Events of deleted sessions wait for their removal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_BIGINT, _TEXT, _SMALLINT, _BOOLEAN, _BYTES = "bigint", "text", "smallint", "boolean", "bytea"
_COUNTERS = ("window_events", "window_turns", "window_bytes", "window_tokens")
_HEAD = ("log_version", "last_seq", "update_time", *_COUNTERS)
_USAGE = ("usage_input", "usage_output", "usage_total", "usage_cached", "usage_reasoning")
_EVENT = {
    "session": _BIGINT,
    "seq": _BIGINT,
    "position": _BIGINT,
    "event_id": _TEXT,
    "time": _BIGINT,
    "role": _SMALLINT,
    "author": _TEXT,
    "author_role": _TEXT,
    "branch": _TEXT,
    "synthetic": _BOOLEAN,
    "turn_start": _BOOLEAN,
    "archived": _BOOLEAN,
    "size": _BIGINT,
    "tokens": _BIGINT,
    "body": _BYTES,
    "content_bytes": _BIGINT,
    "tools": _SMALLINT,
}
_CHANGE = {
    "kind": _SMALLINT,
    **dict.fromkeys(("session", "time", "first", "last", "size", "log_version", "window_version", "last_seq"), _BIGINT),
    **dict.fromkeys(_COUNTERS, _BIGINT),
}


def _columns(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _arrays(prefix: str, names: Iterable[str]) -> str:
    return ", ".join(f"{prefix}_{name}" for name in names)


def _parameters(event: Mapping[str, str]) -> str:
    typed = {"locks": _BIGINT, "new_session": _BIGINT, "new_event_id": _TEXT}
    typed |= dict.fromkeys(("old_window_version", "old_log_version"), _BIGINT)
    typed |= {f"h_{name}": _BIGINT for name in ("id", *_HEAD)}
    typed |= {f"u_{name}": _BIGINT for name in ("id", *_USAGE)}
    typed |= {f"e_{name}": kind for name, kind in event.items()}
    typed |= {f"c_{name}": kind for name, kind in _CHANGE.items()}
    return ", ".join(f"{name} {kind}[]" for name, kind in typed.items())


def _insert(table: str, prefix: str, names: Iterable[str]) -> str:
    """Returns the statement that inserts rows in their order, in which the ids ascend."""
    columns = _columns(names)
    rows = f"unnest({_arrays(prefix, names)}) WITH ORDINALITY AS new ({columns}, place)"
    return f"INSERT INTO {table} ({columns}) SELECT {columns} FROM {rows} ORDER BY place"  # noqa: S608 - constants


def function(added: Mapping[str, str]) -> str:
    """Returns the statement that creates the function. `added`: columns that events got later, with their types.

    Its statements see what committed before the locks were acquired, because each has a snapshot of its own. The settings make
    every plan look rows up by the indexes: the planner cannot know how long the arrays are."""
    event = {**_EVENT, **added}
    return f"""
CREATE FUNCTION threadkeep_append({_parameters(event)}) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
AS $function$
BEGIN
    PERFORM pg_advisory_xact_lock(key) FROM unnest(locks) AS key;
    IF (SELECT count(*) FROM (
        SELECT 1 FROM unnest(h_id, old_window_version, old_log_version) AS old (id, window_version, log_version)
        JOIN sessions AS s
        ON s.id = old.id AND s.window_version = old.window_version AND s.log_version = old.log_version
        ORDER BY s.id FOR UPDATE OF s
    ) AS unchanged) <> cardinality(h_id) THEN
        RETURN false;
    END IF;
    IF EXISTS (
        SELECT 1 FROM unnest(new_session, new_event_id) AS new (session, event_id)
        JOIN events AS e ON e.session = new.session AND e.event_id = new.event_id
    ) THEN
        RETURN false;
    END IF;
    {_insert("events", "e", event)};
    UPDATE sessions AS s
    SET {", ".join(f"{name} = new.{name}" for name in _HEAD if name != "update_time")},
        update_time = greatest(s.update_time, new.update_time)
    FROM unnest({_arrays("h", ("id", *_HEAD))}) AS new (id, {_columns(_HEAD)})
    WHERE s.id = new.id;
    IF cardinality(u_id) > 0 THEN
        UPDATE sessions AS s SET {", ".join(f"{name} = s.{name} + added.{name}" for name in _USAGE)}
        FROM unnest({_arrays("u", ("id", *_USAGE))}) AS added (id, {_columns(_USAGE)})
        WHERE s.id = added.id;
    END IF;
    {_insert("changes", "c", _CHANGE)};
    RETURN true;
END $function$
"""  # noqa: S608 - constants


def upgrade() -> None:
    op.create_table("removals", sa.Column("session", sa.BigInteger(), primary_key=True, autoincrement=False))
    if op.get_bind().dialect.name == "postgresql":
        op.execute(function({}))
