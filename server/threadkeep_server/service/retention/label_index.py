"""The index by label of what retention stored: an erasure by label reads what it erases, not the receipts of the tenant.

An entry for each label of a session names its folder and the id of the receipt. It is stored before the receipt and the
archive, and removed before the receipt, unless this is erased by the label.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence

from ...domain.retention.receipts import Receipt
from ...providers.archives.base import Storage
from . import paths
from .paths import Named, Stored

_ENTRY = b"\n"


class LabelIndex:
    """Entries in the storage of an archive. All raise StorageFailed."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    async def add(self, receipt: Receipt) -> None:
        """Stores the entries of a receipt."""
        await asyncio.gather(*(self._storage.put(name, _ENTRY) for name in _all(receipt)))

    async def remove(self, entries: Collection[str]) -> None:
        """Removes entries, and the folders that they leave empty."""
        for name in entries:
            await self._storage.remove(name)
            await self._storage.prune(name.rpartition("/")[0])

    async def entries(self, tenant: str, stored: Stored, receipt: Receipt | None) -> set[str]:
        """Returns the entries of what is stored by the id of a receipt. Where its labels are not known, those of every label of
        the tenant, of which most do not exist."""
        if receipt is not None and receipt.labels is not None:
            return set(_all(receipt))
        return {_entry(tenant, label, stored) for label in await self._storage.folders(paths.labels(tenant))}

    async def find(self, tenant: str, labels: Mapping[str, str], wanted: Named) -> Sequence[Stored]:
        """Returns what has an entry of each of these labels, one or more."""
        found: set[str] | None = None
        for label in (paths.label(tenant, *each) for each in labels.items()):
            places = await paths.narrowest(self._storage, label, wanted)
            names = {name.removeprefix(label) for place in places for name in await self._storage.names(place)}
            found = names if found is None else found & names
        return [paths.stored_of(paths.archives(tenant) + name) for name in sorted(found or ())]


def entries_of(tenant: str, stored: Stored, labels: Mapping[str, str]) -> set[str]:
    """Returns the entries of these labels."""
    return {_entry(tenant, paths.label(tenant, *label), stored) for label in labels.items()}


def _all(receipt: Receipt) -> set[str]:
    return entries_of(receipt.tenant, Stored(paths.place_of(receipt), receipt.id), receipt.labels or {})


def _entry(tenant: str, label: str, stored: Stored) -> str:
    return f"{label}{stored.folder.removeprefix(paths.archives(tenant))}/{stored.id}"
