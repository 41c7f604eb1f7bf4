"""The feed's order on PostgreSQL: transaction ids, which each cluster counts for itself.

Those in a dump that is restored into another cluster may lie in its future: new changes would sort before old ones, and
consumers and subscribers would stand beyond everything. So the database keeps an offset to what its cluster counts. What is
stored stays as it is, and with it every position that was ever handed out.
"""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.dialects.postgresql import insert

from ..schema.tables import changes, consumer_partitions, feed_floor, meta, parked_changes

# All transactions below it have ended.
HORIZON: Final = "pg_snapshot_xmin(pg_current_snapshot())::text::bigint"
# What the statement sees was committed by transactions below it. The id of its own transaction would not do: that may have been
# given long before.
_LIMIT: Final = "pg_snapshot_xmax(pg_current_snapshot())::text::bigint"
_KEY: Final = "xid_offset"
_STORED = (changes.c.xid, feed_floor.c.xid, consumer_partitions.c.xid, parked_changes.c.change_xid)


def ordered_from(connection: Connection) -> int:
    """The offset: 0 unless the database was restored. It grows if new changes would not sort after all that is stored, so a
    server asks when it starts, before it records or reads changes. A unit of work that nobody else may run at the same time."""
    known = sa.select(meta.c.value).where(meta.c.key == _KEY)
    offset = int(connection.execute(known).scalar() or 0)
    newest = sa.func.greatest(*(sa.select(sa.func.max(xid)).scalar_subquery() for xid in _STORED))
    horizon, limit, stored = connection.execute(sa.select(sa.text(HORIZON), sa.text(_LIMIT), newest)).one()
    if stored < limit + offset:
        return offset
    # By the horizon, for what is stored to be settled at once.
    offset = int(stored) + 1 - int(horizon)
    connection.exec_driver_sql(
        f"ALTER TABLE {changes.name} ALTER COLUMN xid SET DEFAULT pg_current_xact_id()::text::bigint + {offset}"
    )
    put = insert(meta).values(key=_KEY, value=str(offset))
    connection.execute(put.on_conflict_do_update(index_elements=[meta.c.key], set_={"value": str(offset)}))
    return offset
