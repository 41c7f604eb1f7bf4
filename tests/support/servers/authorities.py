"""Leaves out the certificates of public authorities: every HTTP client loads them, which takes longer than most of its tests.

Endpoints of tests are on loopback, without TLS or with an authority of their own.
"""

from __future__ import annotations

import os
import ssl
from typing import Any

import certifi

_load_any = ssl.SSLContext.load_verify_locations
_PUBLIC = {certifi.where(), os.environ.get("SSL_CERT_FILE", "")}


def _load(context: ssl.SSLContext, cafile: Any = None, capath: Any = None, cadata: Any = None) -> None:
    if cafile is None or str(cafile) not in _PUBLIC:
        _load_any(context, cafile, capath, cadata)


def leave_out_public_authorities() -> None:
    """Applies to this process, from now on."""
    ssl.SSLContext.load_verify_locations = _load  # type: ignore[method-assign, assignment]
