"""The files of TLS, followed while the server runs: certificates are renewed more often than servers are restarted."""

from __future__ import annotations

import logging
import ssl
import time
from pathlib import Path

_log = logging.getLogger(__name__)

_LOOKS_EVERY_S = 1.0


class TlsFiles:
    """Certificate chain and private key, and the CA of clients' certificates if they must have one. PEM."""

    def __init__(self, certificate: Path, private_key: Path, client_ca: Path | None = None) -> None:
        """Raises OSError."""
        self.certificate = certificate
        self.private_key = private_key
        self.client_ca = client_ca
        self._seen = self._state()
        self._looks_at = time.monotonic() + _LOOKS_EVERY_S
        self._problem = ""

    def changed(self) -> bool:
        """Returns whether the files have changed since the last time and belong together. Looks at most once a second."""
        if time.monotonic() < self._looks_at:
            return False
        self._looks_at = time.monotonic() + _LOOKS_EVERY_S
        try:
            state = self._state()
            if state == self._seen:
                return False
            self._check()
        except OSError as error:  # also while one of the files is new and the other is not
            if str(error) != self._problem:
                _log.error("the certificate stays as it was: %s", error)
            self._problem = str(error)
            return False
        self._seen, self._problem = state, ""
        _log.info("new certificate from %s", self.certificate)
        return True

    def _check(self) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.private_key, password=lambda: "")
        if self.client_ca is not None:
            context.load_verify_locations(self.client_ca)

    def _state(self) -> list[tuple[int, int, int]]:
        paths = filter(None, (self.certificate, self.private_key, self.client_ca))
        return [(found.st_ino, found.st_mtime_ns, found.st_size) for found in (path.stat() for path in paths)]
