"""One request to an ASGI app, without a server."""

from __future__ import annotations

import asyncio
from typing import Any

from threadkeep_server.transport.asgi import ASGIApp, Send


class Call:
    """One request, as an ASGI server passes it on."""

    def __init__(
        self, app: ASGIApp, path: str, *body: bytes, send: Send | None = None, method: str = "POST", **headers: Any
    ) -> None:
        self.sent: asyncio.Queue[Any] = asyncio.Queue()
        self.events: asyncio.Queue[Any] = asyncio.Queue()
        for number, part in enumerate(body, 1):
            self.events.put_nowait({"type": "http.request", "body": part, "more_body": number < len(body)})
        named = [(name.replace("_", "-").encode(), str(value).encode()) for name, value in headers.items()]
        scope = {"type": "http", "method": method, "path": path, "headers": named}
        self.task = asyncio.ensure_future(app(scope, self.events.get, send or self.sent.put))

    def leave(self) -> None:
        self.events.put_nowait({"type": "http.disconnect"})

    async def response(self) -> tuple[dict[str, str], bytes]:
        """Returns the trailers and the body."""
        async with asyncio.timeout(30):
            await self.task
        body, trailers = b"", {}
        while not self.sent.empty():
            event = self.sent.get_nowait()
            body += event.get("body", b"")
            if event["type"] == "http.response.trailers":
                trailers = {name.decode(): value.decode() for name, value in event["headers"]}
        return trailers, body
