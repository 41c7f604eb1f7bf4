"""A server on one database for the whole run, and the gateway before it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Self

from tests.support.servers.server_process import FRONTEND, ForkServer, ServerProcess, url_settings

from .gateway import Gateway

ENGINES = ("sqlite", "postgresql")
SERVERS = (*ENGINES, "envoy")
"""What the cases run against: the engines behind gRPC's own server, and SQLite behind Envoy."""


class Engine:
    """An asynchronous context manager: a server with its defaults, and on demand another with the `hashing` embedder.

    `urls`: where their databases are; None is SQLite.
    """

    def __init__(self, fork_server: ForkServer, root: Path, urls: tuple[str, str] | None, frontend: str = FRONTEND) -> None:
        own, embedding = urls or (None, None)
        self._server = ServerProcess(fork_server, root, frontend=frontend, **url_settings(own))
        self._start_embedding = asyncio.Lock()
        self._embeds = False
        (root / "embedding").mkdir()
        embeds = {"embedder": "hashing", "frontend": frontend}
        self._embedding = ServerProcess(fork_server, root / "embedding", **embeds, **url_settings(embedding))
        self._stack = AsyncExitStack()
        self.address = self._server.address
        self.gateway_address = ""

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self._server.start)
        self._stack.enter_context(self._server)
        self._gateway = await self._stack.enter_async_context(Gateway(self.address))
        self.gateway_address = self._gateway.address
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    def rules(self, rules: Sequence[Mapping[str, Any]]) -> None:
        """What the gateway does with calls from now on."""
        self._gateway.rules(rules)

    def cut(self) -> None:
        """Ends every connection through the gateway."""
        self._gateway.cut()

    async def embedding(self) -> str:
        """The address of the server with an embedder; the first time it is started."""
        async with self._start_embedding:
            if not self._embeds:
                await asyncio.to_thread(self._embedding.start)
                self._stack.enter_context(self._embedding)
                self._embeds = True
        return self._embedding.address

    async def restart(self, how: str) -> None:
        """Ends the server, by "kill" or "term", and starts it again; returns when it serves, through the gateway too."""
        await asyncio.to_thread(self._server.kill if how == "kill" else self._server.terminate)
        await asyncio.to_thread(self._server.start)
        await self._gateway.ready()
