"""The keys of tenants, and what is encrypted with them: AES-256-GCM (NIST SP 800-38D) with random nonces.

A tenant gets a new key after _RENEWED_AFTER_NS, so that a key encrypts fewer values than random nonces allow (2^32, section
8.3 there). Older keys only decrypt. Without any of its keys, a tenant's values are erased.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Collection
from typing import Final

import sqlalchemy as sa
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from sqlalchemy import Connection

from ....domain.errors import EncryptionKeyDestroyed, SearchDisabled, StoreUnavailable
from ..engine.base import Engine, SqlOptions
from ..schema import versions
from ..schema.encryption import tenant_keys
from .master_keys import KEY_BYTES, NONCE_BYTES, KeyProblem, MasterKeys

_log = logging.getLogger(__name__)

# Neither a protobuf message nor UTF-8 text of a memory begins with a zero byte that is followed by this version.
_HEAD: Final = b"\x00\x01"
_ID_BYTES: Final = 8
_START: Final = len(_HEAD) + _ID_BYTES
_RENEWED_AFTER_NS: Final = 30 * 86_400 * 10**9
_REFRESHED_AFTER_S: Final = 5.0
_OLDEST_CODE: Final = 10
"""The oldest schema number whose code decrypts."""

_k = tenant_keys.c


class KeyUnknown(StoreUnavailable):
    """Another server has just made the key. It is read within seconds."""

    def __init__(self) -> None:
        super().__init__("the key of an encrypted text is not known to this server yet")


def is_encrypted(data: bytes) -> bool:
    return data.startswith(_HEAD)


def key_number(data: bytes) -> int:
    """Returns the id of the key that encrypted the data."""
    return int.from_bytes(data[len(_HEAD) : _START])


def opened(cipher: AESGCM, data: bytes) -> bytes:
    """Decrypts encrypted data with its key. Raises InvalidTag if it was changed, ValueError if it is too short."""
    return cipher.decrypt(data[_START : _START + NONCE_BYTES], data[_START + NONCE_BYTES :], data[:_START])


class Vault:
    """The keys of a database. `tenants`: those to encrypt, empty for all; a tenant that has a key stays encrypted.
    `searchable`: whether encrypted tenants may search. Methods that use the database raise its errors."""

    def __init__(self, engine: Engine, masters: MasterKeys, tenants: Collection[str], *, searchable: bool) -> None:
        self._engine = engine
        self._masters = masters
        self._wanted = frozenset(tenants)
        self._searchable = searchable
        self._clock: Callable[[], int] = time.time_ns
        self._ciphers: dict[int, AESGCM] = {}
        self._current: dict[str, tuple[int, int]] = {}
        """By tenant: the id of the key that encrypts, and when it was made."""
        self._destroyed: set[int] = set()
        self._erased: set[str] = set()
        """Tenants whose keys were destroyed."""
        self._making = asyncio.Lock()

    # --- keys

    async def load(self) -> None:
        """Reads the keys, and encrypts them with the current master key. Raises KeyProblem."""
        await self._engine.write(self._rewrap)
        await self.refresh()

    def _rewrap(self, connection: Connection) -> None:
        old = sa.select(_k.id, _k.tenant, _k.master, _k.wrapped).where(
            _k.wrapped.is_not(None), _k.master != self._masters.current
        )
        for row in connection.execute(old.order_by(_k.id).with_for_update()).all():
            key = self._masters.unwrap(row.wrapped, row.master, row.tenant)
            values = {"master": self._masters.current, "wrapped": self._masters.wrap(key, row.tenant)}
            connection.execute(tenant_keys.update().where(_k.id == row.id).values(values))

    async def refresh(self) -> None:
        """Takes over the keys that other servers made, and forgets those that were destroyed."""
        query = sa.select(tenant_keys).order_by(_k.id)
        rows = await self._engine.read(lambda connection: connection.execute(query).all())
        for row in rows:
            if row.wrapped is None:
                self._forget(row.id, row.tenant)
            elif row.id not in self._ciphers:
                self._add(row.id, row.tenant, row.create_time, self._masters.unwrap(row.wrapped, row.master, row.tenant))

    def _add(self, number: int, tenant: str, create_time: int, key: bytes) -> None:
        self._ciphers[number] = AESGCM(key)
        self._current[tenant] = max(self._current.get(tenant, (0, 0)), (number, create_time))

    def _forget(self, number: int, tenant: str) -> None:
        self._ciphers.pop(number, None)
        self._destroyed.add(number)
        self._erased.add(tenant)
        self._current.pop(tenant, None)

    async def run(self) -> None:
        """Refreshes until canceled: servers share a database."""
        while True:
            await asyncio.sleep(_REFRESHED_AFTER_S)
            try:
                await self.refresh()
            except Exception as exc:  # the next refresh must not depend on this one
                _log.info("reading the keys of tenants failed: %s", type(exc).__name__)

    def encrypts(self, tenant: str) -> bool:
        """Whether texts of the tenant are encrypted from now on."""
        return not self._wanted or tenant in self._wanted or self.covers(tenant)

    def covers(self, tenant: str) -> bool:
        """Whether texts of the tenant may be encrypted."""
        return tenant in self._current or tenant in self._erased

    def scans(self, tenant: str) -> bool:
        """Whether a search of the tenant decrypts what it searches. Raises SearchDisabled."""
        if self.covers(tenant) and not self._searchable:
            raise SearchDisabled
        return self.covers(tenant)

    async def ready(self, tenant: str) -> None:
        """Makes a key for a tenant that needs one; call it before `encrypt`. Raises EncryptionKeyDestroyed."""
        if not self.encrypts(tenant) or self._is_fresh(tenant):
            return
        async with self._making:
            if not self._is_fresh(tenant):
                await self._make(tenant)

    def _is_fresh(self, tenant: str) -> bool:
        self._refuse_destroyed(tenant)
        _, created = self._current.get(tenant, (0, None))
        return created is not None and self._clock() - created < _RENEWED_AFTER_NS

    def _refuse_destroyed(self, tenant: str) -> None:
        if tenant in self._erased:
            raise EncryptionKeyDestroyed

    async def _make(self, tenant: str) -> None:
        key, now = os.urandom(KEY_BYTES), self._clock()
        values = {"tenant": tenant, "create_time": now, "master": self._masters.current}
        values["wrapped"] = self._masters.wrap(key, tenant)

        def unit(connection: Connection) -> int:
            # Code that does not decrypt must not run on this database from now on.
            if int(versions.get(connection, "oldest_code") or 0) < _OLDEST_CODE:
                versions.put(connection, "oldest_code", str(_OLDEST_CODE))
            return int(connection.execute(tenant_keys.insert().values(values).returning(_k.id)).scalar_one())

        self._add(await self._engine.write(unit), tenant, now, key)

    # --- values

    def encrypt(self, tenant: str, data: bytes) -> bytes:
        """Returns the data encrypted, or as it is if the tenant is not encrypted. The tenant is `ready`."""
        if not self.encrypts(tenant):
            return data
        self._refuse_destroyed(tenant)
        number, _ = self._current[tenant]
        head = _HEAD + number.to_bytes(_ID_BYTES)
        nonce = os.urandom(NONCE_BYTES)
        return head + nonce + self._ciphers[number].encrypt(nonce, data, head)

    def decrypt(self, data: bytes) -> bytes:
        """Returns the data, decrypted if it is encrypted. Raises EncryptionKeyDestroyed; StoreUnavailable for a key that this
        server does not know yet, and for data that was changed."""
        if not data.startswith(_HEAD):
            return data
        number = key_number(data)
        cipher = self._ciphers.get(number)
        if cipher is None:
            raise EncryptionKeyDestroyed if number in self._destroyed else KeyUnknown()
        try:
            return opened(cipher, data)
        except InvalidTag:
            raise StoreUnavailable("an encrypted text was changed outside of this server; restore it from a backup") from None


async def open_vault(engine: Engine, options: SqlOptions) -> Vault | None:
    """Returns the vault; None without master keys. Raises KeyProblem where the database needs keys that are not given."""
    if options.master_keys is None:
        some = sa.select(_k.tenant).limit(1)
        used = await engine.read(lambda connection: connection.execute(some).scalar())
        if used is not None:
            raise KeyProblem(f"must be set: texts of tenant {used!r} are encrypted in this database")
        return None
    vault = Vault(engine, options.master_keys, options.encrypted_tenants, searchable=options.encrypted_search)
    await vault.load()
    return vault
