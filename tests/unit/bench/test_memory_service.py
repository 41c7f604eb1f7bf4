"""The script of memory-service, against a server that answers as its contract says."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import sys
import threading
import urllib.parse
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.bench.peers.runner import SCRIPTS


class Handler(BaseHTTPRequestHandler):
    """One conversation; lists at most 200 entries, from the oldest or with `tail` the newest."""

    protocol_version = "HTTP/1.1"
    wbufsize = 65536  # head and body in one packet: the other end acknowledges late
    entries: list[dict[str, Any]]
    knows_tail: bool

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/v1/conversations":
            self._answer(201, {"id": "c1"})
        elif self.headers["X-API-Key"] != "key" or self.headers["X-User-ID"] != "u1":
            self._answer(401, {"error": "no user"})
        else:
            self.entries.append({"id": f"e{len(self.entries)}", **body})
            self._answer(201, self.entries[-1])

    def do_GET(self) -> None:
        parts = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(parts.query))
        assert (parts.path, query["channel"]) == ("/v1/conversations/c1/entries", "history")
        limit = int(query["limit"])
        assert limit <= 200
        if query.get("tail") == "true" and self.knows_tail:
            self._answer(200, {"data": self.entries[-limit:]})
            return
        first = int(query["afterCursor"][1:]) + 1 if "afterCursor" in query else 0
        page = self.entries[first : first + limit]
        self._answer(200, {"data": page, "afterCursor": page[-1]["id"] if first + limit < len(self.entries) else None})

    def log_message(self, *_: object) -> None:
        """Prints nothing."""

    def _answer(self, status: int, content: dict[str, Any]) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[str]:
    kind = type("Kind", (Handler,), {"entries": [], "knows_tail": getattr(request, "param", True)})
    with ThreadingHTTPServer(("127.0.0.1", 0), kind) as serving:
        threading.Thread(target=serving.serve_forever, args=(0.02,), daemon=True).start()
        yield f"127.0.0.1:{serving.server_port}"
        serving.shutdown()


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    yield importlib.import_module("peer_memory_service")
    for name in ("peer_memory_service", "measuring"):
        sys.modules.pop(name, None)


def appended(script: Any, address: str, count: int, last: int) -> tuple[int, int]:
    """How many entries a read of the last ones and a read of all find after these appends."""

    async def talk(conversation: Any) -> tuple[int, int]:
        for number in range(count):
            await conversation.append(f"message {number}")
        return await conversation.last(last), await conversation.whole()

    with contextlib.closing(script.Service(address)) as service:
        return asyncio.run(talk(script.Conversation(service)))


def test_a_conversation_is_read_whole_in_pages_and_from_its_end(server: str, script: Any) -> None:
    assert appended(script, f"http://key@{server}", 410, 50) == (50, 410)


@pytest.mark.parametrize("server", [False], indirect=True)
def test_a_server_that_does_not_know_tail_is_not_measured_as_if_it_did(server: str, script: Any) -> None:
    with pytest.raises(ValueError, match="too old"):
        appended(script, f"http://key@{server}", 3, 2)


def test_a_refusal_is_an_error(server: str, script: Any) -> None:
    with pytest.raises(ValueError, match=r"POST /c1/entries gave 401: .*no user"):
        appended(script, f"http://wrong@{server}", 1, 1)
