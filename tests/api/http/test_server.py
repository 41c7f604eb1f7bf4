"""The HTTP port of a complete server: events appended by one protocol are read by another."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from tests.support.servers.server_process import free_port
from threadkeep.v1 import event_service_pb2
from threadkeep_server.app.fronts import serve
from threadkeep_server.config.settings import Settings

_SERVICE = "/threadkeep.v1.EventService/"


async def _post(port: int, method: str, body: bytes, content_type: str | None = None) -> bytes:
    """Without a content type `curl -d` sends the form type."""
    headers = {"content-type": content_type} if content_type else {}
    request = urllib.request.Request(f"http://127.0.0.1:{port}{_SERVICE}{method}", body, headers)

    def call() -> bytes:
        with urllib.request.urlopen(request, timeout=10) as response:
            answer: bytes = response.read()
            return answer

    return await asyncio.to_thread(call)


async def test_events_appended_by_curl_are_read_by_connect(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, grpc_address="127.0.0.1:0", http_address="127.0.0.1:0")
    append: dict[str, Any] = {
        "session": {"app": "shop", "userId": "ann", "sessionId": "s1"},
        "createIfMissing": {},
        "events": [{"eventId": "e1", "message": {"role": "ROLE_USER", "parts": [{"text": "Größe 😀"}]}}],
    }
    async with serve(settings) as running:
        assert running.http_port is not None
        first = json.loads(await _post(running.http_port, "AppendEvents", json.dumps(append).encode()))
        again = json.loads(await _post(running.http_port, "AppendEvents", json.dumps(append).encode()))
        assert (first["lastSeq"], first["sessionCreated"]) == ("1", True)
        assert again["events"] == [{"eventId": "e1", "seq": "1", "replayed": True}]

        listed = json.loads(await _post(running.http_port, "ListEvents", b'{"session":{"sessionId":"s1"}}'))
        assert listed["events"][0]["message"]["parts"] == append["events"][0]["message"]["parts"]

        request = event_service_pb2.ListEventsRequest()
        request.session.session_id = "s1"
        answer = await _post(running.http_port, "ListEvents", request.SerializeToString(), "application/proto")
        assert event_service_pb2.ListEventsResponse.FromString(answer).events[0].event_id == "e1"


async def test_the_admin_port_has_the_metrics_and_no_data_and_the_http_port_has_no_metrics(tmp_path: Path) -> None:
    admin = f"127.0.0.1:{free_port()}"
    settings = Settings(data_dir=tmp_path, grpc_address="127.0.0.1:0", http_address="127.0.0.1:0", admin_address=admin)
    paths = ("GET /metrics", "GET /readyz", "POST /threadkeep.v1.ServerService/GetServerInfo", f"POST {_SERVICE}ListEvents")
    async with serve(settings) as running:
        assert f"127.0.0.1:{running.admin_port}" == admin
        statuses = {}
        for port in (running.http_port, running.admin_port):
            assert port is not None
            statuses[port] = [await asyncio.to_thread(_status, port, *path.split()) for path in paths]
    assert statuses == {running.http_port: [404, 200, 200, 400], running.admin_port: [200, 200, 200, 404]}


def _status(port: int, method: str, path: str) -> int:
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(method, path, "{}" if method == "POST" else None, {"content-type": "application/json"})
        return connection.getresponse().status
    finally:
        connection.close()
