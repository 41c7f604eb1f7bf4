"""Erasures: everything of a user, of an app, or with labels, with a receipt; and a session with its memories."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol

from ..domain.erasure import Erased, Erasure, ErasureScope
from ..domain.errors import InvalidField, PermissionDenied, SessionNotFound
from ..domain.memories import Forget, MemoryScope
from ..domain.model import SECOND_NS, Caller, SessionRef
from ..domain.updates.session_updates import require_uid
from ..store.contract.erasure import ErasureStore
from ..store.contract.memories import MemoriesStore
from ..store.contract.sessions import SessionStore
from .access import own_app, own_ref, own_user

_CALL_S = 10.0
"""Below the deadlines of clients, so that a long erasure is a series of calls that succeed."""


class Signer(Protocol):
    """Signs receipts. `key_id` identifies the key."""

    key_id: str

    def sign(self, data: bytes, /) -> bytes: ...


class Archives(Protocol):
    """The archives of retention."""

    async def erase(self, wanted: Erasure, start_time: int, until: float) -> bool:
        """Removes the archives and receipts of a scope, when its sessions are gone. Returns False if more is left at `until`,
        by time.monotonic(). Raises ArchiveFailed."""
        ...

    async def count(self, wanted: Erasure, start_time: int) -> int:
        """Returns the number of archives that the erasure with this start has removed. Raises ArchiveFailed."""
        ...

    async def session(self, tenant: str, ref: SessionRef) -> int:
        """Removes the archives and receipts of a session, when it is gone. Returns the number of archives. Raises
        ArchiveFailed."""
        ...


@dataclass(frozen=True, slots=True)
class Receipt:
    """What an erasure has erased. `archives`: number of archives; None: the server has none, and looked for none. `statement`:
    what the signature covers; empty, like the signature, if more is left."""

    request_id: str
    erased: Erased
    archives: int | None = None
    statement: str = ""
    signature: bytes = b""
    key_id: str = ""


class ErasedSession(NamedTuple):
    """What was deleted of a session. `events`: None if it did not exist; `archives`: as in Receipt."""

    events: int | None
    memories: int = 0
    archives: int | None = None


class Receipts:
    """Makes receipts. `signer`: None leaves them unsigned."""

    def __init__(self, store_id: str, signer: Signer | None = None) -> None:
        self._store_id = store_id
        self._signer = signer

    def receipt(self, scope: Mapping[str, Any], request_id: str, erased: Erased, archives: int | None = None) -> Receipt:
        """`scope`: what was to be erased, by name. `archives`: as in Receipt."""
        made = Receipt(request_id, erased, archives)
        if erased.finish_time is None:
            return made
        statement = self._statement(scope, made)
        if self._signer is None:
            return replace(made, statement=statement)
        return replace(made, statement=statement, signature=self._signer.sign(statement.encode()), key_id=self._signer.key_id)

    def _statement(self, scope: Mapping[str, Any], made: Receipt) -> str:
        request_id, erased = made.request_id, made.erased
        facts = {
            "store_id": self._store_id,
            "request_id": request_id,
            "scope": dict(scope),
            "start_time": _shown(erased.start_time),
            "finish_time": _shown(erased.finish_time or 0),
            "deleted_sessions": erased.sessions,
            "deleted_events": erased.events,
            "deleted_memories": erased.memories,
            "deleted_embeddings": erased.embeddings,
            "deleted_consumers": erased.consumers,
            "ids_digest": erased.ids_digest,
        }
        if made.archives is not None:
            facts["deleted_archives"] = made.archives
        return json.dumps(facts, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


class ErasureServiceStore(ErasureStore, MemoriesStore, SessionStore, Protocol):
    """The part of the store that erasures use."""


class ErasureService:
    """Use cases of erasure. `clock` gives nanoseconds. `archives`: None if the server has none. All raise ArchiveFailed if the
    archives are out of reach: what is in the database is erased then, and a repeated call continues."""

    def __init__(
        self, store: ErasureServiceStore, receipts: Receipts, clock: Callable[[], int], archives: Archives | None = None
    ) -> None:
        self._archives = archives
        self._store = store
        self._receipts = receipts
        self._clock = clock

    async def user(self, caller: Caller, user_id: str, app: str | None, request_id: str) -> Receipt:
        """Erases everything of a user, of one app or of all. Raises InvalidField, PermissionDenied."""
        own = own_user(caller, user_id, "user_id")
        if not own:
            raise InvalidField("user_id", "is required")
        return await self._erase(caller, ErasureScope(own, own_app(caller, app, "app"), memories=True), request_id)

    async def app(self, caller: Caller, app: str, request_id: str) -> Receipt:
        """Erases everything of an app. Raises PermissionDenied for a caller that is bound to a user."""
        if caller.user_id is not None:
            raise PermissionDenied("app", "delete by user")
        return await self._erase(caller, ErasureScope(app=own_app(caller, app, "app"), memories=True), request_id)

    async def labeled(self, caller: Caller, scope: ErasureScope, request_id: str) -> Receipt:
        """Erases the sessions with labels. Raises InvalidField, PermissionDenied."""
        if not scope.labels:
            raise InvalidField("labels", "is required: name at least one label")
        own = own_user(caller, scope.user_id, "user_id")
        app = own_app(caller, scope.app, "app")
        return await self._erase(caller, replace(scope, app=app, user_id=own or None), request_id)

    async def session(self, caller: Caller, ref: SessionRef, uid: str = "") -> ErasedSession:
        """Deletes a session, the memories that came from it, and its archives, also if the session is gone. Raises
        VersionMismatch, and deletes nothing, if the session has another uid; empty: any."""
        ref = own_ref(caller, ref)
        try:
            found = await self._store.get_session(caller.tenant, ref)
            require_uid(found, uid)
            ref = found.ref
        except SessionNotFound:
            if not ref.user_id:
                raise InvalidField("session.user_id", "is required to find the memories of a session that is gone") from None
        # First, because a repeated call then still finds the session, and because deleted entries are not ingested again.
        of_session = Forget(session_id=ref.session_id)
        gone = await self._store.forget(caller.tenant, MemoryScope(ref.app, ref.user_id), of_session, self._clock())
        events = await self._store.delete_session(caller.tenant, ref, uid)
        archives = None if self._archives is None else await self._archives.session(caller.tenant, ref)
        return ErasedSession(events, gone.deleted, archives)

    async def _erase(self, caller: Caller, scope: ErasureScope, request_id: str) -> Receipt:
        wanted = Erasure(caller.tenant, request_id, scope, self._clock())
        archives, until = self._archives, time.monotonic() + _CALL_S
        if archives is None:
            erased, count = await self._store.erase(wanted, _CALL_S), None
        else:
            erased = await self._store.erase(wanted, _CALL_S, lambda start: archives.erase(wanted, start, until))
            count = await archives.count(wanted, erased.start_time)
        named = {"user_id": scope.user_id, "app": scope.app, "labels": dict(scope.labels), "memories": scope.memories}
        return self._receipts.receipt(named, request_id, erased, count)


def _shown(time: int) -> str:
    """Returns a time in RFC 3339, with nanoseconds."""
    seconds, fraction = divmod(time, SECOND_NS)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{fraction:09}Z"
