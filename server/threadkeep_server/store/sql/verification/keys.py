"""Decrypts what is encrypted at rest, as far as keys are given, and checks the rest of it."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from sqlalchemy import Connection

from ..encryption.master_keys import NONCE_BYTES, KeyProblem, MasterKeys
from ..encryption.vault import is_encrypted, key_number, opened
from ..schema.encryption import tenant_keys
from .findings import Findings

_LEAST: Final = 10 + NONCE_BYTES + 16
"""Bytes of an encrypted empty text: head, nonce and tag."""


class Keys:
    """The keys of the tenants of a database. `unread` counts the values whose key is not given or was destroyed."""

    def __init__(self, connection: Connection, masters: MasterKeys | None, findings: Findings) -> None:
        self._findings = findings
        self._tenants: dict[int, str] = {}
        self._ciphers: dict[int, AESGCM] = {}
        self.unread = 0
        for row in connection.execute(sa.select(tenant_keys).order_by(tenant_keys.c.id)).all():
            self._tenants[row.id] = row.tenant
            if row.wrapped is None or masters is None:
                continue
            try:
                self._ciphers[row.id] = AESGCM(masters.unwrap(row.wrapped, row.master, row.tenant))
            except KeyProblem as problem:
                findings.add("key", f"key {row.id} of tenant {row.tenant}", f"the master key {problem}")

    def opened(self, data: bytes, tenant: str | None, subject: str) -> bytes | None:
        """Returns the text; None if it cannot be read, which is a finding unless its key is not given. `tenant` None: it is
        not known."""
        if not is_encrypted(data):
            return data
        number = key_number(data)
        owner = self._tenants.get(number)
        if owner is None:
            return self._unreadable(subject, f"it is encrypted with key {number}, which the database does not have")
        if tenant is not None and owner != tenant:
            return self._unreadable(subject, f"it is encrypted with key {number}, which is of another tenant")
        if len(data) < _LEAST:
            return self._unreadable(subject, "its encrypted text is cut off")
        cipher = self._ciphers.get(number)
        if cipher is None:
            self.unread += 1
            return None
        try:
            return opened(cipher, data)
        except InvalidTag:
            return self._unreadable(subject, "its encrypted text was changed")

    def _unreadable(self, subject: str, problem: str) -> bytes | None:
        self._findings.add("encryption", subject, problem)
        return None
