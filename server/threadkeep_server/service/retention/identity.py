"""The archive of a database is one place, which both know by an id. Another place is refused: one that is not mounted looks
empty."""

from __future__ import annotations

import uuid

from ...providers.archives.base import StorageFailed
from ...store.contract.maintenance import MaintenanceStore
from .archive import Archive

NOTE = "retention archive"
"""The note of the store with the id of its archive."""
_OTHER = (
    "retention_archive is not the archive that this database used before: its file archive-id is missing or another; mount the "
    "archive, or move all of it, with archive-id, to the new place"
)


async def begin_archive(store: MaintenanceStore, archive: Archive) -> None:
    """Checks before a run that the place is the archive of the database, and makes it that if there is none. Raises
    StorageFailed."""
    if await store.note(NOTE) is None:
        own = await archive.identity() or uuid.uuid4().hex
        await archive.identify(own)
        await store.put_note(NOTE, own, None)
        known = await store.note(NOTE)
        if known is not None and known != own:  # another server was first
            await archive.identify(known)
    await check_archive(store, archive)


async def check_archive(store: MaintenanceStore, archive: Archive) -> None:
    """Checks that the place is the archive of the database, if that has one. Raises StorageFailed."""
    known = await store.note(NOTE)
    if known is not None and await archive.identity() != known:
        raise StorageFailed(_OTHER)
