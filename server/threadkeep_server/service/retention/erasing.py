"""Erasures reach the archive: what retention stored of a user, an app, a session, or of sessions with labels, is removed.

It begins when the sessions are gone from the database. From then on a run archives none of them; of one that is under way there
is a pending receipt. A tombstone for each receipt makes that run, a later one, or a restore remove what they store afterwards.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from ...domain.erasure import Erasure, ErasureScope
from ...domain.errors import ArchiveFailed
from ...domain.model import SessionRef
from ...domain.retention.receipts import Receipt
from ...providers.archives.base import StorageFailed
from ...store.contract.erasure import RECEIPTS_KEPT_NS
from ...store.contract.maintenance import MaintenanceStore
from ...store.contract.sessions import SessionStore
from .archive import Archive
from .identity import check_archive
from .paths import Named, Stored, place_of, stored_of
from .runner import is_stored

_AT_ONCE = 16
_REPEAT = "what is in the database is erased, and archives may be left; repeat the call"


class ErasedStore(SessionStore, MaintenanceStore, Protocol):
    """The part of the store that erasures of archives use."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What to remove: all in some folders, or, of a scope with labels, what has them. `mark`: of the erasure, or empty."""

    tenant: str
    scope: ErasureScope
    places: Sequence[str]
    session_id: str = ""
    mark: str = ""

    @property
    def named(self) -> Named:
        return Named(self.scope.app, self.scope.user_id)

    def has(self, receipt: Receipt) -> bool:
        """Reports whether the session of a receipt is concerned. Raises StorageFailed if its labels are not known."""
        ref, scope = receipt.ref, self.scope
        named = scope.app in (None, ref.app) and scope.user_id in (None, ref.user_id)
        if not named or self.session_id not in ("", ref.session_id):
            return False
        if scope.labels and receipt.labels is None:
            raise StorageFailed(f"the receipt {receipt.id} has no labels")
        return scope.labels.items() <= (receipt.labels or {}).items()


class _Found(NamedTuple):
    """What to erase: the objects that are stored by the id of a receipt. `receipt`: None if it is not known."""

    stored: Stored
    names: Sequence[str]
    receipt: Receipt | None


class ArchiveErasure:
    """A service.erasure.Archives. `noted`: called with each tenant, scope, and number of removed archives."""

    def __init__(self, archive: Archive, store: ErasedStore, noted: Callable[[str, ErasureScope, int], None]) -> None:
        self._archive = archive
        self._store = store
        self._noted = noted

    async def erase(self, wanted: Erasure, start_time: int, until: float) -> bool:
        """Removes the archives and receipts of a scope. Returns False if more is left at `until`, by time.monotonic(). Raises
        ArchiveFailed."""
        tenant, scope = wanted.tenant, wanted.scope
        try:
            await check_archive(self._store, self._archive)
            await self._archive.forget_marks(tenant, f"{max(wanted.now - RECEIPTS_KEPT_NS, 0):020}")
            places = await self._archive.places(tenant, Named(scope.app, scope.user_id))
            what = _Wanted(tenant, scope, places, mark=_mark(wanted, start_time))
            async for _ in self._remove(what):
                if time.monotonic() > until:
                    return False
            count = await self._archive.marked(tenant, what.mark)
        except StorageFailed as error:
            raise ArchiveFailed(f"{error}; {_REPEAT}") from None
        if count:
            self._noted(tenant, scope, count)
        return True

    async def count(self, wanted: Erasure, start_time: int) -> int:
        """Returns the number of archives that an erasure has removed. Raises ArchiveFailed."""
        try:
            return await self._archive.marked(wanted.tenant, _mark(wanted, start_time))
        except StorageFailed as error:
            raise ArchiveFailed(f"{error}; {_REPEAT}") from None

    async def session(self, tenant: str, ref: SessionRef) -> int:
        """Removes the archives and receipts of a session. Returns the number of archives. Raises ArchiveFailed."""
        scope = ErasureScope(ref.user_id, ref.app)
        try:
            await check_archive(self._store, self._archive)
            places = await self._archive.places(tenant, Named(*ref))
            counts = [count async for count in self._remove(_Wanted(tenant, scope, places, ref.session_id))]
        except StorageFailed as error:
            raise ArchiveFailed(f"{error}; {_REPEAT}") from None
        if sum(counts):
            self._noted(tenant, scope, sum(counts))
        return sum(counts)

    async def _remove(self, what: _Wanted) -> AsyncIterator[int]:
        """Removes some at a time; yields how many archives."""
        folders = set() if what.scope.labels else set(what.places)
        for receipt in await self._archive.pending(what.tenant, strict=True):
            if what.has(receipt) and not await is_stored(self._store, receipt):
                await self._archive.bury(what.tenant, receipt.id)
                folders.add(place_of(receipt))
        left = await self._stored(what)
        while some := left[:_AT_ONCE]:
            del left[:_AT_ONCE]
            found = [each for each in await asyncio.gather(*(self._found(what, *each) for each in some)) if each is not None]
            erase = (self._archive.erase(what.tenant, *each, what.mark, what.scope.labels) for each in found)
            count = sum(await asyncio.gather(*erase))
            folders |= {each.stored.folder for each in found}
            if found:
                yield count
        for folder in sorted(folders):
            await self._archive.prune(folder)

    async def _stored(self, what: _Wanted) -> list[tuple[Stored, Sequence[str] | None]]:
        """Returns what is stored in the folders, with the names of its objects; what has the labels, without them."""
        if what.scope.labels:
            found = await self._archive.labeled(what.tenant, what.scope.labels, what.named)
            return [(each, None) for each in found]
        stored: defaultdict[Stored, list[str]] = defaultdict(list)
        for place in what.places:
            for name in await self._archive.names(place):
                stored[stored_of(name)].append(name)
        return list(stored.items())

    async def _found(self, what: _Wanted, stored: Stored, names: Sequence[str] | None) -> _Found | None:
        """Returns what is to be erased of what is stored; None: nothing."""
        if names is not None:
            with suppress(StorageFailed):
                return _Found(stored, names, await self._archive.receipt_of(what.tenant, stored))
            return _Found(stored, names, None)  # it is erased also if its receipt was changed
        names = await self._archive.names_of(stored)
        receipt = await self._archive.receipt_of(what.tenant, stored)
        if receipt is None and names:
            raise StorageFailed(f"{stored.folder} has an archive without a receipt, {stored.id}, so its labels are not known")
        # Without both it has entries that an erasure which failed has left; a receipt alone is pending.
        return _Found(stored, names, receipt) if receipt is None or (names and what.has(receipt)) else None


def _mark(wanted: Erasure, start_time: int) -> str:
    """Returns the name of an erasure, which names nothing of its scope."""
    return f"{start_time:020}-{hashlib.sha256(f'{start_time} {wanted.key}'.encode()).hexdigest()}"
