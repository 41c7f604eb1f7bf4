"""Signatures of Standard Webhooks, which libraries of many languages verify."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac

PREFIX = "whsec_"
_SHORTEST, _LONGEST = 24, 64


def secret_of(text: str) -> bytes:
    """Returns the key of `whsec_` and base64. Raises ValueError."""
    try:
        secret = base64.b64decode(text.removeprefix(PREFIX), validate=True) if text.startswith(PREFIX) else b""
    except (binascii.Error, ValueError):
        secret = b""
    if not _SHORTEST <= len(secret) <= _LONGEST:
        raise ValueError(f"must be {PREFIX} and the base64 of {_SHORTEST} to {_LONGEST} random bytes")
    return secret


def signed(secret: bytes, request_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """Returns the headers of a request. `timestamp`: seconds since the epoch."""
    digest = hmac.digest(secret, f"{request_id}.{timestamp}.".encode() + body, hashlib.sha256)
    return {
        "webhook-id": request_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": "v1," + base64.b64encode(digest).decode(),
    }
