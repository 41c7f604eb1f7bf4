"""A store of each engine."""

from __future__ import annotations

from functools import partial

import pytest

from tests.support.codec import CODEC
from threadkeep_server.store.sql.store import open_store

from .slices import Opener


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def opener(request: pytest.FixtureRequest) -> Opener:
    """Opens a store, and opens it again."""
    return partial(open_store, request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_url"), CODEC)
