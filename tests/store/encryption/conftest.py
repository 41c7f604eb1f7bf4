"""Fixtures of stores with encryption."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any

import pytest

from tests.support.codec import CODEC
from threadkeep_server.store.sql.encryption.master_keys import MasterKeys
from threadkeep_server.store.sql.engine.base import SqlOptions
from threadkeep_server.store.sql.store import SqlStore, open_store

FIRST, SECOND = bytes([1] * 32), bytes([2] * 32)
ENCRYPTED = SqlOptions(master_keys=MasterKeys([FIRST]))

Opened = Callable[..., AbstractAsyncContextManager[SqlStore]]


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def url(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_url")


@pytest.fixture
def opened(url: str) -> Opened:
    """Opens a store on the database of the test; keywords are those of SqlOptions."""

    return partial(open_with, url)


def open_with(url: str, *keys: bytes, **options: Any) -> AbstractAsyncContextManager[SqlStore]:
    masters = MasterKeys(keys) if keys else None
    return open_store(url, CODEC, options=SqlOptions(master_keys=masters, **options))
