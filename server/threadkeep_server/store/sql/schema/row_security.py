"""Row-level security of PostgreSQL: a second wall between tenants, behind the conditions of the statements.

A unit of work for one tenant restricts its transaction to the rows of that tenant. The server's own work, such as following the
feed, concerns all tenants and is not restricted; nor are servers with the setting off and migrations. Derived tables have no
policies: they would keep PostgreSQL from using the search indexes, and searches return text from `events` and `memories` only.
"""

from __future__ import annotations

from collections.abc import Collection

import sqlalchemy as sa
from sqlalchemy import Connection, Table

from .encryption import tenant_keys
from .erasures import erased_ids, erasures
from .history import past_archivings, window_changes
from .memories import memories, memory_prefixes, memory_tombstones
from .removals import erased_events, log_erasures, operations, superseded_events
from .state import past_values, shared_states, state_totals, state_values
from .tables import (
    changes,
    compactions,
    consumer_members,
    consumer_partitions,
    consumers,
    events,
    parked_changes,
    policies,
    session_labels,
    sessions,
)

TENANTS = "threadkeep.tenants"
"""The parameter of PostgreSQL with the tenants that a transaction may see, as an array. Not set: all."""

_POLICY = "threadkeep_tenant"
# In a sub-select it is evaluated once per statement, and not once per row. PostgreSQL leaves an empty value after a transaction
# that set it.
_VALUE = f"(SELECT nullif(current_setting('{TENANTS}', true), '')::text[])"
_OWN = f"tenant = ANY ({_VALUE}::text[])"


class RowSecurityBypassed(RuntimeError):
    """The database's user is exempt from row-level security."""


def tenants_value(tenants: Collection[str]) -> str:
    """Returns the value of TENANTS that permits these."""
    quoted = (tenant.replace("\\", "\\\\").replace('"', '\\"') for tenant in sorted(tenants))
    return "{" + ",".join(f'"{each}"' for each in quoted) + "}"


def _of(table: Table, column: str) -> str:
    """Rows that belong to a row of another table, which has a policy of its own. `column`: its id."""
    return f"EXISTS (SELECT FROM {table.name} AS owner WHERE owner.id = {column})"


def _of_owner(table: str) -> str:
    """Rows of state: see schema.state."""
    return f"{_of(sessions, f'{table}.owner')} OR {_of(shared_states, f'-{table}.owner')}"


def conditions() -> dict[Table, str]:
    """Returns the condition of the rows that a transaction may see and write, by table."""
    of_memories = (memories, memory_prefixes, memory_tombstones)
    own = dict.fromkeys((sessions, consumers, policies, *of_memories, erasures, tenant_keys, shared_states), _OWN)
    logs = (session_labels, events, compactions, window_changes, past_archivings)
    parts = (*logs, operations, superseded_events, erased_events, log_erasures)
    of_session = {table: _of(sessions, f"{table.name}.session") for table in parts}
    members = (consumer_members, consumer_partitions, parked_changes)
    of_consumer = {table: _of(consumers, f"{table.name}.consumer") for table in members}
    of_owner = {table: _of_owner(table.name) for table in (state_totals, state_values, past_values)}
    # A change names the tenant only if its session is deleted, or if it has none.
    of_erasure = {erased_ids: _of(erasures, "erased_ids.erasure")}
    return own | of_session | of_consumer | of_owner | of_erasure | {changes: f"{_OWN} OR {_of(sessions, 'changes.session')}"}


def secure(connection: Connection) -> None:
    """Creates the policies that do not exist. Raises RowSecurityBypassed."""
    exempt = "SELECT rolname FROM pg_roles WHERE rolname = current_user AND (rolsuper OR rolbypassrls)"
    user = connection.exec_driver_sql(exempt).scalar()
    if user is not None:
        raise RowSecurityBypassed(
            f"row-level security does not bind the database's user {user}: connect as one without SUPERUSER and BYPASSRLS, or "
            "set row_security = false"
        )
    known = sa.text("SELECT tablename FROM pg_policies WHERE policyname = :name AND schemaname = current_schema()")
    done = set(connection.execute(known, {"name": _POLICY}).scalars())
    for table, condition in conditions().items():
        if table.name not in done:
            allowed = f"{_VALUE} IS NULL OR {condition}"
            connection.exec_driver_sql(f"CREATE POLICY {_POLICY} ON {table.name} USING ({allowed}) WITH CHECK ({allowed})")
            connection.exec_driver_sql(f"ALTER TABLE {table.name} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY")
