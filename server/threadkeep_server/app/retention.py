"""Composition of retention: its policies, the storage of archives, and the runs in the background."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from threadkeep.messages import new_event_id

from ..config.retention import PolicyEntry, read_policies, read_storage_options
from ..config.settings import ConfigError, Settings
from ..domain.erasure import ErasureScope
from ..domain.model import SECOND_NS, Caller
from ..domain.retention.policies import Action, Form, RetentionPolicy
from ..domain.retention.receipts import Outcome, Receipt
from ..domain.sweeping import SweepGuard
from ..providers.archives.base import Storage, StorageFailed
from ..providers.archives.directory import Directory
from ..service.retention.archive import Archive
from ..service.retention.erasing import ArchiveErasure
from ..service.retention.guard import RetentionGuard
from ..service.retention.runner import BeforeDelete, RetentionRunner
from ..service.retention.service import RetentionParts, RetentionService
from ..service.retention.stats import RetentionStats
from ..service.retention.worker import RetentionWorker
from ..store.contract.maintenance import StoreInfo
from ..store.contract.store import Store
from ..transport.audit.trail import Trail
from ..transport.rpc import Service
from .compaction import end


def open_archive(settings: Settings, info: StoreInfo) -> Archive | None:
    """Returns the archive, also without policies: erasures reach it. Raises ConfigError."""
    return Archive(_storage(settings), bytes.fromhex(info.token_key)) if settings.retention_archive else None


def archive_erasure(archive: Archive | None, store: Store, trail: Trail | None) -> ArchiveErasure | None:
    """Returns what erases archives."""
    return None if archive is None else ArchiveErasure(archive, store, _Audit(trail).erased)


@asynccontextmanager
async def open_retention(
    settings: Settings,
    store: Store,
    archive: Archive | None,
    services: Sequence[Service],
    before_delete: BeforeDelete | None,
    trail: Trail | None,
) -> AsyncIterator[RetentionService]:
    """Runs the policies while the context is open, if there are any. `services` are read at calls. Raises ConfigError."""
    if settings.retention_policies_file is None or archive is None:
        yield RetentionService()
        return
    from ..transport.in_process.transfer import SessionTransfer  # the code of exports, which other servers need not load

    policies = _policies(settings, settings.retention_policies_file)
    transfer, stats = SessionTransfer(services), RetentionStats(time.time_ns())
    audit = _Audit(trail)

    def ended(receipt: Receipt) -> None:
        stats.note(receipt)
        audit.ended(receipt)

    runner = RetentionRunner(
        store,
        archive,
        transfer,
        policies,
        time.time_ns,
        new_event_id,
        ended=ended,
        before_delete=before_delete,
    )
    guard = RetentionGuard(store, runner, sweep_guard(settings))
    interval, limit = settings.retention_interval.total_seconds(), settings.retention_run_sessions
    worker = RetentionWorker(store, runner, guard, uuid.uuid4().hex, interval, limit, stats=stats)
    task = asyncio.create_task(worker.run(), name="retention")
    try:
        yield RetentionService(RetentionParts(runner, archive, guard, transfer, time.time_ns, stats))
    finally:
        await end(task)


def sweep_guard(settings: Settings) -> SweepGuard:
    """Returns what decides whether the clock can be believed."""
    return SweepGuard(int(settings.sweep_hold.total_seconds() * SECOND_NS))


def _policies(settings: Settings, path: Path) -> list[RetentionPolicy]:
    entries = read_policies(path)
    plain = [name for name, entry in entries if entry.action == "archive" and not entry.unsealed]
    if plain and any((settings.encryption_key_file, settings.encryption_key, settings.encryption_key_command)):
        problem = "this server encrypts sessions at rest, and archives are not encrypted"
        advice = 'allow that with unsealed = true, or use action = "delete"'
        raise ConfigError([f"retention_policies_file: {plain[0]}: {problem}; {advice}"])
    if any(entry.format == "parquet" for _, entry in entries):
        _require("pyarrow", "retention_policies_file: the format parquet")
    return [_policy(name, entry) for name, entry in entries]


def _policy(name: str, entry: PolicyEntry) -> RetentionPolicy:
    return RetentionPolicy(
        name,
        Action(entry.action),
        Form(entry.format),
        frozenset(entry.tenants),
        frozenset(entry.apps),
        frozenset(entry.users),
        entry.labels,
        entry.keep,
        _nanoseconds(entry.idle),
        _nanoseconds(entry.age),
    )


def _nanoseconds(span: timedelta | None) -> int | None:
    return None if span is None else int(span.total_seconds() * SECOND_NS)


def _storage(settings: Settings) -> Storage:
    """Raises ConfigError without the extra `archive`, and for a URL that is none of a storage."""
    where = settings.retention_archive
    scheme, separator, rest = where.partition("://")
    if not separator:
        return Directory(Path(where).expanduser())
    if scheme == "file":
        return Directory(Path(rest))
    _require("obstore", "retention_archive: object storage")
    from ..providers.archives.objects import Objects

    try:
        return Objects(where, read_storage_options(settings.retention_storage_file))
    except StorageFailed as error:
        raise ConfigError([f"retention_archive: {error}; check the URL and retention_storage_file"]) from None


def _require(module: str, what: str) -> None:
    if find_spec(module) is None:
        raise ConfigError([f"{what} needs the extra `archive`; run: pip install 'threadkeep[archive]'"])


class _Audit:
    """Records what retention does. `trail`: None keeps no records."""

    def __init__(self, trail: Trail | None) -> None:
        self._trail = trail

    def ended(self, receipt: Receipt) -> None:
        """Records the outcome of a session."""
        about = receipt.ref._asdict() | {"policy": receipt.policy, "receipt": receipt.id, "events": receipt.events}
        self._note(receipt.tenant, about, "OK" if receipt.outcome is Outcome.DELETED else receipt.outcome.name)

    def erased(self, tenant: str, scope: ErasureScope, archives: int) -> None:
        """Records that archives were erased."""
        self._note(tenant, {"app": scope.app, "user_id": scope.user_id, "archives": archives}, "ERASED")

    def _note(self, tenant: str, about: dict[str, Any], outcome: str) -> None:
        if self._trail is not None:
            self._trail.call("retention", Caller(tenant), about).note(outcome)
