"""A stored function of PostgreSQL appends a group in one round trip. Events of deleted sessions wait for their removal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

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


class Extension(NamedTuple):
    """What another function, of this `name`, does in addition, with more parameters: columns of changes and others, with types.
    `check`: statements that return false if it must not write; `write`: those that write."""

    name: str
    change: Mapping[str, str]
    parameters: Mapping[str, str]
    check: str
    write: str


_NOTHING_ELSE = Extension("threadkeep_append", {}, {}, "", "")


def _columns(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def arrays(prefix: str, names: Iterable[str]) -> str:
    """Returns the parameters with these columns."""
    return ", ".join(f"{prefix}_{name}" for name in names)


def _parameters(event: Mapping[str, str], head: Iterable[str], owned: Mapping[str, str], extension: Extension) -> str:
    typed = {"locks": _BIGINT, "new_session": _BIGINT, "new_event_id": _TEXT}
    typed |= {**dict.fromkeys(("old_window_version", "old_log_version"), _BIGINT), **owned}
    typed |= {f"h_{name}": _BIGINT for name in ("id", *head)}
    typed |= {f"u_{name}": _BIGINT for name in ("id", *_USAGE)}
    typed |= {f"e_{name}": kind for name, kind in event.items()}
    typed |= {f"c_{name}": kind for name, kind in _CHANGE.items()}
    typed |= {**{f"c_{name}": kind for name, kind in extension.change.items()}, **extension.parameters}
    return ", ".join(f"{name} {kind}[]" for name, kind in typed.items())


def insert(table: str, prefix: str, names: Iterable[str]) -> str:
    """Returns the statement that inserts rows in their order, in which the ids ascend."""
    columns = _columns(names)
    rows = f"unnest({arrays(prefix, names)}) WITH ORDINALITY AS new ({columns}, place)"
    return f"INSERT INTO {table} ({columns}) SELECT {columns} FROM {rows} ORDER BY place"  # noqa: S608 - constants


def function(
    added: Mapping[str, str],
    counters: Iterable[str] = (),
    *,
    by_owner: bool = False,
    extension: Extension = _NOTHING_ELSE,
) -> str:
    """Returns the statement that creates the function. `added`: columns that events got later, with their types; `counters`:
    those that sessions got later. `by_owner`: sessions must have the owners that the caller knows.

    Its statements see what committed before the locks were acquired, because each has a snapshot of its own. The settings make
    every plan look rows up by the indexes: the planner cannot know how long the arrays are."""
    event, head = {**_EVENT, **added}, (*_HEAD, *counters)
    owned = {"old_user_id": _TEXT} if by_owner else {}
    known = ["window_version", "log_version", *(["user_id"] if by_owner else [])]
    same = " AND ".join(f"s.{name} = old.{name}" for name in ("id", *known))
    return f"""
CREATE FUNCTION {extension.name}({_parameters(event, head, owned, extension)}) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
AS $function$
BEGIN
    PERFORM pg_advisory_xact_lock(key) FROM unnest(locks) AS key;
    IF (SELECT count(*) FROM (
        SELECT 1 FROM unnest(h_id, {arrays("old", known)}) AS old (id, {", ".join(known)})
        JOIN sessions AS s
        ON {same}
        ORDER BY s.id FOR UPDATE OF s
    ) AS unchanged) <> cardinality(h_id) THEN
        RETURN false;
    END IF;{extension.check}
    IF EXISTS (
        SELECT 1 FROM unnest(new_session, new_event_id) AS new (session, event_id)
        JOIN events AS e ON e.session = new.session AND e.event_id = new.event_id
    ) THEN
        RETURN false;
    END IF;
    {insert("events", "e", event)};
    UPDATE sessions AS s
    SET {", ".join(f"{name} = new.{name}" for name in head if name != "update_time")},
        update_time = greatest(s.update_time, new.update_time)
    FROM unnest({arrays("h", ("id", *head))}) AS new (id, {_columns(head)})
    WHERE s.id = new.id;
    IF cardinality(u_id) > 0 THEN
        UPDATE sessions AS s SET {", ".join(f"{name} = s.{name} + added.{name}" for name in _USAGE)}
        FROM unnest({arrays("u", ("id", *_USAGE))}) AS added (id, {_columns(_USAGE)})
        WHERE s.id = added.id;
    END IF;
    {insert("changes", "c", [*_CHANGE, *extension.change])};{extension.write}
    RETURN true;
END $function$
"""  # noqa: S608 - constants


def upgrade() -> None:
    op.create_table("removals", sa.Column("session", sa.BigInteger(), primary_key=True, autoincrement=False))
    if op.get_bind().dialect.name == "postgresql":
        op.execute(function({}))
