"""State that was stored before its tenant was to be encrypted: what the Encrypter reads and writes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import Connection, Row, Select, Table

from ..schema.state import past_values, shared_states, state_values
from ..schema.tables import changes, parked_changes, sessions
from .codec import StoredCodec
from .vault import is_encrypted


@dataclass(frozen=True)
class StateColumn:
    """A column of state. `owner`: the column with the id of a session, or the negative id of a row of shared_states."""

    table: Table
    name: str
    owner: str

    def rows(self) -> Select[Any]:
        """Selects the id, the column as `body` and the tenant of the rows that have it."""
        id_, body, owner = (self.table.c[name] for name in ("id", self.name, self.owner))
        joined = self.table.outerjoin(sessions, sessions.c.id == owner).outerjoin(shared_states, shared_states.c.id == -owner)
        tenant = sa.func.coalesce(sessions.c.tenant, shared_states.c.tenant).label("tenant")
        # Without a tenant, the session or the user is gone: the row waits for its removal.
        known = sa.or_(sessions.c.id.is_not(None), shared_states.c.id.is_not(None))
        return sa.select(id_, body.label("body"), tenant).select_from(joined).where(body.is_not(None), known)

    def write(self, connection: Connection, codec: StoredCodec, rows: Sequence[Row[Any]]) -> None:
        """Encrypts the rows that are as they were read: others have been replaced by encrypted values."""
        column = self.table.c[self.name]
        for row in rows:
            if not is_encrypted(row.body):
                same = (self.table.c.id == row.id, column == row.body)
                connection.execute(self.table.update().where(*same).values({self.name: codec.encrypt(row.tenant, row.body)}))


STATE_COLUMNS: Final = (
    StateColumn(state_values, "value", "owner"),
    StateColumn(past_values, "value", "owner"),
    StateColumn(changes, "state", "session"),
    StateColumn(parked_changes, "state", "session"),
)
