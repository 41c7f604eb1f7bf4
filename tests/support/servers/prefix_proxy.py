"""A reverse proxy that serves a server below a path, which it removes: what nginx does with `proxy_pass` and buffering off."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_OWN = frozenset({"connection", "transfer-encoding", "keep-alive", "host"})
"""Headers that concern one connection."""


@contextmanager
def prefix_proxy(address: str, prefix: str) -> Iterator[str]:
    """Yields the URL of the server at this address behind the proxy; `prefix` begins with a slash and ends without one."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if not self.path.startswith(f"{prefix}/"):
                self.send_error(404)
                return
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            upstream = http.client.HTTPConnection(address, timeout=60)
            headers = {name: value for name, value in self.headers.items() if name.lower() not in _OWN}
            try:
                upstream.request(self.command, self.path.removeprefix(prefix), body or None, headers)
                self._pass_on(upstream.getresponse())
            except (OSError, http.client.HTTPException):
                self.close_connection = True
            finally:
                upstream.close()

        do_POST = do_GET  # noqa: N815

        def _pass_on(self, response: http.client.HTTPResponse) -> None:
            self.send_response(response.status)
            for name, value in response.getheaders():
                if name.lower() not in _OWN | {"content-length", "date", "server"}:
                    self.send_header(name, value)
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            while data := response.read1(65_536):
                self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
            self.wfile.write(b"0\r\n\r\n")

        def log_message(self, *_: object) -> None:
            """Prints nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as proxy:
        threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield f"http://127.0.0.1:{proxy.server_port}{prefix}"
        proxy.shutdown()
