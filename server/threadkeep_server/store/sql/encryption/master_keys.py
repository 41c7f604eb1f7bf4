"""Master keys: they encrypt the keys of tenants and nothing else."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Sequence
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES: Final = 32
NONCE_BYTES: Final = 12


class KeyProblem(ValueError):
    """A key cannot be used; the text says what to do."""


class MasterKeys:
    """The first one encrypts; all of them decrypt, each what it has encrypted."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        """Raises KeyProblem."""
        if not keys or any(len(key) != KEY_BYTES for key in keys):
            raise KeyProblem(f"must be one or more keys of {KEY_BYTES} bytes")
        self._ciphers = {key_id(key): AESGCM(key) for key in keys}
        self.current = key_id(keys[0])
        """The id of the key that encrypts."""

    def __contains__(self, master: object) -> bool:
        return master in self._ciphers

    def wrap(self, key: bytes, tenant: str) -> bytes:
        """Encrypts the key of a tenant. It cannot be decrypted as that of another."""
        nonce = os.urandom(NONCE_BYTES)
        return nonce + self._ciphers[self.current].encrypt(nonce, key, tenant.encode())

    def unwrap(self, wrapped: bytes, master: str, tenant: str) -> bytes:
        """Raises KeyProblem."""
        cipher = self._ciphers.get(master)
        if cipher is None:
            raise KeyProblem(f"lacks the master key {master}, which the database uses; add it below the present one")
        try:
            return cipher.decrypt(wrapped[:NONCE_BYTES], wrapped[NONCE_BYTES:], tenant.encode())
        except InvalidTag:
            raise KeyProblem(f"does not decrypt the key of tenant {tenant!r}: its row was changed; restore it") from None


def key_id(key: bytes) -> str:
    """Returns the public name of a master key: 16 hexadecimal digits of its SHA-256."""
    return hashlib.sha256(key).hexdigest()[:16]


def parse_keys(text: str) -> MasterKeys:
    """Reads keys in base64, one per line; empty lines and lines that begin with # are comments. Raises KeyProblem."""
    keys = []
    for number, line in enumerate(text.splitlines(), 1):
        value = line.strip()
        if not value or value.startswith("#"):
            continue
        try:
            key = base64.b64decode(value, validate=True)
        except ValueError:
            key = b""
        if len(key) != KEY_BYTES:
            raise KeyProblem(f"line {number} must be {KEY_BYTES} bytes in base64; make a key with: openssl rand -base64 32")
        keys.append(key)
    if not keys:
        raise KeyProblem("has no key; make one with: openssl rand -base64 32")
    return MasterKeys(keys)
