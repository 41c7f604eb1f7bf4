"""A server on one database for the whole run, and the gateway before it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Self

from tests.support.models.webhooks import webhooks_file
from tests.support.servers.server_process import FRONTEND, ForkServer, ServerProcess, url_settings

from .proxy.gateway import Gateway

ENGINES = ("sqlite", "postgresql")
SERVERS = (*ENGINES, "envoy")
"""What the cases run against: the engines behind gRPC's own server, and SQLite behind Envoy."""
OTHERS: Mapping[str, Mapping[str, Any]] = {
    "embedding": {"embedder": "hashing"},
    "guarded": {
        "auth_tokens": json.dumps({f"token-of-the-{tenant}-tenant": {"tenant": tenant} for tenant in ("first", "second")}),
        "max_subscriptions_per_caller": 1,
        "watch_heartbeat": "1s",
        "feed_retention": "1s",
        "search_index": "false",  # a feed is kept until it is indexed
        "compaction_webhook_attempts": 1,
    },
}
"""The settings of the servers that some cases need, by name."""


class Engine:
    """An asynchronous context manager: a server with its defaults, and on demand the others, each with its own database.

    `urls`: where the databases are, by name, "" for the server with defaults; None is SQLite.
    """

    def __init__(self, fork_server: ForkServer, root: Path, urls: Mapping[str, str] | None, frontend: str = FRONTEND) -> None:
        def server(name: str, **settings: Any) -> ServerProcess:
            place = root / name
            place.mkdir(exist_ok=True)
            url = None if urls is None else urls[name]
            if name == "guarded":
                settings["audit_log"] = str(place / "audit.log")
                settings["compaction_webhooks_file"] = webhooks_file(place, dead="http://127.0.0.1:1/")
            return ServerProcess(fork_server, place, frontend=frontend, **settings, **url_settings(url))

        self._server = server("")
        self._others = {name: server(name, **settings) for name, settings in OTHERS.items()}
        self._started: set[str] = set()
        self._starting = asyncio.Lock()
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

    async def other(self, name: str) -> str:
        """The address of one of OTHERS; the first time it is started."""
        server = self._others[name]
        async with self._starting:
            if name not in self._started:
                await asyncio.to_thread(server.start)
                self._stack.enter_context(server)
                self._started.add(name)
        return server.address

    async def restart(self, how: str, name: str = "") -> None:
        """Ends a server, by "kill" or "term", and starts it again; returns when it serves, through the gateway too."""
        server = self._others[name] if name else self._server
        await asyncio.to_thread(server.kill if how == "kill" else server.terminate)
        await asyncio.to_thread(server.start)
        await self._gateway.ready()
