"""The suite on the reference store, whose data ends with the process."""

from __future__ import annotations

import pytest

from tests.store.suite import StoreSuite
from tests.support.codec import CODEC
from threadkeep_server.store.contract.store import Store
from threadkeep_server.store.inmemory import InMemoryStore


class TestInMemory(StoreSuite):
    @pytest.fixture
    def store(self) -> Store:
        return InMemoryStore(CODEC)
