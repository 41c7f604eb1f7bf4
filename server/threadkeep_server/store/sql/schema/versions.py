"""The versions of the schema: migrates a database, and refuses one that this code cannot run on."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path
from typing import TypeVar, cast

import sqlalchemy as sa
from sqlalchemy import Connection

from ..engine.base import Engine, SqlOptions, Unit
from ..engine.factory import open_engine, peek
from . import creation
from .foreign import refuse_foreign
from .servers import refuse_running
from .tables import OLDEST_CODE_THAT_CAN_RUN, SCHEMA_VERSION, meta

T = TypeVar("T")


class SchemaTooNew(RuntimeError):
    """The database was migrated by newer code that this code must not run with."""


def migrate(connection: Connection) -> None:
    """Migrates the schema; a unit of work that runs alone (see prepare). Raises SchemaTooNew, ForeignDatabase,
    OlderServersRun."""
    stored, compatible = versions(connection)
    if stored > SCHEMA_VERSION:
        if compatible > SCHEMA_VERSION:
            message = (
                f"the database has schema {stored}, which needs a server that knows schema {compatible} or later; this one "
                f"knows {SCHEMA_VERSION}: upgrade the server, or restore the backup made before the upgrade"
            )
            raise SchemaTooNew(message)
        return  # newer, but compatible with this code
    if stored == SCHEMA_VERSION:
        return
    refuse_foreign(connection)
    if 0 < stored < OLDEST_CODE_THAT_CAN_RUN:
        refuse_running(connection)
    _migrate(connection)


def _migrate(connection: Connection) -> None:
    if creation.can_create(connection):
        creation.create(connection)
    else:
        run_migrations(connection)
    put(connection, "schema_version", str(SCHEMA_VERSION))
    put(connection, "oldest_code", str(OLDEST_CODE_THAT_CAN_RUN))
    if get(connection, "store_id") is None:
        put(connection, "store_id", str(uuid.uuid4()))


def run_migrations(connection: Connection) -> None:
    """Runs the migrations that the database lacks."""
    # Most starts run none, and importing takes a tenth of a start.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def versions(connection: Connection) -> tuple[int, int]:
    """Returns the database's schema version and the oldest code that can run on it; zeros for an empty database."""
    if not sa.inspect(connection).has_table(meta.name):
        return 0, 0
    return int(get(connection, "schema_version") or 0), int(get(connection, "oldest_code") or 0)


def get(connection: Connection, key: str) -> str | None:
    return cast("str | None", connection.execute(sa.select(meta.c.value).where(meta.c.key == key)).scalar())


def put(connection: Connection, key: str, value: str) -> None:
    connection.execute(meta.delete().where(meta.c.key == key))
    connection.execute(meta.insert(), {"key": key, "value": value})


def alone(engine: Engine, unit: Unit[T]) -> Unit[T]:
    """Returns the unit with a lock against other servers: of concurrent starts one does the work, the others find it done."""

    def locked(connection: Connection) -> T:
        if engine.sql.exclusive:
            connection.exec_driver_sql(engine.sql.exclusive)
        return unit(connection)

    return locked


async def prepare(engine: Engine) -> None:
    """Migrates, alone."""

    def unit(connection: Connection) -> None:
        migrate(connection)
        # Changes nothing, but a read-only database fails now and not at the first append.
        connection.execute(meta.delete().where(meta.c.key == ""))

    await engine.write(alone(engine, unit))


def upgrade(url: str) -> None:
    """Migrates the database's schema. Raises SchemaTooNew, DatabaseInUse, ForeignDatabase, OlderServersRun."""

    async def work() -> None:
        engine = open_engine(url, SqlOptions())
        try:
            await prepare(engine)
        finally:
            await engine.aclose()

    asyncio.run(work())


def current(url: str) -> tuple[int, int]:
    """Returns the database's schema version (0: no database, or an empty one) and the one of this code. Changes nothing. Raises
    ForeignDatabase."""

    def unit(connection: Connection) -> tuple[int, int]:
        refuse_foreign(connection)
        return versions(connection)

    stored = peek(url, unit)
    return (0 if stored is None else stored[0]), SCHEMA_VERSION
