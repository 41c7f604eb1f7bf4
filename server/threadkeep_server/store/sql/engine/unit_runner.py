"""What the parts of the SQL store share: how units of work are run, and what is told when the database fails."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from sqlalchemy import Connection

from ....domain.errors import StoreUnavailable, ThreadkeepError
from ...contract.codec import Codec
from ..log.scan import Scanner
from ..search.analysis_cache import Analysed
from ..search.term_index import words_text
from .base import Engine, Unit
from .statements import Statements

T = TypeVar("T")

FEW_ROWS = 200
"""Reads and writes of so many rows are short."""


class Running:
    """Runs units of work on an engine."""

    def __init__(self, engine: Engine, codec: Codec) -> None:
        self._engine = engine
        self._codec = codec
        self._statements = Statements(engine)
        self._analysed = Analysed(lambda body, time: words_text(codec.words(body, time)))

    async def _scan(self, unit: Callable[[Scanner], T], *, snapshot: bool = False, short: bool = False) -> T:
        def scan(connection: Connection) -> T:
            return unit(Scanner(connection, self._engine, self._codec, self._statements, self._analysed))

        return await self._read(scan, snapshot=snapshot, short=short)

    async def _read(self, unit: Unit[T], *, snapshot: bool = False, short: bool = False) -> T:
        return await explained(self._engine, self._engine.read(unit, snapshot=snapshot, short=short))

    async def _write(self, unit: Unit[T]) -> T:
        return await explained(self._engine, self._engine.write(unit))


async def explained(engine: Engine, work: Awaitable[T]) -> T:
    """Awaits work on the database; raises StoreUnavailable where the database is what failed."""
    try:
        return await work
    except ThreadkeepError:
        raise
    except Exception as exc:
        problem = engine.problem(exc)
        if problem is None:
            raise
        raise StoreUnavailable(problem) from exc
