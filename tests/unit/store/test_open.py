"""Opening a database by its URL."""

from __future__ import annotations

import sys

import pytest

from threadkeep_server.store.sql.engine.base import SqlOptions
from threadkeep_server.store.sql.engine.factory import open_engine


def test_postgresql_without_its_driver_names_the_package_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "threadkeep_server.store.sql.engine.postgres", raising=False)
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    with pytest.raises(ValueError, match=r"needs the package 'asyncpg'; install 'threadkeep\[postgres\]'"):
        open_engine("postgresql://user@host/database", SqlOptions())
