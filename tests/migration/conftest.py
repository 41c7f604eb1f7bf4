"""An empty database of each engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.databases.scratch import scratch_folder


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """In memory where possible: what is tested is what a migration leaves, not that it outlives the machine."""
    with scratch_folder() as folder:
        yield folder


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Its URL."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'threadkeep.db'}"
    return str(request.getfixturevalue("postgres_url"))
