"""Errors of PostgreSQL and its driver that are STORE_UNAVAILABLE."""

from __future__ import annotations

import asyncpg
import pytest
from sqlalchemy.exc import DBAPIError

from threadkeep_server.store.sql.engine.base import SqlOptions
from threadkeep_server.store.sql.engine.postgres import PostgresEngine

FAILED = "the connection to the database failed"


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        (asyncpg.InterfaceError("connection is closed"), FAILED),
        (asyncpg.InternalClientError("cannot switch to state 12; another operation (2) is in progress"), FAILED),
        (asyncpg.ConnectionDoesNotExistError("closed in the middle of an operation"), FAILED),
        (DBAPIError("SELECT 1", None, Exception(), connection_invalidated=True), FAILED),
        (ConnectionRefusedError(), "the database does not answer"),
        (asyncpg.DiskFullError(), "the database's disk is full"),
        (asyncpg.UndefinedTableError(), None),
        (ValueError(), None),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, Exception) else "",
)
def test_errors_of_a_connection_that_breaks_are_problems_of_the_database(error: Exception, problem: str | None) -> None:
    assert PostgresEngine("postgresql+asyncpg://nobody@127.0.0.1:1/none", SqlOptions()).problem(error) == problem
