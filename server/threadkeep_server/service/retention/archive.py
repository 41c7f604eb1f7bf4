"""The archive: where receipts and archives of sessions are, written, read back and listed.

`archives/tenant=T/app=A/user=U/session=S/` has everything of a session: archives by the id of their receipt, and the receipts.
`pending/T/` has the receipts of sessions that are being deleted. `runs/T/` has the receipts of runs.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from ...domain.model import SessionRef
from ...domain.retention.policies import Form
from ...domain.retention.receipts import Archived, Receipt, RunReceipt
from ...providers.archives.base import Storage, StorageFailed
from ...providers.archives.forms import digest, pack, unpack

_log = logging.getLogger(__name__)

_LONGEST_PART = 200
_RECEIPT = ".json"
_BEFORE, _BETWEEN, _AFTER = b'{"mac": "', b'", "receipt":\n', b"}\n"


class Archive:
    """Archives and receipts in a storage."""

    def __init__(self, storage: Storage, key: bytes) -> None:
        """`key`: a secret of the database. It authenticates receipts, and with them archives."""
        self._storage = storage
        self._key = hashlib.sha256(b"receipts of retention\0" + key).digest()

    async def store(self, receipt: Receipt, lines: Path, form: Form, events: int) -> Archived:
        """Writes an archive of JSON lines, reads it back and compares it with them. Raises StorageFailed."""
        name = f"{_place(receipt.tenant, receipt.ref)}/{receipt.id}.{form.value}"
        with TemporaryDirectory(prefix="threadkeep-archive-") as directory:
            packed = Path(directory, "packed")
            size, packed_sha256, lines_sha256 = await asyncio.to_thread(_pack, lines, packed, form)
            made = Archived(name, form, packed_sha256, size, lines_sha256, events)
            await self._storage.put(name, packed)
            await self.fetch(made, Path(directory, "lines"))
        return made

    async def fetch(self, archived: Archived, into: Path) -> None:
        """Writes the JSON lines of an archive to a file. Raises StorageFailed if it is gone or not the one that was written."""
        with TemporaryDirectory(prefix="threadkeep-archive-") as directory:
            packed = Path(directory, "packed")
            if not await self._storage.fetch(archived.name, packed):
                raise StorageFailed(f"there is no archive {archived.name}")
            if await asyncio.to_thread(digest, packed) != archived.sha256:
                raise StorageFailed(f"the archive {archived.name} is not the one that was written: its checksum differs")
            await asyncio.to_thread(unpack, packed, into, archived.form)
        if await asyncio.to_thread(digest, into) != archived.lines_sha256:
            raise StorageFailed(f"the archive {archived.name} has other lines than were written: their checksum differs")

    async def begin(self, receipt: Receipt) -> None:
        """Stores the receipt of a session that is about to be deleted."""
        await self._storage.put(_pending(receipt), self._sealed(receipt))

    async def end(self, receipt: Receipt) -> None:
        """Stores the receipt with its outcome."""
        await self._storage.put(_receipt(receipt), self._sealed(receipt))
        await self._storage.remove(_pending(receipt))

    async def discard(self, receipt: Receipt) -> None:
        """Removes what a run stored for a session that it does not delete: its archive and its receipts, of which another run
        may have stored one."""
        if receipt.archive is not None:
            await self._storage.remove(receipt.archive.name)
        await self._storage.remove(_receipt(receipt))
        await self._storage.remove(_pending(receipt))

    async def put(self, receipt: Receipt) -> None:
        """Stores a receipt again, after a change of it."""
        await self._storage.put(_receipt(receipt), self._sealed(receipt))

    async def put_run(self, run: RunReceipt) -> None:
        """Stores the receipt of a run."""
        await self._storage.put(f"runs/{_part(run.tenant)}/{run.id}{_RECEIPT}", run.to_json())

    async def pending(self, tenant: str) -> Sequence[Receipt]:
        """Returns the receipts of sessions whose deletion is not known to have ended."""
        return await self._read(await self._storage.names(f"pending/{_part(tenant)}"))

    async def receipts(
        self, tenant: str, matches: Callable[[str, str, str], bool], limit: int, before: str = ""
    ) -> Sequence[Receipt]:
        """Returns receipts, the newest first: of sessions whose app, user and id, as they are quoted in names, match, and with
        ids before `before`, if it is set. One that was changed by others is left out, and logged."""
        names = await self._storage.names(f"archives/{_part(tenant, 'tenant=')}")
        chosen = [each for each in names if each.endswith(_RECEIPT) and matches(*_session_in(each))]
        chosen = [each for each in chosen if not before or _id_in(each) < before]
        return await self._read(sorted(chosen, key=_id_in, reverse=True)[:limit])

    async def archived(self, tenant: str, ref: SessionRef, receipt_id: str = "") -> Receipt | None:
        """Returns the receipt with this id (empty: the newest) of a session, if it has an archive; None if there is none.
        Raises StorageFailed for one that was changed by others."""
        names = [each for each in await self._storage.names(_place(tenant, ref)) if each.endswith(_RECEIPT)]
        for name in sorted(names, key=_id_in, reverse=True):
            raw = await self._storage.get(name) if receipt_id in ("", _id_in(name)) else None
            receipt = None if raw is None else self._opened(name, raw)
            if receipt is not None and receipt.archive is not None:
                return receipt
        return None

    async def _read(self, names: Sequence[str]) -> list[Receipt]:
        found = []
        for name in names:
            raw = await self._storage.get(name)
            if raw is None:  # it was settled meanwhile
                continue
            try:
                found.append(self._opened(name, raw))
            except StorageFailed as error:
                _log.warning("a receipt of retention is left out: %s", error)
        return found

    def _sealed(self, receipt: Receipt) -> bytes:
        """Returns the stored form: JSON of the receipt and of what authenticates its text."""
        text = receipt.to_json()
        return _BEFORE + self._mac(text) + _BETWEEN + text + _AFTER

    def _opened(self, name: str, raw: bytes) -> Receipt:
        mac, _, rest = raw.removeprefix(_BEFORE).partition(_BETWEEN)
        text = rest.removesuffix(_AFTER)
        if not hmac.compare_digest(mac, self._mac(text)):
            raise StorageFailed(f"the receipt {name} was changed, or written by a server of another database")
        try:
            receipt = Receipt.from_json(text)
        except ValueError as error:
            raise StorageFailed(f"{name}: {error}") from None
        if receipt.id != _id_in(name):
            raise StorageFailed(f"the receipt {name} is that of {receipt.id}")
        return receipt

    def _mac(self, text: bytes) -> bytes:
        return hmac.new(self._key, text, hashlib.sha256).hexdigest().encode()


def quoted(value: str) -> str:
    """Returns an app, a user or a session id as it is in names of archives: a hash takes the place of the end of a long one."""
    safe = quote(value, safe="")
    if len(safe) <= _LONGEST_PART:
        return safe
    return f"{safe[: _LONGEST_PART - 65]}~{hashlib.sha256(value.encode()).hexdigest()}"


def _part(value: str, prefix: str = "=") -> str:
    return prefix + quoted(value)


def _place(tenant: str, ref: SessionRef) -> str:
    named = {"tenant": tenant, "app": ref.app, "user": ref.user_id, "session": ref.session_id}
    return "/".join(["archives", *(_part(value, f"{name}=") for name, value in named.items())])


def _receipt(receipt: Receipt) -> str:
    return f"{_place(receipt.tenant, receipt.ref)}/{receipt.id}{_RECEIPT}"


def _pending(receipt: Receipt) -> str:
    return f"pending/{_part(receipt.tenant)}/{receipt.id}{_RECEIPT}"


def _id_in(name: str) -> str:
    return name.rpartition("/")[2].partition(".")[0]


def _session_in(name: str) -> tuple[str, str, str]:
    _, _, app, user, session, _ = name.split("/")
    return app.removeprefix("app="), user.removeprefix("user="), session.removeprefix("session=")


def _pack(lines: Path, packed: Path, form: Form) -> tuple[int, str, str]:
    """Writes an archive; returns its size, its checksum, and that of the lines."""
    pack(lines, packed, form)
    return packed.stat().st_size, digest(packed), digest(lines)
