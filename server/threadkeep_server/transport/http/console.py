"""/console: the web console, as static files that `make console` built."""

from __future__ import annotations

import gzip
import json
import mimetypes
from collections.abc import Mapping
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import NamedTuple
from urllib.parse import urlsplit

from ...domain.errors import InvalidField
from ..asgi import Scope, Send
from .responses import TEXT, Header, respond, respond_error

ROOT = "/console"
_INDEX = "index.html"
# The build hashes the names of these files, so a name never gets another content.
_HASHED = "assets/"
_COMPRESSED = frozenset({".css", ".html", ".js", ".svg", ".txt"})
_SETTINGS = "settings.json"
# Media are those of messages: parts with data, as blob: URLs. Scripts and styles are files of the build.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src data: blob:; "
    "font-src 'self'; connect-src {}; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
_HEADERS: tuple[Header, ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"vary", b"accept-encoding"),
)


class SignIn(NamedTuple):
    """Where users of the console sign in: an OIDC issuer, at which it is a public client."""

    issuer: str
    client_id: str
    audience: str
    """What the tokens that the server accepts are for."""
    scopes: str


class Console:
    """Serves the files of a build by their path below /console. All pages of the console, such as /console/sessions, are its
    index.html, whose script reads the address."""

    def __init__(self, files: Mapping[str, bytes], sign_in: SignIn | None = None) -> None:
        """`sign_in` None: users give a token."""
        oidc = None
        origins = "'self'"
        if sign_in is not None:
            issuer = urlsplit(sign_in.issuer)
            origins = f"'self' {issuer.scheme}://{issuer.netloc}"
            oidc = {"issuer": sign_in.issuer, "clientId": sign_in.client_id}
            oidc |= {"audience": sign_in.audience, "scopes": sign_in.scopes}
        settings = json.dumps({} if oidc is None else {"oidc": oidc}).encode()
        self._files = {**files, _SETTINGS: settings + b"\n"}
        self._headers = ((b"content-security-policy", _POLICY.format(origins).encode()), *_HEADERS)
        self._compressed: dict[str, bytes] = {}

    @staticmethod
    def matches(path: str) -> bool:
        """Reports whether the path is the console's. Ignores the method."""
        return path == ROOT or path.startswith(f"{ROOT}/")

    async def __call__(self, scope: Scope, send: Send) -> None:
        path: str = scope["path"]
        if scope["method"] not in {"GET", "HEAD"}:
            await respond_error(send, InvalidField("method", f"must be GET for {path}"), 405, [(b"allow", b"GET, HEAD")])
        elif path == ROOT:
            # Relative, because a proxy may have removed a prefix of the path.
            await respond(send, 307, TEXT, b"", [(b"location", b"console/"), *self._headers])
        else:
            await self._send(path.removeprefix(f"{ROOT}/"), dict(scope["headers"]), send)

    async def _send(self, name: str, request: dict[bytes, bytes], send: Send) -> None:
        if name not in self._files and "/" not in name and "." not in name:
            name = _INDEX
        if name not in self._files:
            await respond(send, 404, TEXT, b"not a file of the console\n", [(b"cache-control", b"no-cache"), *self._headers])
            return
        age = b"public, max-age=31536000, immutable" if name.startswith(_HASHED) else b"no-cache"
        headers: list[Header] = [(b"cache-control", age), *self._headers]
        body = self._files[name]
        if b"gzip" in request.get(b"accept-encoding", b"") and name.endswith(tuple(_COMPRESSED)):
            body = self._gzipped(name)
            headers.append((b"content-encoding", b"gzip"))
        await respond(send, 200, _content_type(name), body, headers)

    def _gzipped(self, name: str) -> bytes:
        """Compresses a file at its first request, not at every start of the server."""
        if name not in self._compressed:
            self._compressed[name] = gzip.compress(self._files[name], mtime=0)
        return self._compressed[name]


@cache
def open_console(sign_in: SignIn | None = None) -> Console:
    """Returns the console of this package."""
    return Console(dict(_read(resources.files("threadkeep_server") / "console" / "static", "")), sign_in)


def _read(folder: Traversable, prefix: str) -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    for each in folder.iterdir():
        found += _read(each, f"{prefix}{each.name}/") if each.is_dir() else [(prefix + each.name, each.read_bytes())]
    return found


def _content_type(name: str) -> bytes:
    kind = mimetypes.guess_type(name, strict=True)[0] or "application/octet-stream"
    kind = "text/javascript" if name.endswith(".js") else kind
    return f"{kind}; charset=utf-8".encode() if kind.startswith("text/") else kind.encode()
