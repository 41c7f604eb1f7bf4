"""The interface of a database: units of work, and what differs in SQL.

A unit is a synchronous function of a SQLAlchemy connection, so there is one implementation of every query for both databases.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from sqlalchemy import Column, Connection, FromClause, Select
from sqlalchemy.sql import ColumnElement

from ....telemetry.meters import StoreMeters
from ...contract.maintenance import PoolUse
from ..encryption.master_keys import MasterKeys

T = TypeVar("T")
Unit = Callable[[Connection], T]
SessionName = tuple[str, str]
"""A tenant and a session id, of any user."""


@dataclass(frozen=True, slots=True)
class SqlOptions:
    """Settings of the SQL store. Sizes are in connections; `statement_timeout` in seconds bounds one statement;
    `stall_alarm`: seconds until the log names a transaction that holds up the feed, 0 for never;
    `row_security`: PostgreSQL shows each unit the rows of its tenants only;
    `meters`: what counts;
    `master_keys`: what `encrypted_tenants` (empty: all) store is encrypted, and searched only if `encrypted_search`;
    `postgres_listen_url` is for the connection that receives other servers' notifications: empty is the same database URL;
    `postgres_read_url` is of replicas, empty for none, and `postgres_read_wait` the seconds that a read waits for one that is
    behind; `postgres_pooler`: the database URL is of a pooler of transactions."""

    sqlite_synchronous: str = "FULL"
    sqlite_readers: int = 4
    postgres_pool_size: int = 8
    postgres_listen_url: str = ""
    postgres_read_url: str = ""
    postgres_read_wait: float = 0.1
    postgres_pooler: bool = False
    statement_timeout: float = 30.0
    row_security: bool = False
    stall_alarm: float = 10.0
    search_index: bool = True
    search_scan_bytes: int = 16 << 20
    search_scan_seconds: float = 2.0
    max_pending_bytes: int = 64 << 20
    master_keys: MasterKeys | None = None
    encrypted_tenants: Collection[str] = ()
    encrypted_search: bool = True
    meters: StoreMeters = field(default_factory=StoreMeters)


class Capability(enum.Enum):
    """A feature of the database that an index may use."""

    FTS5 = enum.auto()
    """SQLite's full-text search with trigrams."""
    TSVECTOR = enum.auto()
    """PostgreSQL's full-text search."""
    FUNCTIONS = enum.auto()
    """The stored functions of the schema: a group of writes in one round trip."""
    EXTENSIONS = enum.auto()
    """PostgreSQL's extensions, where they are installed and the user may create them."""
    SHARED = enum.auto()
    """Several servers may use the database at a time."""


@dataclass(frozen=True, slots=True)
class TableParameter:
    """Rows of integers as a parameter. Statements are the same for the same `shape`."""

    shape: Hashable
    values: Mapping[str, Any]
    build: Callable[[], FromClause]
    """Returns the table, for a statement."""


class Dialect(Protocol):
    """SQL that differs between databases."""

    change_order: tuple[Column[Any], ...]
    """The columns of `changes` in whose order they are followed."""
    exclusive: str
    """Statement that excludes other servers for the rest of a transaction; empty where every write transaction does."""
    no_changes: str
    """Statement that waits for the transactions that record changes, and keeps new ones waiting; empty where `exclusive` is."""
    mark: str
    """Expression: what identifies this run of the database, and the transaction as the writer of a row of `threadkeep_meta`."""
    row_mark: str
    """Expression: what `mark` was for the writer of the row. Another value if the database was restored, or may have been."""

    def contains(self, column: ColumnElement[Any], folded: str) -> ColumnElement[bool]:
        """Literal substring."""
        ...

    def in_list(self, column: ColumnElement[Any], name: str) -> ColumnElement[bool]:
        """The column has one of the values of the parameter of this name: see listed."""
        ...

    def listed(self, values: Sequence[int] | Sequence[str]) -> Any:
        """Any number of values as one parameter for `in_list`."""
        ...

    def visible(self) -> ColumnElement[bool]:
        """Rows of `changes` before which no running transaction can commit another."""
        ...

    def table(self, names: Sequence[str], rows: Sequence[Sequence[int]]) -> TableParameter:
        """Rows of integers with these column names as a parameter."""
        ...

    def each(
        self, table: FromClause, columns: Sequence[ColumnElement[Any]], where: Sequence[ColumnElement[bool]]
    ) -> Select[Any]:
        """For each row of `table`, its first column and `columns` of the rows that meet `where`: an index look-up per row."""
        ...

    def by_code_point(self, column: ColumnElement[str]) -> ColumnElement[str]:
        """Text in the order of its code points, in any order of the database."""
        ...


