"""Writes the files of `rows/`: `python -m tests.migration.stored.writing` writes those that are missing, with numbers those of
these schemas.

Run it before the number of the schema is increased: the present server writes the rows of its own schema. Those of the schemas
before it are what it writes, in the columns and with the JSON that servers of that schema wrote. Servers of schemas 8 to 15
wrote exactly these rows when the story was run on them.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import Connection

from tests.migration import first_schema
from tests.migration.old_form import old_event, old_message
from tests.store.engines.slices import stop_slices
from tests.support.codec import CODEC, as_draft
from threadkeep.v1 import event_pb2, message_pb2
from threadkeep_server.domain.model import EventDraft
from threadkeep_server.store.sql.compaction import selections
from threadkeep_server.store.sql.engine.base import SqlOptions
from threadkeep_server.store.sql.engine.factory import open_engine
from threadkeep_server.store.sql.event_removals.tombstones import Eraser
from threadkeep_server.store.sql.log.slices import archivings
from threadkeep_server.store.sql.schema.tables import CREATED, SCHEMA_VERSION, UPDATED, metadata
from threadkeep_server.store.sql.store import open_store

from .rows import Rows, Stored, columns_of, dumped, path_of, schemas
from .story import START
from .telling import tell

PLAIN_TEXT = 5
"""The schema since which the text of a part is a plain string."""
_FEED = 3
"""The schema since which the creation and the updates of a session are changes."""
_ARCHIVED_AT_ONCE = 3
_LISTING = START >> 20 << 20
"""The number of the only listing, which has random digits."""
_OLDEST_CODE = {4: 3, 6: 5, 9: 8, 10: 8, 11: 8, 19: 18, 20: 18}
"""Where it is not the schema itself."""
# Fields that JSON has since a schema: of sessions, removals and outcomes; and of parked changes.
_SINCE = {"content_bytes": 16, "moved": 18, "parent": 17, "restored": 17, "fork": 17}
_PARKED_SINCE = {**_SINCE, "removal": 16}
_JSON = {"changes": "detail", "parked_changes": "detail", "operations": "outcome"}


def old_draft(draft: EventDraft) -> EventDraft:
    """Returns the draft of a client of the first schemas."""
    message = event_pb2.SessionEvent.FromString(draft.body)
    made = as_draft(message)
    made.body = old_event(message)
    return made


async def written(schema: int, folder: Path) -> Stored:
    """Returns the rows of a database of the schema."""
    wanted = await _in(f"sqlite:///{folder}/empty.db", lambda connection: _columns(connection, schema))
    url = f"sqlite:///{folder}/filled.db"
    with pytest.MonkeyPatch.context() as patch:
        for module in (archivings, selections):
            patch.setattr(module, "ARCHIVED_AT_ONCE", _ARCHIVED_AT_ONCE)
        stop_slices(patch)
        patch.setattr(Eraser, "finish", _left)
        options = SqlOptions(search_index=False)
        async with open_store(url, CODEC, clock=lambda: START, options=options) as store:
            await tell(store, schema, old_draft if schema < PLAIN_TEXT else lambda each: each)
            return await store._engine.read(lambda connection: _rows(connection, schema, wanted))


async def _left(_: Eraser, __: int) -> None:
    """The server ended here."""


async def _in(url: str, unit: Callable[[Connection], Any]) -> Any:
    engine = open_engine(url, SqlOptions())
    try:
        return await engine.write(unit)
    finally:
        await engine.aclose()


def _columns(connection: Connection, schema: int) -> dict[str, list[str]]:
    first_schema.migrate(connection, f"{schema:04}")
    return columns_of(connection)


def _rows(connection: Connection, schema: int, wanted: dict[str, list[str]]) -> Stored:
    meta = (("schema_version", str(schema)), ("oldest_code", str(_OLDEST_CODE.get(schema, schema))))
    stored = {"threadkeep_meta": Rows(("key", "value"), [*meta, ("store_id", first_schema.STORE_ID)])}
    for name, columns in wanted.items():
        if name not in stored:
            stored[name] = _of_schema(schema, name, Rows(columns, _selected(connection, name, columns)))
    last = connection.exec_driver_sql("SELECT name, seq FROM sqlite_sequence ORDER BY name").all()
    stored["sqlite_sequence"] = Rows(("name", "seq"), [tuple(row) for row in last if row.name in wanted])
    return stored


def _selected(connection: Connection, name: str, columns: Sequence[str]) -> list[tuple[Any, ...]]:
    table = metadata.tables[name]
    query = sa.select(*(table.c[column] for column in columns)).order_by(*table.primary_key.columns)
    return [tuple(row) for row in connection.execute(query)]


def _of_schema(schema: int, table: str, stored: Rows) -> Rows:
    """Returns the rows as servers of the schema wrote them."""
    rows = [dict(zip(stored.columns, row, strict=True)) for row in stored.rows]
    if table == "changes" and schema < _FEED:
        rows = [row for row in rows if row["kind"] not in (CREATED, UPDATED)]
    for row in rows:
        column = _JSON.get(table)
        if column in row and row[column] is not None:
            row[column] = _json_of(schema, table, row[column])
        if row.get("listing") is not None:
            row["listing"] = _LISTING
        if table == "memories" and schema < PLAIN_TEXT:
            row["content"] = old_message(message_pb2.ChatMessage.FromString(row["content"]))
    return Rows(stored.columns, [tuple(row.values()) for row in rows])


def _json_of(schema: int, table: str, encoded: bytes) -> bytes:
    parked = table == "parked_changes"
    data = json.loads(encoded)
    known = _known(data, {name for name, since in (_PARKED_SINCE if parked else _SINCE).items() if since > schema})
    if known == data:
        return encoded
    return json.dumps(known, ensure_ascii=parked, separators=None if parked else (",", ":")).encode()


def _known(value: Any, later: set[str]) -> Any:
    """Leaves out the fields that JSON got later."""
    if not isinstance(value, dict):
        return value
    return {name: _known(each, later) for name, each in value.items() if name not in later}


def main() -> None:
    chosen = [int(number) for number in sys.argv[1:]]
    for schema in chosen or sorted(set(range(2, SCHEMA_VERSION)) - set(schemas())):
        with tempfile.TemporaryDirectory() as folder:
            text = dumped(asyncio.run(written(schema, Path(folder))))
        path_of(schema).write_text(text)
        print(f"{path_of(schema)}: {len(text)} bytes")


if __name__ == "__main__":
    main()
