"""Runs units of work for the parts of the SQL store, and translates errors of the database."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import TypeVar

from sqlalchemy import Connection

from ....domain.errors import StoreUnavailable, ThreadkeepError
from ....telemetry.meters import StoreMeters
from ..encryption.codec import StoredCodec
from ..encryption.vault import KeyUnknown
from ..engine.base import Engine, Unit
from ..engine.statements import Statements
from .scan import Scanner

T = TypeVar("T")

FEW_ROWS = 200
"""Largest number of rows of a short read or write."""


class UnitRunner:
    """Runs units of work on an engine. Every method raises StoreUnavailable if the database fails."""

    def __init__(
        self,
        engine: Engine,
        codec: StoredCodec,
        statements: Statements | None = None,
        tenants: Collection[str] | None = None,
        meters: StoreMeters | None = None,
    ) -> None:
        self.engine = engine
        self.codec = codec
        self.statements = statements or Statements(engine)
        self._tenants = tenants
        self.meters = meters or StoreMeters()

    def of(self, *tenants: str) -> UnitRunner:
        """Returns a runner of units that concern these tenants: see Engine.read. Other units do the server's own work."""
        return UnitRunner(self.engine, self.codec, self.statements, frozenset(tenants), self.meters)

    async def scan(
        self, unit: Callable[[Scanner], T], *, snapshot: bool = False, short: bool = False, replica: bool = False
    ) -> T:
        """Runs a unit that reads with a Scanner."""

        def scan(connection: Connection) -> T:
            return unit(Scanner(connection, self.engine, self.codec, self.statements))

        return await self.read(scan, snapshot=snapshot, short=short, replica=replica)

    async def read(self, unit: Unit[T], *, snapshot: bool = False, short: bool = False, replica: bool = False) -> T:
        def work() -> Awaitable[T]:
            return self.engine.read(unit, snapshot=snapshot, short=short, replica=replica, tenants=self._tenants)

        return await translate_errors(self.engine, work() if self.codec.vault is None else self._with_keys(work))

    async def write(self, unit: Unit[T]) -> T:
        def work() -> Awaitable[T]:
            return self.engine.write(unit, tenants=self._tenants)

        return await translate_errors(self.engine, work() if self.codec.vault is None else self._with_keys(work))

    async def _with_keys(self, work: Callable[[], Awaitable[T]]) -> T:
        """Repeats work that needs a key which another server has just made."""
        try:
            return await work()
        except KeyUnknown:
            vault = self.codec.vault
            if vault is not None:
                await vault.refresh()
            return await work()

    async def index(self, unit: Unit[T]) -> T:
        """Runs a unit that writes derived tables only."""
        return await translate_errors(self.engine, self.engine.index(unit))


async def translate_errors(engine: Engine, work: Awaitable[T]) -> T:
    """Awaits work on the database. Raises StoreUnavailable if the database fails."""
    try:
        return await work
    except ThreadkeepError:
        raise
    except Exception as exc:
        problem = engine.problem(exc)
        if problem is None:
            raise
        raise StoreUnavailable(problem) from exc
