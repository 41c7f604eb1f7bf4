"""Finds the transaction that keeps committed changes from being delivered.

On PostgreSQL the feed waits for every running transaction of the cluster, in other databases too, that may commit an earlier
change: see Dialect.visible.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

import sqlalchemy as sa
from sqlalchemy import Connection

from ....domain.feed import FeedState, Position
from ..log.unit_runner import UnitRunner

_log = logging.getLogger(__name__)

_REPEATED_S = 60.0
_OLDEST = "(pg_snapshot_xmin(pg_current_snapshot())::text::bigint % 4294967296)"
# These columns are visible to every user of the cluster, but for the age, which needs pg_read_all_stats.
_OPEN = f"""
SELECT 'process ' || pid || ' of user ' || coalesce(usename, '?') || ' in database ' || coalesce(datname, '?')
    || coalesce(', open for ' || extract(epoch FROM clock_timestamp() - xact_start)::bigint || ' s', '')
    || '; pg_terminate_backend(' || pid || ') ends it'
FROM pg_stat_activity WHERE backend_xid::text::bigint = {_OLDEST}
UNION ALL
SELECT 'the prepared transaction ' || quote_literal(gid) || ' in database ' || database
    || ', prepared at ' || prepared::text || '; COMMIT PREPARED or ROLLBACK PREPARED ends it'
FROM pg_prepared_xacts WHERE transaction::text::bigint = {_OLDEST}
LIMIT 1
"""  # noqa: S608 - constants


class StallWatch:
    """Looks at the feed while it runs, and logs what it waits for once it has waited for `after_s`. 0: never."""

    def __init__(self, units: UnitRunner, state: Callable[[], Awaitable[FeedState]], after_s: float) -> None:
        self._units = units
        self._state = state
        self._after_s = after_s
        self._head: Position | None = None
        self._since = 0.0
        self._logged = float("-inf")
        self.stalled_s = 0.0
        """For how long changes have waited, in seconds, as last seen; 0 below `after_s`."""

    async def run(self) -> None:
        """Looks until canceled."""
        while self._after_s:
            await asyncio.sleep(self._after_s / 2)
            try:
                await self.look()
            except Exception as exc:  # the next look must not depend on this one
                _log.info("looking for transactions that hold up the feed failed: %s", type(exc).__name__)

    async def look(self) -> None:
        state, now = await self._state(), time.monotonic()
        if not state.unsettled or state.head != self._head:
            self._head, self._since = state.head, now
        waited = now - self._since
        self.stalled_s = waited if waited >= self._after_s else 0.0
        if self.stalled_s and now - self._logged >= _REPEATED_S:
            self._logged = now
            found = await self._units.read(_open_transaction)
            _log.warning(
                "committed changes have not been delivered for %d s, because an older transaction is open: %s",
                waited,
                found or "it has just ended",
            )


def _open_transaction(connection: Connection) -> str | None:
    found: str | None = connection.execute(sa.text(_OPEN)).scalar()
    return found
