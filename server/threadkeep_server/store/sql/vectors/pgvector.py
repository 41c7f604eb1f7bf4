"""Vector search by pgvector, the extension of PostgreSQL.

In most scopes every vector is compared, which an index of scopes makes cheap, and no result is missed. A scope of LARGE_FROM or
more gets an approximate index (HNSW) of its own, in the background, once it is searched: a search of an index of all scopes
would visit many vectors of other scopes.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.sql import ColumnElement

from ....domain.memories import MemoryScope
from ....domain.scopes import EventScope, UserScope
from ...contract.vectors import Floats, Source
from ..engine.base import Capability, Engine
from ..log.markers import memory_marker
from ..schema.versions import alone
from . import pgvector_hnsw
from .index import VectorIndex
from .pgvector_hnsw import Part
from .pgvector_tables import COPIES, MOST_DIMENSIONS, STORED, as_indexed, copies, event_copies, given, parameter
from .tables import marker
from .vector_queries import inside, place_of

_log = logging.getLogger(__name__)

LARGE_FROM = 100_000
# The first version that continues in an index when a condition leaves too few rows.
_OLDEST = [0, 8]
_INSTALLED = "SELECT name FROM pg_available_extensions WHERE name = 'vector'"
_IDS_AT_ONCE = 20_000
_COPIED_AT_ONCE = 500
_COUNTED_EVERY_S = 60.0
_SCOPES_REMEMBERED = 10_000
_RETRY_S = 60.0


class PgVector:
    """VectorIndex by pgvector."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        # A server that began before the extension was installed stores vectors without copies; later servers copy them.
        self._copied = False
        self._ready: set[Part] = set()
        self._wanted: asyncio.Queue[Part] = asyncio.Queue()
        self._counted: OrderedDict[Part, float] = OrderedDict()

    def prepare(self, connection: Connection) -> bool:
        """Creates what is missing. Returns whether the extension is available."""
        try:
            with connection.begin_nested():
                connection.exec_driver_sql("CREATE EXTENSION IF NOT EXISTS vector")
        except sa.exc.DBAPIError:
            if connection.exec_driver_sql(_INSTALLED).first() is not None:
                _log.info("pgvector is not used, the role may not create it: a superuser can, with CREATE EXTENSION vector")
            return False
        if connection.exec_driver_sql("SELECT to_regtype('vector')").scalar_one() is None:
            _log.warning("pgvector is not used: the schema of its extension is not in the search_path of the role")
            return False
        version = connection.execute(sa.text("SELECT extversion FROM pg_extension WHERE extname = 'vector'")).scalar_one()
        if [int(number) for number in version.split(".")[:2]] < _OLDEST:
            _log.warning("pgvector %s is not used: version %s or later is required", version, ".".join(map(str, _OLDEST)))
            return False
        copies.create_all(connection)
        stored = [sa.exists(sa.select(table.c.id)) for table in STORED.values()]
        self._copied = not connection.execute(sa.select(sa.or_(*stored))).scalar_one()
        return True

    def add(self, connection: Connection, source: Source, keys: Sequence[int], vectors: Floats) -> None:
        if vectors.shape[1] <= MOST_DIMENSIONS:
            rows = [{"key": key, "vector": parameter(vector)} for key, vector in zip(keys, vectors, strict=True)]
            connection.execute(_copy(source), rows)

    def gave(self, connection: Connection, keys: Sequence[int], scope: int) -> None:
        mine = (event_copies.c.id.in_(keys), event_copies.c.scope != scope)
        connection.execute(event_copies.update().where(*mine).values(scope=scope))

    async def nearest(
        self, source: Source, tenant: str, scope: EventScope | MemoryScope, model: int, vector: Floats, limit: int
    ) -> list[tuple[int, float]] | None:
        if not self._copied or len(vector) > MOST_DIMENSIONS:
            return None

        def unit(connection: Connection) -> list[tuple[int, float]]:
            part = _part_of(connection, tenant, scope, source, model, len(vector))
            if part in self._ready:
                # It does not check that sessions exist, and continues until enough rows meet the conditions.
                apps = [marker(tenant, scope.app)] if isinstance(scope, UserScope) and scope.app is not None else []
                found = pgvector_hnsw.search(connection, part, [part.table.c.app == app for app in apps], vector, limit)
            else:
                self._count(connection, part)
                others = () if isinstance(scope, MemoryScope) else inside(tenant, scope, part.table)
                found = _compared(connection, part, others, vector, limit)
            return sorted(found, key=lambda each: (-each[1], -each[0]))

        return await self._engine.read(unit, snapshot=True)

    def _count(self, connection: Connection, part: Part) -> None:
        """Queues the index of a large scope; checks the size from time to time."""
        now = time.monotonic()
        if now - self._counted.get(part, float("-inf")) < _COUNTED_EVERY_S or as_indexed(part.dimension) is None:
            return
        self._counted[part] = now
        self._counted.move_to_end(part)
        if len(self._counted) > _SCOPES_REMEMBERED:
            self._counted.popitem(last=False)
        some = sa.select(part.table.c.id).where(*part.conditions).limit(LARGE_FROM).subquery()
        if connection.execute(sa.select(sa.func.count()).select_from(some)).scalar_one() >= LARGE_FROM:
            self._wanted.put_nowait(part)

    async def run(self) -> None:
        while True:
            try:
                if not self._copied:
                    await self._copy_all()
                await self._make(await self._wanted.get())
            except Exception as exc:  # the database may be unavailable or full: searches compare all vectors
                why = self._engine.problem(exc) or type(exc).__name__
                _log.warning("indexing vectors failed (%s); searches compare all vectors; retrying in %g s", why, _RETRY_S)
                await asyncio.sleep(_RETRY_S)

    # --- in the background

    async def _copy_all(self) -> None:
        """Copies vectors that were stored without the extension."""
        for source in Source:
            after: int | None = 0
            while after is not None:
                after = await self._engine.write(lambda connection, s=source, a=after: _copy_some(connection, s, a))  # type: ignore[misc]
        self._copied = True

    async def _make(self, part: Part) -> None:
        if part in self._ready:
            return
        begun = time.monotonic()
        if await self._engine.separately(lambda connection: pgvector_hnsw.make(connection, part)):
            self._ready.add(part)
            _log.info("created a vector index in %.1f s", time.monotonic() - begun)


