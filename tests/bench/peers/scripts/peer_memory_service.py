"""memory-service: a conversation over REST, on one connection that is kept open."""

import asyncio
import contextlib
import http.client
import json
import urllib.parse
from typing import Any

import measuring

PAGE = 200  # the most that a list returns, by its contract


class Service:
    """The REST API for one user, by a client that may act for it."""

    def __init__(self, url: str) -> None:
        parts = urllib.parse.urlsplit(url)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
        self._headers = {"X-API-Key": parts.username or "", "X-User-ID": "u1", "Content-Type": "application/json"}

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """The JSON of a response; anything but success raises."""
        content = None if body is None else json.dumps(body)
        self._connection.request(method, f"/v1/conversations{path}", content, self._headers)
        response = self._connection.getresponse()
        answer = response.read()
        if response.status not in (200, 201):
            raise ValueError(f"{method} {path} gave {response.status}: {answer[:200]!r}")
        found: dict[str, Any] = json.loads(answer)
        return found

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()


class Conversation:
    """One conversation."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._path = f"/{service.call('POST', '', {'title': 's1'})['id']}/entries"
        self._newest = ""

    async def append(self, text: str) -> None:
        entry = {"channel": "HISTORY", "contentType": "history", "content": [{"role": "USER", "text": text}]}
        self._newest = self._service.call("POST", self._path, entry)["id"]

    async def last(self, count: int) -> int:
        entries = self._service.call("GET", f"{self._path}?channel=history&tail=true&limit={count}")["data"]
        if entries[-1]["id"] != self._newest:
            raise ValueError("the server is too old: it does not know `tail`, and returns the first entries as the last")
        return len(entries)

    async def whole(self) -> int:
        total, cursor = 0, ""
        while True:
            page = self._service.call("GET", f"{self._path}?channel=history&limit={PAGE}{cursor}")
            total += len(page["data"])
            if not page.get("afterCursor"):
                return total
            cursor = f"&afterCursor={page['afterCursor']}"


async def main() -> None:
    plan = measuring.plan()
    with contextlib.closing(Service(plan.url)) as service:
        await measuring.measure("", Conversation(service), plan, "synchronous=FULL")


if __name__ == "__main__":
    asyncio.run(main())
