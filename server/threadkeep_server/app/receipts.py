"""The key that signs the receipts of erasures."""

from __future__ import annotations

import hashlib
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from ..config.settings import ConfigError


class ReceiptKey:
    """A service.erasure.Signer."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self.key_id = hashlib.sha256(key.public_key().public_bytes_raw()).hexdigest()[:16]

    def sign(self, data: bytes, /) -> bytes:
        return self._key.sign(data)


def open_receipt_key(path: Path | None) -> ReceiptKey | None:
    """Reads the key. Raises ConfigError."""
    if path is None:
        return None
    try:
        key = load_pem_private_key(path.read_bytes(), password=None)
    except OSError as error:
        raise ConfigError([f"receipt_key_file: cannot read {str(path)!r}: {error.strerror}; check the path"]) from None
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        make = f"openssl genpkey -algorithm ed25519 -out {path}"
        raise ConfigError(
            [f"receipt_key_file: must be the PEM file of an Ed25519 key without a password; make one with: {make}"]
        )
    return ReceiptKey(key)
