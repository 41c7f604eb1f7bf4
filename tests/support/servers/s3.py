"""A small S3 on loopback: objects of one bucket in memory, over the four calls that archives make. Signatures are required, and
not verified."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape


@dataclass
class S3:
    """`objects`: by name. `failing`: the status of each call, 0 for none."""

    endpoint: str = ""
    objects: dict[str, bytes] = field(default_factory=dict)
    failing: int = 0
    calls: int = 0


class _Handler(BaseHTTPRequestHandler):
    state: S3
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Logs nothing."""

    def reply(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), "ETag": '"e"', **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def name(self) -> str | None:
        """Returns the name of the object; None after a reply with an error."""
        self.state.calls += 1
        if self.state.failing or "Credential=test-key/" not in self.headers.get("Authorization", ""):
            self.reply(self.state.failing or 403)
            return None
        return unquote(urlsplit(self.path).path).removeprefix("/archive").lstrip("/")

    def do_PUT(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        if (name := self.name()) is not None:
            self.state.objects[name] = content
            self.reply(200)

    def do_GET(self) -> None:
        name = self.name()
        if name == "":
            self.list(parse_qs(urlsplit(self.path).query))
        elif name is not None and name in self.state.objects:
            self.reply(200, self.state.objects[name], Last_Modified="Sat, 28 Nov 2026 10:00:00 GMT")
        elif name is not None:
            self.reply(404, b"<Error><Code>NoSuchKey</Code></Error>")

    def list(self, query: dict[str, list[str]]) -> None:
        prefix, delimiter = query.get("prefix", [""])[0], query.get("delimiter", [""])[0]
        found = sorted(each for each in self.state.objects if each.startswith(prefix))
        folders = set()
        if delimiter:
            below = {each: each.removeprefix(prefix).partition(delimiter) for each in found}
            folders = {prefix + "".join(parts[:2]) for parts in below.values() if parts[1]}
            found = [each for each, parts in below.items() if not parts[1]]
        contents = "".join(
            f"<Contents><Key>{escape(each)}</Key><Size>{len(self.state.objects[each])}</Size><ETag>e</ETag>"
            "<LastModified>2026-11-28T10:00:00.000Z</LastModified></Contents>"
            for each in found
        )
        contents += "".join(f"<CommonPrefixes><Prefix>{escape(each)}</Prefix></CommonPrefixes>" for each in sorted(folders))
        self.reply(200, f"<ListBucketResult><IsTruncated>false</IsTruncated>{contents}</ListBucketResult>".encode())

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if self.name() is not None:
            names = re.findall(r"<Key>(.*?)</Key>", body)
            for each in names:
                self.state.objects.pop(each, None)
            deleted = "".join(f"<Deleted><Key>{each}</Key></Deleted>" for each in names)
            self.reply(200, f"<DeleteResult>{deleted}</DeleteResult>".encode())

    def do_DELETE(self) -> None:
        if (name := self.name()) is not None:
            self.state.objects.pop(name, None)
            self.reply(204)


@contextmanager
def s3_server() -> Iterator[S3]:
    """Serves the bucket `archive` while the context is open."""
    state = S3()
    handler = type("Handler", (_Handler,), {"state": state})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    state.endpoint = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, name="s3")
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
