"""The write-ahead logs of SQLite."""

from __future__ import annotations

import asyncio

from threadkeep_server.store.sql.store import SqlStore


async def logs_are_empty(store: SqlStore) -> bool:
    """Empties the logs, after the reads and writes that run in the background."""
    async with asyncio.timeout(60):
        while not await store._engine.empty_logs():  # noqa: ASYNC110 - nothing says when they end
            await asyncio.sleep(0.02)
    return True