def _copy(source: Source) -> Any:
    """Copies a vector with the columns of its row."""
    table, stored = COPIES[source], STORED[source]
    names = [column.name for column in table.c if column.name != "embedding"]
    row = sa.select(*(stored.c[name] for name in names), given()).where(stored.c.id == sa.bindparam("key"))
    return insert(table).from_select([*names, "embedding"], row).on_conflict_do_nothing()


def _copy_some(connection: Connection, source: Source, after: int) -> int | None:
    """Copies some vectors without a copy. Returns the id up to which all have one; None: all do."""
    table, stored = COPIES[source], STORED[source]
    first = connection.execute(sa.select(sa.func.min(stored.c.id)).where(stored.c.id > after)).scalar()
    if first is None:
        return None
    upto = int(first) + _IDS_AT_ONCE
    missing = stored.outerjoin(table, table.c.id == stored.c.id)
    query = sa.select(stored.c.id, stored.c.vector).select_from(missing).where(table.c.id.is_(None))
    query = query.where(stored.c.id.between(first, upto), stored.c.vector.is_not(None), sa.func.length(stored.c.vector) > 0)
    # Locked: another model's vector must not replace it before it is copied.
    query = query.order_by(stored.c.id).limit(_COPIED_AT_ONCE).with_for_update(read=True, of=stored)
    rows = connection.execute(query).all()
    made = [{"key": row.id, "vector": parameter(np.frombuffer(row.vector, "<f4"))} for row in rows]
    fitting = [row for row in made if len(row["vector"]) <= MOST_DIMENSIONS]
    if fitting:
        connection.execute(_copy(source), fitting)
    return int(rows[-1].id) if len(rows) == _COPIED_AT_ONCE else upto


def _part_of(
    connection: Connection, tenant: str, scope: EventScope | MemoryScope, source: Source, model: int, dimension: int
) -> Part:
    """Returns the part that contains a scope's vectors. Raises SessionNotFound, AmbiguousSession."""
    if isinstance(scope, MemoryScope):
        return Part(source, "scope", memory_marker(tenant, scope), model, dimension)
    return Part(source, *place_of(connection, tenant, scope), model, dimension)


def _compared(
    connection: Connection, part: Part, others: Sequence[ColumnElement[bool]], vector: Floats, limit: int
) -> list[tuple[int, float]]:
    """Compares all vectors of the scope."""
    table = part.table
    distance = table.c.embedding.op("<=>", return_type=sa.Float)(given())
    query = sa.select(table.c.id, (1 - distance).label("cosine")).where(*part.conditions, *others)
    rows = connection.execute(query.order_by(distance).limit(limit), {"vector": parameter(vector)})
    return [(row.id, row.cosine) for row in rows]


async def open_vectors(engine: Engine) -> VectorIndex | None:
    """Returns the database's own index of vectors, ready for use, if it has one."""
    if Capability.EXTENSIONS not in engine.capabilities:
        return None
    index = PgVector(engine)
    return index if await engine.write(alone(engine, index.prepare)) else None
