"""Retention on demand: runs, dry runs, lists of receipts, and restores."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from ...domain.errors import ArchiveFailed, InvalidField, RetentionNotConfigured, SessionNotFound
from ...domain.model import Caller, SessionRef
from ...domain.retention.receipts import Outcome, Receipt, RunPlace, RunReceipt
from ...providers.archives.base import StorageFailed
from ..access import own_app, own_ref, own_user
from .archive import Archive
from .guard import RetentionGuard
from .paths import Named
from .runner import Restored, RetentionRunner, Selection, Transfer, TransferFailed
from .stats import RetentionStats

_log = logging.getLogger(__name__)

_ERASED = "the archive was erased, and is not restored"

MOST_SESSIONS = 1_000
"""Of one call."""


@dataclass(frozen=True, slots=True)
class Total:
    """Numbers of sessions, of their events, and of the bytes of their windows."""

    sessions: int = 0
    events: int = 0
    size: int = 0

    def plus(self, events: int, size: int) -> Total:
        """Returns the total with one more session."""
        return Total(self.sessions + 1, self.events + events, self.size + size)


@dataclass(frozen=True, slots=True)
class RunReport:
    """What a run did or would do. `totals`: by policy; `held`: why it did nothing, or would do nothing; `following`: where a
    further call continues, None if it need not."""

    receipts: Sequence[Receipt] = ()
    totals: Mapping[str, Total] = field(default_factory=dict)
    run_id: str = ""
    more: bool = False
    held: str = ""
    following: RunPlace | None = None


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A call for a run. `policies`: their names, empty: all. `since`: where an earlier call ended; None begins a run. `dry`:
    changes nothing. `ignore_hold`: also while the clock may be wrong."""

    limit: int
    policies: Collection[str] = ()
    since: RunPlace | None = None
    dry: bool = False
    ignore_hold: bool = False


@dataclass(frozen=True, slots=True)
class ReceiptQuery:
    """Selects receipts: of sessions of an app (None: any), a user and a session id (empty: any), with ids before `before`."""

    app: str | None
    user_id: str
    session_id: str
    limit: int
    before: str = ""


@dataclass(frozen=True, slots=True)
class RetentionParts:
    """What retention works with."""

    runner: RetentionRunner
    archive: Archive
    guard: RetentionGuard
    transfer: Transfer
    clock: Callable[[], int]
    stats: RetentionStats | None = None


class RetentionService:
    """Use cases of retention. `parts`: None without policies; every call then raises RetentionNotConfigured."""

    def __init__(self, parts: RetentionParts | None = None) -> None:
        self._parts = parts
        self.stats = None if parts is None else parts.stats

    async def run(self, caller: Caller, wanted: RunRequest) -> RunReport:
        """Runs policies over what the caller reaches of its tenant. When a run begins, it is decided whether the clock may be
        wrong; a call that continues it takes sessions by the time of the beginning. Raises RetentionNotConfigured, InvalidField
        for an unknown policy, ArchiveFailed."""
        parts = self._needed()
        known = {policy.name for policy in parts.runner.policies}
        if unknown := sorted(set(wanted.policies) - known):
            raise InvalidField("policies", f"must name policies of retention_policies_file; {unknown[0]!r} is none")
        if wanted.since is not None and (wanted.dry or wanted.since.policy not in known):
            raise InvalidField("run_token", "is not for a dry run, and not for other policies; begin without it")
        which = Selection(frozenset(wanted.policies), caller.app, caller.user_id)
        hold = None if wanted.since is not None else (await parts.guard.look()).hold
        if wanted.dry:
            held = "" if hold is None else hold.value
            return replace(await self._plan(parts, caller.tenant, which, wanted.limit), held=held)
        try:
            if hold is not None and not wanted.ignore_hold:
                return RunReport(run_id=(await parts.runner.refuse(caller.tenant, hold)).id, held=hold.value)
            run = await parts.runner.run(caller.tenant, wanted.limit, which, since=wanted.since)
        except StorageFailed as error:
            raise ArchiveFailed(str(error)) from None
        return _report(run)

    async def list(self, caller: Caller, query: ReceiptQuery) -> Sequence[Receipt]:
        """Returns receipts, the newest first. Raises RetentionNotConfigured, PermissionDenied, ArchiveFailed."""
        app = own_app(caller, query.app, "app")
        user_id = own_user(caller, query.user_id, "user_id") or ""
        wanted = Named(app, user_id or None, query.session_id or None)
        try:
            return await self._needed().archive.receipts(caller.tenant, wanted, query.limit, query.before)
        except StorageFailed as error:
            raise ArchiveFailed(str(error)) from None

    async def restore(self, caller: Caller, ref: SessionRef, receipt_id: str) -> tuple[Receipt, Restored]:
        """Stores an archived session again. Raises RetentionNotConfigured, PermissionDenied, SessionNotFound if there is no
        archive of it, ArchiveFailed."""
        ref = own_ref(caller, ref)
        parts = self._needed()
        try:
            receipt = await parts.archive.archived(caller.tenant, ref, receipt_id)
            if receipt is None or receipt.archive is None:
                raise SessionNotFound(ref)
            if await parts.archive.is_erased(receipt):
                raise ArchiveFailed(_ERASED)
            with TemporaryDirectory(prefix="threadkeep-archive-") as directory:
                lines = Path(directory, "lines")
                await parts.archive.fetch(receipt.archive, lines)
                restored = await parts.transfer.read(caller.tenant, lines)
            if await parts.archive.is_erased(receipt):
                await parts.runner.take_back(receipt, restored)
                raise ArchiveFailed(_ERASED)
            receipt = replace(receipt, restored=parts.clock())
            await parts.archive.put(receipt)
        except (StorageFailed, TransferFailed) as error:
            raise ArchiveFailed(str(error)) from None
        _log.info("restored session %r of tenant %r, receipt %s", ref.session_id, caller.tenant, receipt.id)
        return receipt, restored

    def _needed(self) -> RetentionParts:
        if self._parts is None:
            raise RetentionNotConfigured
        return self._parts

    @staticmethod
    async def _plan(parts: RetentionParts, tenant: str, which: Selection, limit: int) -> RunReport:
        """Returns what a run would take."""
        receipts: list[Receipt] = []
        totals: dict[str, Total] = {}
        found = 0
        async for planned in parts.runner.find(tenant, which):
            found += 1
            session, name = planned.session, planned.policy.name
            totals[name] = totals.get(name, Total()).plus(session.last_seq, session.window.bytes)
            if len(receipts) < limit:
                receipts.append(parts.runner.receipt("", tenant, planned))
        return RunReport(receipts, totals, more=found > limit)


def _report(run: RunReceipt) -> RunReport:
    totals: dict[str, Total] = {}
    for each in run.receipts:
        if each.outcome is Outcome.DELETED:
            totals[each.policy] = totals.get(each.policy, Total()).plus(each.events, each.size)
    return RunReport(run.receipts, totals, run.id if run.receipts else "", run.more, following=run.following)
