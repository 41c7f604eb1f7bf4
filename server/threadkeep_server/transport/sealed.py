"""Seals the numbers in tokens: positions count the changes and rows of all tenants, so nobody may read or forge them.

AES-SIV (RFC 5297) needs no nonce: equal numbers, bound to equal values, are sealed alike, which reveals nothing about others.
"""

from __future__ import annotations

import base64
import hashlib

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

OVERHEAD = 16
"""How much longer sealed bytes are."""


class Seal:
    """Seals with the key of one store."""

    def __init__(self, store_id: str, key: bytes) -> None:
        self._store_id = store_id.encode()
        self._cipher = AESSIV(key)

    def digest(self, size: int, *parts: bytes) -> bytes:
        """Returns the digest, of `size` bytes, of the values that a token is bound to."""
        return hashlib.blake2b(b"".join((self._store_id, *parts)), digest_size=size).digest()

    def close(self, content: bytes, bound_to: bytes) -> bytes:
        return self._cipher.encrypt(content, [bound_to])

    def open(self, sealed: bytes, bound_to: bytes) -> bytes | None:
        """Returns the content; None if it was not sealed with this key, or is bound to something else."""
        try:
            return self._cipher.decrypt(sealed, [bound_to])
        except (InvalidTag, ValueError):
            return None


def decode_token(token: str) -> bytes | None:
    """Returns the bytes of a token, None if it is not base64url."""
    try:
        return base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except ValueError:
        return None