class Locks(Protocol):
    """Locks on names of sessions. They end with the transaction.

    A unit that records a change of a session locks its name before it writes or locks rows, once per transaction. So the order
    of the feed is the order of the session's log (see Dialect.visible), of two that create a session one is first, and there is
    no deadlock.
    """

    def acquire(self, connection: Connection, names: Collection[SessionName], *, wait_ms: int = 0) -> None:
        """Waits until no other transaction holds a lock of these names. `wait_ms`: the longest wait for this and every later
        lock of the transaction, then an error that Engine.waited_for_lock knows; 0: as long as the database waits."""
        ...

    def held(self, connection: Connection, names: Collection[SessionName]) -> Collection[SessionName]:
        """Returns those of the names that another transaction has locked, or whose session it has. Does not wait. Locks the
        others, so the transaction should end at once."""
        ...

    def keys(self, names: Collection[SessionName]) -> Sequence[int]:
        """Returns the numbers of the locks, in the order to acquire them, for a stored function that does so."""
        ...

    def try_acquire(
        self, connection: Connection, names: Collection[SessionName], *, longest_pause_s: int = 0
    ) -> Collection[SessionName]:
        """Returns the names whose locks the transaction now holds. Does not wait, so it may be called again. `longest_pause_s`:
        the database ends a transaction that holds them without a statement for so long; 0: it does not change when."""
        ...


class Peers(Protocol):
    """The other servers on the database."""

    async def run(self, heard: Callable[[], None]) -> None:
        """Calls `heard` when another server may have committed, until canceled. Returns at once where no other server can share
        the database. A notification may be lost: poll as well."""
        ...

    def announce(self) -> None:
        """Has the other servers' `heard` called soon, while this one runs. Never waits."""
        ...


class Engine(Protocol):
    """A database."""

    name: str
    """The database and its version."""
    durability: str
    """The failures that an acknowledged commit survives."""
    capabilities: frozenset[Capability]
    of_writes: frozenset[str]
    """What `problem` returns for failures that reads do not notice."""
    sql: Dialect
    locks: Locks
    peers: Peers

    async def open(self) -> None:
        """Reads the version, durability and capabilities of the database. Its schema is up to date."""
        ...

    def on_restart(self, unit: Unit[T], then: Callable[[T], None]) -> None:
        """Has the unit run in a transaction, and `then` called with its result, before other units run on a database that was
        started again meanwhile."""
        ...

    async def read(
        self,
        unit: Unit[T],
        *,
        snapshot: bool = False,
        short: bool = False,
        replica: bool = False,
        tenants: Collection[str] | None = None,
    ) -> T:
        """Runs a unit that writes nothing. `snapshot`: in a transaction, as streaming rows needs. `short`: it looks up a few
        rows by their keys, and may run where it is called if that is quicker than a call of a thread. `replica`: it is long
        enough to run on a replica, if there is one that has every commit which was acknowledged before. `tenants`:
        the only tenants that it concerns; None: it is the server's own work, for all of them."""
        ...

    async def write(
        self, unit: Unit[T], *, short: bool = False, alone: bool = False, tenants: Collection[str] | None = None
    ) -> T:
        """Runs a unit in a transaction that commits if it returns. Once begun it is not canceled. `short`, `tenants`: as for
        read; `alone`: it runs a single statement, which may commit by itself."""
        ...

    async def index(self, unit: Unit[T]) -> T:
        """Like write, for units that write derived tables only: they never hold up writes to the log."""
        ...

    async def separately(self, unit: Unit[T]) -> T:
        """Runs a unit outside transactions, where each statement commits by itself, and without a limit on its time. Its
        connection is its own, leads past any pooler of the database and ends with it, so settings and locks of the connection
        hold for all statements. On a database of one server it is `write`."""
        ...

    def run_in_thread(self, work: Callable[[], T]) -> T:
        """Runs long computations of a unit, without database access, where they hold up no other call."""
        ...

    def fetch(self, connection: Connection, sql: str, params: Sequence[Any]) -> Sequence[Sequence[Any]]:
        """Returns all rows of a compiled query."""
        ...

    def run_many(self, connection: Connection, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Runs a compiled statement once for each row of parameters."""
        ...

    def waited_for_lock(self, error: BaseException) -> bool:
        """Whether a unit failed because it waited for a lock for longer than it wanted to."""
        ...

    def pool(self) -> PoolUse:
        """The connections, for reading on SQLite: how many are in use, and the most there may be."""
        ...

    def stored_bytes(self, connection: Connection) -> int:
        """Returns the size of the database in bytes, with its indexes."""
        ...

    def problem(self, error: BaseException) -> str | None:
        """Returns why the database failed, in words for a client; None for other errors."""
        ...

    async def keep_connections(self) -> None:
        """Drops connections that lead nowhere any more, until canceled. Returns at once where there are none."""
        ...

    async def empty_logs(self) -> bool:
        """Moves what is in the write-ahead logs to the files of the database and truncates the logs, where the server manages
        them. Returns whether no reader or writer prevented it."""
        ...

    def low_space(self) -> str | None:
        """Returns that the disk is almost full, in words for a client; None if it is not, or not known."""
        ...

    async def aclose(self) -> None: ...
