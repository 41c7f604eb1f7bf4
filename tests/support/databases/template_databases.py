"""Copies of PostgreSQL databases that a store has opened once: migrating takes longer than most tests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from threadkeep_server.store.sql.store import open_store

from ..codec import CODEC
from .postgres import PostgresCluster

Prepare = Callable[[str], Coroutine[Any, Any, None]]


async def open_once(url: str) -> None:
    """Opens a store and closes it."""
    async with open_store(url, CODEC):
        pass


class Copies:
    """Makes databases of a cluster in the state after `prepare`; by default a store was opened and closed, without data.

    A copy is independent except for its `store_id`, which all copies share. Tests of the first start of a server use an empty
    database.
    """

    def __init__(
        self, cluster: PostgresCluster, name: str, prepare: Callable[[str], Coroutine[Any, Any, None]] = open_once
    ) -> None:
        self._cluster = cluster
        self._name = name
        self._prepare = prepare
        self._numbers = count(1)
        self._template = ""

    @contextmanager
    def one(self) -> Iterator[str]:
        """Returns the URL of a copy. The template is made on first use, by the current code including patches."""
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
        asyncio.run(self._prepare(self._cluster.create_database(name)))
        return name
