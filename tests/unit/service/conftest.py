"""The services on a store of their own."""

from __future__ import annotations

import pytest

from tests.unit.service.bench import Bench


@pytest.fixture
def bench() -> Bench:
    return Bench()
