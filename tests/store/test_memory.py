"""The suite on the reference store. It lives in the process alone, so there is nothing to open again."""

from __future__ import annotations

import pytest

from tests.store.suite import StoreSuite
from tests.support.codec import CODEC
from threadkeep_server.store.contract.store import Store
from threadkeep_server.store.inmemory import MemoryStore


class TestMemory(StoreSuite):
    @pytest.fixture
    def store(self) -> Store:
        return MemoryStore(CODEC)
