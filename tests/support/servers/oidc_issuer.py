"""An OIDC issuer on loopback, which can rotate its keys, and counts what is fetched of it."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

AUDIENCE = "threadkeep"


class OidcIssuer:
    """Signs with its newest key, and publishes this one only."""

    def __init__(self) -> None:
        self.url = ""
        self.fetched = 0
        """Requests for the keys."""
        self.down = False
        self.refuses = False
        """Whether users are sent back without a code."""
        self.claims: dict[str, Any] = {}
        """Claims of the tokens of users who sign in."""
        self._codes: dict[str, dict[str, str]] = {}
        self._generation = 0
        self.rotate()

    def rotate(self) -> None:
        self._generation += 1
        self._key = ec.generate_private_key(ec.SECP256R1())

    @property
    def key_id(self) -> str:
        return f"key-{self._generation}"

    def token(self, *, key_id: str | None = None, alg: str = "ES256", key: Any = None, **claims: Any) -> str:
        """Returns a signed token that expires in an hour; a claim of None is left out."""
        given = {"iss": self.url, "aud": AUDIENCE, "exp": int(time.time()) + 3600, "sub": "alice", "tenant": "acme"}
        given |= {"roles": ["threadkeep:admin"]} | claims
        kept = {name: value for name, value in given.items() if value is not None}
        return jwt.encode(kept, self._key if key is None else key, algorithm=alg, headers={"kid": key_id or self.key_id})

    def answer(self, path: str) -> object:
        if self.down:
            return None
        if path == "/.well-known/openid-configuration":
            endpoints = {"authorization_endpoint": f"{self.url}/authorize", "token_endpoint": f"{self.url}/token"}
            return {"issuer": self.url, "jwks_uri": f"{self.url}/keys", **endpoints}
        self.fetched += 1
        public: Any = ECAlgorithm.to_jwk(self._key.public_key(), as_dict=True)
        return {"keys": [{**public, "kid": self.key_id, "use": "sig", "alg": "ES256"}]}

    def authorize(self, query: str) -> str:
        """Returns where to send a user, who consents at once."""
        wanted = {name: values[0] for name, values in parse_qs(query).items()}
        code = secrets.token_urlsafe()
        self._codes[code] = wanted
        answer = {"error": "access_denied", "error_description": "not <b>today</b>"} if self.refuses else {"code": code}
        return f"{wanted['redirect_uri']}?{urlencode({**answer, 'state': wanted['state'], 'iss': self.url})}"

    def exchange(self, form: str) -> tuple[int, object]:
        """Returns the tokens of a code, once, to the client that can prove that it began (PKCE)."""
        given = {name: values[0] for name, values in parse_qs(form).items()}
        begun = self._codes.pop(given["code"], {})
        digest = hashlib.sha256(given["code_verifier"].encode()).digest()
        proof = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        same = all(given[name] == begun.get(name) for name in ("client_id", "redirect_uri"))
        if not same or (proof, "S256") != (begun["code_challenge"], begun["code_challenge_method"]):
            return 400, {"error": "invalid_grant"}
        identity = self.token(aud=begun["client_id"], nonce=begun["nonce"])
        return 200, {"access_token": self.token(**self.claims), "id_token": identity, "token_type": "Bearer"}


@contextmanager
def oidc_issuer() -> Iterator[OidcIssuer]:
    """Serves an issuer on a free port."""
    issuer = OidcIssuer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            if parts.path == "/authorize":
                self.send_response(302)
                self.send_header("location", issuer.authorize(parts.query))
                self.send_header("content-length", "0")
                self.end_headers()
                return
            answer = issuer.answer(self.path)
            self._send(503 if answer is None else 200, answer)

        def do_POST(self) -> None:
            form = self.rfile.read(int(self.headers["content-length"])).decode()
            self._send(*issuer.exchange(form))

        def _send(self, status: int, answer: object) -> None:
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("access-control-allow-origin", "*")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Prints nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        issuer.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield issuer
        finally:
            server.shutdown()
            thread.join()
