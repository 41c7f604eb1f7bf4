"""PostgreSQL databases that were opened by a store once and are copied since: migrating takes longer than most tests."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

from threadkeep_server.store.sql.store import open_store

from ..codec import CODEC
from .postgres import PostgresCluster


class Copies:
    """Makes databases of a cluster as a store leaves them that has been opened and closed, with nothing in them.

    A copy is a database of its own in everything but the `store_id` that it has in common with the others. What tests the first
    start of a server takes an empty one instead.
    """

    def __init__(self, cluster: PostgresCluster, name: str) -> None:
        self._cluster = cluster
        self._name = name
        self._numbers = count(1)
        self._template = ""

    @contextmanager
    def one(self) -> Iterator[str]:
        """The URL of a copy. The first is made of a database that is opened now, by the code and as it is patched now."""
        if not self._template:
            self._template = self._opened()
        name = f"{self._name}_{next(self._numbers)}"
        url = self._cluster.create_database(name, template=self._template)
        try:
            yield url
        finally:
            self._cluster.drop_database(name)

    def _opened(self) -> str:
        name = f"{self._name}_template"
        url = self._cluster.create_database(name)

        async def once() -> None:
            async with open_store(url, CODEC):
                pass

        asyncio.run(once())
        return name
