"""A second stored function of PostgreSQL appends groups that change the state of sessions. Older code may still run."""

from __future__ import annotations

from collections.abc import Iterable

from alembic import op

from threadkeep_server.store.sql.schema.migrations.versions.r0006_shorter_writes import Extension, arrays, function, insert

revision = "0019"
down_revision = "0018"

_TOTALS = ("owner", "version", "keys", "bytes", "past")
_VALUE = ("owner", "key", "since", "value")
_GONE = ("owner", "key")
_PAST = ("owner", "key", "since", "until", "value")
_BYTES = ("key", "value")


def _put(table: str, prefix: str, names: Iterable[str], identity: Iterable[str]) -> str:
    """Returns the statements that update rows, most of which are stored, and insert the others."""
    columns = ", ".join(names)
    changed = ", ".join(f"{name} = new.{name}" for name in names if name not in identity)
    same = " AND ".join(f"old.{name} = new.{name}" for name in identity)
    return f"""
    DECLARE updated bigint;
    BEGIN
        UPDATE {table} AS old SET {changed} FROM unnest({arrays(prefix, names)}) AS new ({columns}) WHERE {same};
        GET DIAGNOSTICS updated = ROW_COUNT;
        IF updated < cardinality({prefix}_owner) THEN
            {insert(table, prefix, names)} ON CONFLICT DO NOTHING;
        END IF;
    END;"""  # noqa: S608 - constants


# The versions of states as the caller knows them, and the rows to write, by the prefixes of their parameters.
_ROWS = {"s": ("owner", "version"), "t": _TOTALS, "v": _VALUE, "g": _GONE, "p": _PAST}
_CHECK = """
    IF EXISTS (
        SELECT 1 FROM unnest(s_owner, s_version) AS old (owner, version)
        LEFT JOIN state_totals AS t ON t.owner = old.owner
        WHERE coalesce(t.version, 0) <> old.version
    ) THEN
        RETURN false;
    END IF;"""
# An earlier value without a value is the stored one.
_WRITE = f"""
    IF cardinality(p_owner) > 0 THEN
        INSERT INTO past_values (owner, key, since, until, value)
        SELECT old.owner, old.key, old.since, old.until, coalesce(old.value, v.value)
        FROM unnest({arrays("p", _PAST)}) AS old (owner, key, since, until, value)
        LEFT JOIN state_values AS v ON v.owner = old.owner AND v.key = old.key;
    END IF;
    IF cardinality(g_owner) > 0 THEN
        DELETE FROM state_values AS v USING unnest(g_owner, g_key) AS gone (owner, key)
        WHERE v.owner = gone.owner AND v.key = gone.key;
    END IF;
    {_put("state_values", "v", _VALUE, ("owner", "key"))}
    {_put("state_totals", "t", _TOTALS, ("owner",))}"""  # noqa: S608 - constants


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        added = {"added_version": "bigint", "counters": "text"}
        typed = {f"{of}_{name}": "bytea" if name in _BYTES else "bigint" for of, names in _ROWS.items() for name in names}
        with_state = Extension("threadkeep_append_with_state", {"state": "bytea"}, typed, _CHECK, _WRITE)
        op.execute(function(added, ("window_content",), by_owner=True, extension=with_state))
