"""What SQLite reads in the event loop's own thread is short in bytes too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from tests.support.codec import CODEC, draft
from tests.support.sessions import append, create
from threadkeep_server.domain.feed import BEGINNING
from threadkeep_server.store.sql.engine.sqlite import SqliteEngine
from threadkeep_server.store.sql.store import open_store


async def test_a_few_large_events_are_not_read_in_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = []

    def read_here(engine: SqliteEngine, connection: Connection, unit: Any, snapshot: bool) -> Any:
        here.append(unit)
        return in_the_loop(engine, connection, unit, snapshot)

    in_the_loop = SqliteEngine._read_here
    monkeypatch.setattr(SqliteEngine, "_read_here", read_here)
    async with open_store(f"sqlite:///{tmp_path}/threadkeep.db", CODEC) as store:
        await create(store)
        await append(store, draft("small"))
        await append(store, draft("x" * (1 << 20)))
        _, small, large = (await store.changes(BEGINNING, 1000)).changes
        assert [len(events) for events in await store.change_events([small], with_text=False)] == [1]
        assert len(here) == 1
        assert [len(events) for events in await store.change_events([small, large], with_text=False)] == [1, 1]
        assert len(here) == 1
