"""Running units of work: one hop from the event loop for each, whatever it does inside.

A unit is a synchronous function of a SQLAlchemy connection. On SQLite it runs in a thread that owns a connection; on
PostgreSQL in a greenlet over asyncpg. So there is one implementation of every query, and a statement costs no hop of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from sqlalchemy import Column, Connection
from sqlalchemy.sql import ColumnElement

from ..search.text_index import TextIndex
from ..vectors.index import VectorIndex

T = TypeVar("T")
Unit = Callable[[Connection], T]
SessionName = tuple[str, str]
"""A tenant, and a session id: of however many users."""


@dataclass(frozen=True, slots=True)
class SqlOptions:
    """What of the settings concerns SQL. Sizes are in connections; `statement_timeout` in seconds bounds one statement;
    `postgres_listen_url` is for the connection that hears of other servers' changes: empty is the same database URL."""

    sqlite_synchronous: str = "FULL"
    sqlite_readers: int = 4
    postgres_pool_size: int = 8
    postgres_listen_url: str = ""
    statement_timeout: float = 30.0
    search_index: bool = True
    max_pending_bytes: int = 64 << 20


class Engine(Protocol):
    """All that differs between databases."""

    name: str
    """The database and its version."""
    durability: str
    """What an acknowledged commit survives."""
    change_order: tuple[Column[Any], ...]
    """The columns of `changes` that say in which order to follow them."""
    exclusive: str
    """SQL that keeps other servers out for the rest of a transaction; empty where a write transaction does so anyway."""

    async def open_index(self) -> TextIndex:
        """Learns what the database is and what it has; the best text index it offers."""
        ...

    async def open_vectors(self) -> VectorIndex | None:
        """The database's own index of vectors, made ready, if it has one. Vectors are kept in any case."""
        ...

    async def read(self, unit: Unit[T], *, snapshot: bool = False, short: bool = False) -> T:
        """Runs a unit that writes nothing. `snapshot`: in a transaction, as streaming rows needs. `short`: it looks up a few
        rows by their keys, and may be run where it is called if that is quicker than handing it over."""
        ...

    async def write(self, unit: Unit[T], *, short: bool = False) -> T:
        """Runs a unit in a transaction that commits if it returns. Once begun it is not cancelled. `short`: like read's."""
        ...

    async def index(self, unit: Unit[T]) -> T:
        """Like write, for units that write derived tables only: they never hold up writes to the log."""
        ...

    def take_turns(self, connection: Connection, names: Collection[SessionName]) -> None:
        """Waits until no other transaction has a turn at a session of these names; the turns end with the transaction.

        Whoever records a change of a session takes a turn at its name before anything that writes or locks rows, and once
        in a transaction: so that the feed's order is the order of the session's log (see settled), of those who make a
        session one comes first, and nobody waits for somebody who waits for him."""
        ...

    def take_free_turns(self, connection: Connection, names: Collection[SessionName]) -> Collection[SessionName]:
        """Like take_turns, but waits for nobody, so it may be called again: the names that it has now turns at."""
        ...

    def aside(self, work: Callable[[], T]) -> T:
        """Does work of a unit that computes for long and touches no database, where it holds up no other call."""
        ...

    def fetch(self, connection: Connection, sql: str, params: Sequence[Any]) -> Sequence[Sequence[Any]]:
        """All rows of a compiled query."""
        ...

    def run_many(self, connection: Connection, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """A compiled statement, once for each row of parameters."""
        ...

    def contains(self, column: ColumnElement[Any], folded: str) -> ColumnElement[bool]:
        """Literal substring."""
        ...

    def among(self, column: ColumnElement[Any], name: str) -> ColumnElement[bool]:
        """That the column has one of the keys which the parameter of this name holds: see keys."""
        ...

    def keys(self, keys: Sequence[int]) -> Any:
        """Keys as a parameter for `among`, however many."""
        ...

    def settled(self) -> ColumnElement[bool]:
        """Which rows of `changes` can be passed by: no transaction still running can commit one that sorts before them."""
        ...

    def problem(self, error: BaseException) -> str | None:
        """Why the database cannot do its work, in words fit for a client; None if the error is not of that kind."""
        ...

    async def listen(self, heard: Callable[[], None]) -> None:
        """Calls `heard` whenever another server may have committed something; runs until cancelled. Returns at once where no
        other server can share the database. A hint, which may be lost: never the only reason to look."""
        ...

    def announce(self) -> None:
        """Something was committed: has the other servers' `heard` called, soon, as long as this one listens. Never waits."""
        ...

    async def aclose(self) -> None: ...
