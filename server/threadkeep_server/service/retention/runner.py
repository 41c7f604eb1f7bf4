"""Runs policies over a tenant: archives sessions and deletes those that did not change meanwhile.

The order of the steps is such that a crash between two of them loses nothing: (1) its receipt is stored as pending; (2) the
session is written to the archive, read back and compared, and the pending receipt names that; (3) the session is deleted, if it
is what was archived; (4) the receipt is stored with the outcome. A run begins with the pending receipts of runs that ended
before step 4.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from ...domain.errors import SessionNotFound, ThreadkeepError
from ...domain.model import Session, SessionRef
from ...domain.retention.policies import Action, Form, RetentionPolicy
from ...domain.retention.receipts import Outcome, Receipt, RunPlace, RunReceipt
from ...domain.state.state import StateName, StateQuery, StateScope
from ...domain.sweeping import Hold
from ...providers.archives.base import StorageFailed
from ...store.contract.maintenance import MaintenanceStore
from ...store.contract.sessions import SessionStore
from ...store.contract.state import StateStore
from .archive import Archive
from .candidates import candidates
from .identity import begin_archive

_log = logging.getLogger(__name__)
_NO_VALUES = StateQuery(limit=1)
MOST_AT_ONCE, _FEWEST_AT_ONCE = 500, 50
"""Sessions that are listed at once."""
_FAILED_AT_MOST = 10
"""So many failures in sequence end a run: the storage or the database is unavailable."""

BeforeDelete = Callable[[str, Session], Awaitable[bool]]
"""Called with the tenant and a session. Returns whether it may be deleted now."""


class TransferFailed(Exception):
    """A session could not be written to lines, or lines could not be restored. The message names no content."""


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restore did: whether it created the session, and the numbers of events that it added and found."""

    created: bool
    added: int
    found: int


class Transfer(Protocol):
    """Writes sessions to the lines of the export format, and reads them."""

    async def write(self, tenant: str, ref: SessionRef, into: Path) -> int:
        """Writes a session to a file; returns the number of its events. Raises TransferFailed."""
        ...

    async def read(self, tenant: str, lines: Path) -> Restored:
        """Stores the session of a file. Repeated, it adds nothing. Raises TransferFailed."""
        ...


class RetentionStore(SessionStore, StateStore, MaintenanceStore, Protocol):
    """The part of the store that retention uses."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A session that a run would take, and the place before it."""

    policy: RetentionPolicy
    session: Session
    place: RunPlace


@dataclass(frozen=True, slots=True)
class Selection:
    """What of the policies a run concerns: these policies (empty: all), and sessions of an app and a user (None: any)."""

    policies: frozenset[str] = frozenset()
    app: str | None = None
    user_id: str | None = None

    def has(self, ref: SessionRef) -> bool:
        """Reports whether a session is among them."""
        return self.app in (None, ref.app) and self.user_id in (None, ref.user_id)


EVERYTHING = Selection()


