"""The floor under a replay: stored events streamed by a bare handler, with nothing between it and the database driver."""

import json
import sqlite3
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, closing
from typing import Any

import asyncpg

_PAGE = "SELECT id, body FROM events WHERE id > {after} ORDER BY id LIMIT {limit}"
_ROWS = "rows"
Bodies = list[bytes]


def request(url: str, page: int) -> bytes:
    """A request for every event of the database, `page` of them per message. `url`: a path of SQLite or a URL of PostgreSQL."""
    return json.dumps({"url": url, "page": page}).encode()


def rows(metadata: Sequence[tuple[str, Any]]) -> int:
    """The number of events that the stream has sent, from its trailers."""
    return next(int(value) for key, value in metadata if key == _ROWS)


async def stream(request: bytes, context: Any) -> None:
    """Writes the bodies of a page as one message."""
    job = json.loads(request)
    pages = _postgres if str(job["url"]).startswith("postgresql:") else _sqlite
    total = 0
    async with aclosing(pages(job["url"], job["page"])) as found:
        async for bodies in found:
            total += len(bodies)
            await context.write(b"".join(bodies))
    context.set_trailing_metadata(((_ROWS, str(total)),))


async def _sqlite(path: str, page: int) -> AsyncGenerator[Bodies, None]:
    query = _PAGE.format(after="?", limit="?")
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        after = 0
        while found := connection.execute(query, (after, page)).fetchall():
            yield [body for _, body in found]
            after = found[-1][0]


async def _postgres(dsn: str, page: int) -> AsyncGenerator[Bodies, None]:
    connection = await asyncpg.connect(dsn)
    try:
        query = await connection.prepare(_PAGE.format(after="$1", limit="$2"))
        after = 0
        while found := await query.fetch(after, page):
            yield [row[1] for row in found]
            after = found[-1][0]
    finally:
        await connection.close()
