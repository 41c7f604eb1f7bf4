"""The schema in schema.py equals the sum of the migrations on both engines; a new database of SQLite is made from it."""

from __future__ import annotations

import re
import sqlite3
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection

from threadkeep_server.store.sql.engine.base import SqlOptions
from threadkeep_server.store.sql.engine.factory import open_engine
from threadkeep_server.store.sql.engine.sqlite_driver import driver
from threadkeep_server.store.sql.schema import creation, versions
from threadkeep_server.store.sql.schema.tables import SCHEMA_VERSION, metadata
from threadkeep_server.store.sql.store import open_store  # noqa: F401 - defines the tables of search and vectors

Description = set[tuple[Any, ...]]


def _differences(connection: Connection) -> list[Any]:
    if connection.dialect.name == "sqlite":
        # The reflection of SQLAlchemy compares it; it is unknown until a pool of SQLAlchemy has connected.
        connection.dialect.server_version_info = sqlite3.sqlite_version_info
    context = MigrationContext.configure(connection, opts={"compare_type": True})
    return [each for each in compare_metadata(context, metadata) if "alembic_version" not in str(each)]


def _describe(connection: Connection) -> Description:
    """Returns the definition that the database reports, which is more than autogenerate compares, for example partial
    indexes; of SQLite, the rows as well."""
    if connection.dialect.name == "sqlite":
        rows = connection.exec_driver_sql("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").all()
        sql = {(row.name, frozenset(re.split(r",(?![^(]*\))", re.sub(r"[\s\"]+", "", row.sql)))) for row in rows}
        places = "SELECT m.name, p.cid, p.name FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS p"
        inserted = {(line,) for line in driver(connection).iterdump() if line.startswith("INSERT")}
        indexes = "SELECT tbl_name, name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL ORDER BY rowid"
        ordered: dict[str, tuple[str, ...]] = {}
        for table, index in connection.exec_driver_sql(indexes):
            ordered[table] = (*ordered.get(table, ()), index)  # plans depend on the order
        return sql | {tuple(row) for row in connection.exec_driver_sql(places)} | inserted | set(ordered.items())
    columns = (
        "SELECT table_name, column_name, data_type, character_maximum_length, is_nullable,"
        " CASE WHEN column_name = 'xid' THEN '' ELSE column_default END"  # only migrations define these
        " FROM information_schema.columns WHERE table_schema = 'public'"
    )
    indexes = "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'"
    constraints = "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace"
    return {tuple(row) for query in (columns, indexes, constraints) for row in connection.exec_driver_sql(query)}


def _forget_tables(connection: Connection) -> None:
    connection.exec_driver_sql("DROP TABLE alembic_version")
    metadata.drop_all(connection)


def _declare(connection: Connection) -> None:
    if creation.can_create(connection):
        creation.create(connection)
    else:
        metadata.create_all(connection)


async def test_the_schema_is_the_sum_of_its_migrations(empty_url: str) -> None:
    engine = open_engine(empty_url, SqlOptions())
    try:
        await engine.write(versions.run_migrations)
        assert await engine.read(_differences, snapshot=True) == []
        migrated = await engine.read(_describe)
        await engine.write(_forget_tables)
        await engine.write(_declare)
        declared = await engine.read(_describe)
    finally:
        await engine.aclose()
    if empty_url.startswith("postgresql"):  # there only migrations make this table
        migrated = {each for each in migrated if "alembic_version" not in str(each)}
    assert migrated == declared


@pytest.mark.postgres
async def test_changes_store_their_transaction(postgres_url: str) -> None:
    """The only part of the schema that migrations define and schema.py does not."""
    engine = open_engine(postgres_url, SqlOptions())

    def unit(connection: Connection) -> None:
        connection.exec_driver_sql('INSERT INTO changes (kind, session, "time", "first", "last") VALUES (1, 1, 1, 1, 1)')
        stored = connection.exec_driver_sql("SELECT xid, pg_current_xact_id()::text::bigint FROM changes").one()
        assert stored[0] == stored[1]

    try:
        await versions.prepare(engine)
        await engine.write(unit)
    finally:
        await engine.aclose()


async def test_schema_versions_are_recorded(empty_url: str) -> None:
    engine = open_engine(empty_url, SqlOptions())
    try:
        assert await engine.read(versions.versions) == (0, 0)
        await versions.prepare(engine)
        stored, oldest = await engine.read(versions.versions)
        assert 1 <= oldest <= stored == SCHEMA_VERSION
        revision = sa.text("SELECT version_num FROM alembic_version")
        assert await engine.read(lambda connection: connection.execute(revision).scalar()) == f"{stored:04}"
    finally:
        await engine.aclose()