class RetentionRunner:
    """Runs policies. `clock` returns nanoseconds, `new_id` time-ordered ids. `ended`: called with each receipt that has an
    outcome; `before_delete`: allows a deletion."""

    def __init__(
        self,
        store: RetentionStore,
        archive: Archive,
        transfer: Transfer,
        policies: Sequence[RetentionPolicy],
        clock: Callable[[], int],
        new_id: Callable[[], str],
        *,
        ended: Callable[[Receipt], None] = lambda _: None,
        before_delete: BeforeDelete | None = None,
    ) -> None:
        self._store = store
        self._archive = archive
        self._transfer = transfer
        self.policies = policies
        self._clock = clock
        self._new_id = new_id
        self._ended = ended
        self._before_delete = before_delete

    async def tenants(self) -> Sequence[str]:
        """Returns the tenants with sessions that a policy concerns."""
        return [each for each in await self._store.tenants() if any(policy.concerns(each) for policy in self.policies)]

    async def tenants_to_run(self) -> Sequence[str]:
        """Returns these tenants, and others with pending receipts: they may have no sessions any more, or no policy. Raises
        StorageFailed."""
        concerned = await self.tenants()
        return [*concerned, *sorted(await self._archive.unsettled(concerned))]

    async def find(
        self, tenant: str, which: Selection = EVERYTHING, since: RunPlace | None = None, most: int = MOST_AT_ONCE
    ) -> AsyncIterator[Planned]:
        """Yields the sessions that a run would take, after a place (None: all, now). `most`: that the caller wants."""
        page_size = min(max(most + 1, _FEWEST_AT_ONCE), MOST_AT_ONCE)
        begin = since or RunPlace(self._clock())
        async for policy, session, place in candidates(self._store, self.policies, tenant, begin, page_size):
            if which.has(session.ref) and (not which.policies or policy.name in which.policies):
                yield Planned(policy, session, place)

    async def run(
        self,
        tenant: str,
        limit: int,
        which: Selection = EVERYTHING,
        alive: Callable[[], Awaitable[bool]] | None = None,
        since: RunPlace | None = None,
    ) -> RunReceipt:
        """Archives and deletes up to `limit` sessions, those after the place of an earlier run, if one is given. Stops early if
        `alive` returns False. Raises StorageFailed if the archive cannot be used, StoreUnavailable."""
        await begin_archive(self._store, self._archive)
        run_id, began = self._new_id(), self._clock()
        begin = since or RunPlace(began)
        receipts = [] if since else [each for each in await self.settle(tenant) if which.has(each.ref)]
        more, following, taken, failed = False, None, 0, 0
        async for planned in self.find(tenant, which, begin, limit):
            if taken >= limit:
                more, following = True, planned.place
                break
            more = failed >= _FAILED_AT_MOST or (alive is not None and not await alive())
            if more:
                break
            taken += 1
            receipts.append(await self._take(self.receipt(run_id, tenant, planned), planned))
            failed = failed + 1 if receipts[-1].outcome is Outcome.FAILED else 0
        run = RunReceipt(run_id, tenant, began, self._clock(), receipts, more=more, following=following)
        if receipts:
            await self._archive.put_run(run)
            _log.info("retention of tenant %r: %s, run %s", tenant, _shown(run.counts()), run_id)
        return run

    async def refuse(self, tenant: str, hold: Hold) -> RunReceipt:
        """Stores the receipt of a run that does nothing. Raises StorageFailed."""
        await begin_archive(self._store, self._archive)
        now = self._clock()
        run = RunReceipt(self._new_id(), tenant, now, now, held=hold.value)
        await self._archive.put_run(run)
        return run

    def receipt(self, run_id: str, tenant: str, planned: Planned) -> Receipt:
        """Returns the receipt of a session that a run takes."""
        policy, session = planned.policy, planned.session
        return Receipt(
            id=self._new_id(),
            run_id=run_id,
            policy=policy.name,
            action=policy.action,
            tenant=tenant,
            ref=session.ref,
            uid=session.uid,
            log_version=session.log_version,
            events=session.last_seq,
            size=session.window.bytes,
            create_time=session.create_time,
            update_time=session.update_time,
            time=self._clock(),
        )

    async def settle(self, tenant: str) -> Sequence[Receipt]:
        """Gives the pending receipts of a tenant an outcome: a session that is gone was deleted, one that is there was not.
        Returns those of deletions. An archive stays, whatever the outcome: another run may be about to delete its session."""
        settled = []
        for receipt in await self._archive.pending(tenant):
            if await self._archive.is_erased(receipt):
                await self._archive.discard(receipt)
                continue
            there = await is_stored(self._store, receipt)
            outcome = Outcome.CHANGED if there else Outcome.DELETED
            receipt = receipt.ended(outcome, self._clock(), "stored by another run than the one that began it")
            await self._archive.end(receipt, begun=False)
            if there:
                continue
            self._ended(receipt)
            settled.append(receipt)
        return settled

    async def take_back(self, receipt: Receipt, restored: Restored) -> None:
        """Deletes a session that a restore created from an archive that was erased meanwhile."""
        if restored.created:
            await self._store.delete_session(receipt.tenant, receipt.ref)

    async def _take(self, receipt: Receipt, planned: Planned) -> Receipt:
        try:
            receipt = await self._archived(receipt, planned.policy, planned.place.now)
            if receipt.outcome is Outcome.DELETED:
                await self._archive.end(receipt)
            else:
                await self._archive.discard(receipt)
        except (TransferFailed, SessionNotFound) as error:
            receipt = receipt.ended(Outcome.CHANGED, self._clock(), str(error))
        except ThreadkeepError as error:
            receipt = receipt.ended(Outcome.FAILED, self._clock(), error.message)
        except StorageFailed as error:
            receipt = receipt.ended(Outcome.FAILED, self._clock(), str(error))
        if receipt.outcome is Outcome.FAILED:
            _log.warning("retention of session %r failed, it stays: %s", receipt.ref.session_id, receipt.reason)
        self._ended(receipt)
        return receipt

    async def _archived(self, receipt: Receipt, policy: RetentionPolicy, now: int) -> Receipt:
        """Archives and deletes a session, if the policy selects it at a time; returns its receipt with the outcome."""
        name = StateName(StateScope.SESSION, receipt.ref)
        # Before the session and its log: the deletion notices each change from here on.
        state = await self._store.get_state(receipt.tenant, name, _NO_VALUES)
        seen = await self._store.get_session(receipt.tenant, receipt.ref)
        if seen.uid != receipt.uid or not policy.takes(seen, now):
            return receipt.ended(Outcome.CHANGED, self._clock(), "the session was changed")
        receipt = replace(receipt, log_version=seen.log_version, events=seen.last_seq, labels=seen.labels)
        await self._archive.begin(receipt)  # before there is an archive: an erasure that begins now finds it
        if policy.action is Action.ARCHIVE:
            written = await self._written(receipt, seen.ref, policy.form)
            if written.archive is None or written.archive.events != seen.last_seq:
                return written.ended(Outcome.CHANGED, self._clock(), "the session was changed while it was read")
            receipt = written
            await self._archive.put_pending(receipt)
        if self._before_delete is not None and not await self._before_delete(receipt.tenant, seen):
            return receipt.ended(Outcome.CHANGED, self._clock(), "its events are not in memory yet")
        if not await self._store.delete_unchanged(receipt.tenant, seen, state.version, self._clock()):
            return receipt.ended(Outcome.CHANGED, self._clock(), "the session was changed while it was archived")
        return receipt.ended(Outcome.DELETED, self._clock())

    async def _written(self, receipt: Receipt, ref: SessionRef, form: Form) -> Receipt:
        """Writes the archive of a session; returns the receipt with it. Raises TransferFailed, StorageFailed."""
        try:
            with TemporaryDirectory(prefix="threadkeep-archive-") as directory:
                lines = Path(directory, "lines")
                events = await self._transfer.write(receipt.tenant, ref, lines)
                return replace(receipt, archive=await self._archive.store(receipt, lines, form, events))
        except (TransferFailed, StorageFailed):
            with suppress(StorageFailed):  # the next run finds the pending receipt
                await self._archive.discard(receipt)
            raise


async def is_stored(store: SessionStore, receipt: Receipt) -> bool:
    """Reports whether the session of a receipt is in the store."""
    try:
        return (await store.get_session(receipt.tenant, receipt.ref)).uid == receipt.uid
    except SessionNotFound:
        return False


def _shown(counts: dict[str, int]) -> str:
    return ", ".join(f"{number} {outcome}" for outcome, number in counts.items())
