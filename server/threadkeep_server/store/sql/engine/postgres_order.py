"""The feed's order on PostgreSQL: transaction ids, which each cluster counts separately.

The ids in a dump may be in the future of the cluster that it is restored into: new changes would sort before old ones, and
consumers and subscribers would be past the end. So the database stores an offset that is added to its cluster's ids. Stored ids
do not change, and every issued position stays valid.
"""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.dialects.postgresql import insert

from ..schema.tables import changes, consumer_partitions, feed_floor, meta, parked_changes

# All transactions below it have ended.
HORIZON: Final = "pg_snapshot_xmin(pg_current_snapshot())::text::bigint"
# The statement sees commits of transactions below it. The id of the statement's own transaction may be much older.
_LIMIT: Final = "pg_snapshot_xmax(pg_current_snapshot())::text::bigint"
_KEY: Final = "xid_offset"
_STORED = (changes.c.xid, feed_floor.c.xid, consumer_partitions.c.xid, parked_changes.c.change_xid)


def ordered_from(connection: Connection) -> int:
    """Returns the offset: 0 unless the database was restored.

    Increases it if new changes would not sort after all stored ones. So a server calls this at its start, before it records or
    reads changes. A unit of work; no two servers may run it at once.
    """
    known = sa.select(meta.c.value).where(meta.c.key == _KEY)
    offset = int(connection.execute(known).scalar() or 0)
    newest = sa.func.greatest(*(sa.select(sa.func.max(xid)).scalar_subquery() for xid in _STORED))
    horizon, limit, stored = connection.execute(sa.select(sa.text(HORIZON), sa.text(_LIMIT), newest)).one()
    if stored < limit + offset:
        return offset
    # From the horizon, so that all stored changes are visible at once.
    offset = int(stored) + 1 - int(horizon)
    connection.exec_driver_sql(
        f"ALTER TABLE {changes.name} ALTER COLUMN xid SET DEFAULT pg_current_xact_id()::text::bigint + {offset}"
    )
    put = insert(meta).values(key=_KEY, value=str(offset))
    connection.execute(put.on_conflict_do_update(index_elements=[meta.c.key], set_={"value": str(offset)}))
    return offset
