"""The archive: where receipts and archives of sessions are, written, read back and listed.

`archives/tenant=T/app=A/user=U/session=S/` has everything of a session: archives by the id of their receipt, and the receipts.
`labels/T/LABEL/app=A/user=U/session=S/` has an entry for each receipt of a session with the label: see label_index.
`pending/T/` has the receipts of sessions that are being archived or deleted. `runs/T/` has the receipts of runs, without
names of sessions. `erased/T/` has a tombstone for each receipt that was erased, `erasures/T/ERASURE/` a mark for each archive
that an erasure removed. `archive-id` distinguishes the archive from another place, such as a directory where it is not mounted.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from ...domain.model import SessionRef
from ...domain.retention.policies import Form
from ...domain.retention.receipts import Archived, Receipt, RunReceipt
from ...providers.archives.base import Storage, StorageFailed
from ...providers.archives.forms import digest, pack, unpack
from . import paths
from .label_index import LabelIndex, entries_of
from .paths import Named, Stored

_log = logging.getLogger(__name__)

_MARK, _IDENTITY = b"\n", "archive-id"
_BEFORE, _BETWEEN, _AFTER = b'{"mac": "', b'", "receipt":\n', b"}\n"


class Archive:
    """Archives and receipts in a storage."""

    def __init__(self, storage: Storage, key: bytes) -> None:
        """`key`: a secret of the database. It authenticates receipts, and with them archives."""
        self._storage = storage
        self._labels = LabelIndex(storage)
        self._key = hashlib.sha256(b"receipts of retention\0" + key).digest()

    async def store(self, receipt: Receipt, lines: Path, form: Form, events: int) -> Archived:
        """Writes an archive of JSON lines, reads it back and compares it with them. Raises StorageFailed."""
        name = f"{paths.place_of(receipt)}/{receipt.id}.{form.value}"
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
        """Stores the receipt of a session that is about to be archived or deleted, with the entries of its labels."""
        await self.put_pending(receipt)
        await self._labels.add(receipt)

    async def put_pending(self, receipt: Receipt) -> None:
        """Stores the receipt of a session that is being archived or deleted."""
        await self._storage.put(paths.pending_name(receipt.tenant, receipt.id), self._sealed(receipt))

    async def end(self, receipt: Receipt, *, begun: bool = True) -> None:
        """Stores the receipt with its outcome. `begun`: False if its run may have ended before the entries of its labels were
        stored, or may be about to discard it."""
        await self._storage.put(paths.receipt_name(receipt), self._sealed(receipt))
        if not begun:
            await self._labels.add(receipt)
        discarded = not begun and await self._storage.get(paths.receipt_name(receipt)) is None
        if discarded or await self.is_erased(receipt):
            await self.discard(receipt)
        else:
            await self._storage.remove(paths.pending_name(receipt.tenant, receipt.id))

    async def discard(self, receipt: Receipt) -> None:
        """Removes what a run stored for a session that it does not delete, or that was erased: its archive and its receipts, of
        which another run may have stored one."""
        stored = Stored(paths.place_of(receipt), receipt.id)
        entries = entries_of(receipt.tenant, stored, receipt.labels or {})
        # First, because another run stores a receipt before its entries: none is left without them. Again, if it stored one.
        await self._labels.remove(entries)
        names = await self.names_of(stored)
        for name in names:
            await self._storage.remove(name)
        if any(name.endswith(paths.RECEIPT) for name in names):
            await self._labels.remove(entries)
        await self._storage.prune(stored.folder)
        await self._storage.remove(paths.pending_name(receipt.tenant, receipt.id))

    async def bury(self, tenant: str, receipt_id: str) -> None:
        """Stores that what is stored by the id of a receipt is erased, also what is stored later."""
        await self._storage.put(paths.tombstone(tenant, receipt_id), _MARK)

    async def is_erased(self, receipt: Receipt) -> bool:
        """Reports whether the receipt was erased."""
        return await self._storage.get(paths.tombstone(receipt.tenant, receipt.id)) is not None

    async def erase(
        self, tenant: str, stored: Stored, names: Sequence[str], receipt: Receipt | None, mark: str, labels: Mapping[str, str]
    ) -> int:
        """Removes these objects, which are stored by the id of a receipt, and the entries of its labels. Returns the number of
        archives among them. The mark of an erasure, unless it is empty, is stored for each. `labels`: by which it was found."""
        archives = [name for name in names if not name.endswith(paths.RECEIPT)]
        await self.bury(tenant, stored.id)
        if archives and mark:
            await self._storage.put(f"{paths.marks(tenant)}/{mark}/{stored.id}", _MARK)
        for name in archives:
            await self._storage.remove(name)
        # An erasure that is repeated after a failure finds the receipt by its folder, or by these labels.
        last = entries_of(tenant, stored, labels)
        await self._labels.remove(await self._labels.entries(tenant, stored, receipt) - last)
        for name in set(names) - set(archives):
            await self._storage.remove(name)
        await self._labels.remove(last)
        return len(archives)

    async def marked(self, tenant: str, mark: str) -> int:
        """Returns the number of archives that an erasure removed."""
        return len(await self._storage.names(f"{paths.marks(tenant)}/{mark}"))

    async def forget_marks(self, tenant: str, before: str) -> None:
        """Removes the marks of earlier erasures."""
        for folder in await self._storage.folders(paths.marks(tenant)):
            if folder.rpartition("/")[2] < before:
                for name in await self._storage.names(folder):
                    await self._storage.remove(name)
                await self._storage.prune(folder)

    async def prune(self, folder: str) -> None:
        """Removes what interrupted writes left in a folder, and the empty folders in it and above."""
        await self._storage.prune(folder)

    async def places(self, tenant: str, wanted: Named) -> Sequence[str]:
        """Returns the narrowest folders with all that is wanted of a tenant."""
        return await paths.narrowest(self._storage, paths.archives(tenant), wanted)

    async def labeled(self, tenant: str, labels: Mapping[str, str], wanted: Named) -> Sequence[Stored]:
        """Returns what is stored of the sessions that are wanted and had all of these labels, one or more, when it was stored.
        Reads the names of what had any of them."""
        return await self._labels.find(tenant, labels, wanted)

    async def names(self, place: str) -> Sequence[str]:
        """Returns the names of the archives and receipts in a folder."""
        return await self._storage.names(place)

    async def names_of(self, stored: Stored) -> Sequence[str]:
        """Returns the names of the objects that are stored by the id of a receipt."""
        return [name for name in await self._storage.names(stored.folder) if paths.id_in(name) == stored.id]

    async def receipt_of(self, tenant: str, stored: Stored) -> Receipt | None:
        """Returns the receipt of an archive, pending or not; None if there is none. Raises StorageFailed for one that was
        changed by others."""
        ended = f"{stored.folder}/{stored.id}{paths.RECEIPT}"
        # Again: a run may end between two of these.
        for name in (ended, paths.pending_name(tenant, stored.id), ended):
            raw = await self._storage.get(name)
            if raw is not None:
                return self._opened(name, raw)
        return None

    async def put(self, receipt: Receipt) -> None:
        """Stores a receipt again, after a change of it."""
        await self._storage.put(paths.receipt_name(receipt), self._sealed(receipt))

    async def identity(self) -> str | None:
        """Returns the id of the archive; None before the first run, and of a place that is not it."""
        raw = await self._storage.get(_IDENTITY)
        return None if raw is None else raw.decode(errors="replace").strip()

    async def identify(self, archive_id: str) -> None:
        """Stores the id of the archive."""
        await self._storage.put(_IDENTITY, f"{archive_id}\n".encode())

    async def put_run(self, run: RunReceipt) -> None:
        """Stores the receipt of a run."""
        await self._storage.put(f"runs/{paths.part(run.tenant)}/{run.id}{paths.RECEIPT}", run.to_json())

    async def pending(self, tenant: str, *, strict: bool = False) -> Sequence[Receipt]:
        """Returns the receipts of sessions whose deletion is not known to have ended. One that was changed by others is left
        out, and logged; `strict`: raises StorageFailed."""
        return await self._read(await self._storage.names(paths.all_pending(tenant)), strict=strict)

    async def unsettled(self, known: Collection[str]) -> Collection[str]:
        """Returns the tenants with pending receipts, without the known ones."""
        folders = {paths.all_pending(tenant) for tenant in known}
        names = [each for each in await self._storage.names(paths.PENDING) if each.rpartition("/")[0] not in folders]
        return {receipt.tenant for receipt in await self._read(names)}  # a folder may have a hash for a name

    async def receipts(self, tenant: str, wanted: Named, limit: int, before: str = "") -> Sequence[Receipt]:
        """Returns receipts, the newest first, with ids before `before`, if it is set. One that was changed by others is left
        out, and logged. Reads the names in the narrowest folders: storages list by name, and names begin with the session."""
        names = [each for place in await self.places(tenant, wanted) for each in await self._storage.names(place)]
        session = "" if wanted.session_id is None else f"/{paths.part(wanted.session_id, 'session=')}/"
        chosen = [each for each in names if each.endswith(paths.RECEIPT) and session in each]
        chosen = [each for each in chosen if not before or paths.id_in(each) < before]
        return await self._read(sorted(chosen, key=paths.id_in, reverse=True)[:limit])

    async def archived(self, tenant: str, ref: SessionRef, receipt_id: str = "") -> Receipt | None:
        """Returns the receipt with this id (empty: the newest) of a session, if it has an archive; None if there is none.
        Raises StorageFailed for one that was changed by others."""
        names = [each for each in await self._storage.names(paths.place(tenant, ref)) if each.endswith(paths.RECEIPT)]
        for name in sorted(names, key=paths.id_in, reverse=True):
            raw = await self._storage.get(name) if receipt_id in ("", paths.id_in(name)) else None
            receipt = None if raw is None else self._opened(name, raw)
            if receipt is not None and receipt.archive is not None:
                return receipt
        return None

    async def _read(self, names: Sequence[str], *, strict: bool = False) -> list[Receipt]:
        found = []
        for name in names:
            raw = await self._storage.get(name)
            if raw is None:  # it was settled meanwhile
                continue
            try:
                found.append(self._opened(name, raw))
            except StorageFailed as error:
                if strict:
                    raise
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
        if receipt.id != paths.id_in(name):
            raise StorageFailed(f"the receipt {name} is that of {receipt.id}")
        return receipt

    def _mac(self, text: bytes) -> bytes:
        return hmac.new(self._key, text, hashlib.sha256).hexdigest().encode()


def _pack(lines: Path, packed: Path, form: Form) -> tuple[int, str, str]:
    """Writes an archive; returns its size, its checksum, and that of the lines."""
    pack(lines, packed, form)
    return packed.stat().st_size, digest(packed), digest(lines)
