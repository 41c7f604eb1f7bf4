"""An OIDC issuer on loopback, which can rotate its keys, and counts what is fetched of it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

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
            return {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}
        self.fetched += 1
        public: Any = ECAlgorithm.to_jwk(self._key.public_key(), as_dict=True)
        return {"keys": [{**public, "kid": self.key_id, "use": "sig", "alg": "ES256"}]}


@contextmanager
def oidc_issuer() -> Iterator[OidcIssuer]:
    """Serves an issuer on a free port."""
    issuer = OidcIssuer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer = issuer.answer(self.path)
            body = json.dumps(answer).encode()
            self.send_response(503 if answer is None else 200)
            self.send_header("content-type", "application/json")
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
