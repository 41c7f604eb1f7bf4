"""An empty database of each engine."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Its URL."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'threadkeep.db'}"
    return str(request.getfixturevalue("postgres_url"))
