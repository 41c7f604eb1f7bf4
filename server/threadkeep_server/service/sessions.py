"""Use cases of sessions, and the deletion of expired ones."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from ..domain import validation
from ..domain.errors import InvalidField, PermissionDenied
from ..domain.model import Caller, NewSession, Parent, Session, SessionChange, SessionRef
from ..domain.removals import Operation
from ..domain.state.state import StatePatch, Totals, advanced
from ..domain.validation import Limits
from ..store.contract.erasure import UserName, UserPage, UserStore
from ..store.contract.moves import Moved, MoveRequest, MoveStore
from ..store.contract.sessions import EXPIRED, Expired, SessionPage, SessionQuery, SessionStore
from .access import own_app, own_ref, own_user
from .storage_quota import StorageQuota

SWEEP_AT_MOST = 1000
_SWEEP_AT_ONCE = 20


# Not frozen: see EventDraft.
@dataclass(slots=True, unsafe_hash=True)
class Expiry:
    """The expiry of a session; at most one is set, none is the server's default. Nanoseconds."""

    ttl: int | None = None
    expire_time: int | None = None
    never: bool = False


DEFAULT_EXPIRY = Expiry()


# Not frozen: see EventDraft.
@dataclass(slots=True, unsafe_hash=True)
class SessionDraft:
    """The fields of a session to create."""

    expiry: Expiry = DEFAULT_EXPIRY
    metadata_json: str = ""
    labels: Mapping[str, str] | None = None
    context_bytes: int = 0
    create_time: int | None = None
    """None: now."""
    state: Mapping[str, str] | None = None
    origin: Origin | None = None
    """Of an imported fork."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The session from which an imported one was forked, as the caller names it. An empty app or user is that of the fork."""

    ref: SessionRef
    parent: Parent


# Not frozen: see EventDraft.
@dataclass(slots=True)
class SessionPatch:
    """Changes to parts of a session; see SessionChange."""

    metadata_patch_json: str = ""
    set_labels: Mapping[str, str] | None = None
    remove_labels: frozenset[str] = frozenset()
    etag: str = ""

    @property
    def changes_something(self) -> bool:
        return bool(self.metadata_patch_json or self.set_labels or self.remove_labels)


NO_PATCH = SessionPatch()

BeforeDelete = Callable[[str, Session], Awaitable[bool]]
"""Called with the tenant and an expired session. Returns whether it may be deleted now."""


class SessionServiceStore(SessionStore, MoveStore, UserStore, Protocol):
    """The part of the store that sessions use."""


class SessionService:
    """Use cases on sessions. `clock` gives nanoseconds, `new_id` time-ordered unique ids. An expired session is deleted
    once `before_delete` allows it, unless it was changed meanwhile."""

    def __init__(
        self,
        store: SessionServiceStore,
        limits: Limits,
        clock: Callable[[], int],
        new_id: Callable[[], str],
        before_delete: BeforeDelete | None = None,
        quota: StorageQuota | None = None,
    ) -> None:
        self._store = store
        self._limits = limits
        self._clock = clock
        self._new_id = new_id
        self._before_delete = before_delete
        self._quota = quota

    async def create(
        self, caller: Caller, ref: SessionRef, draft: SessionDraft, *, return_existing: bool, unique: bool = False
    ) -> tuple[Session, bool]:
        new = self.new_session(own_ref(caller, ref), draft)
        if self._quota is not None:
            self._quota.admit(caller.tenant, sessions=1)
        return await self._store.create_session(caller.tenant, new, return_existing=return_existing, unique=unique)

    def new_session(self, ref: SessionRef, draft: SessionDraft, *, within: str = "") -> NewSession:
        """Returns a session to create now. Raises InvalidField for a missing user, a past expiry and a future create_time,
        StateTooLarge; `within` is the prefix of the request field of the draft."""
        if not ref.user_id:
            raise InvalidField("session.user_id", "is required to create a session")
        now = self._clock()
        named = ref if ref.session_id else ref._replace(session_id=self._new_id())
        expire_time = self.expire_time(draft.expiry, now, within)
        began = (
            draft.create_time if draft.create_time is None else validation.passed_time("create_time", draft.create_time, now)
        )
        details = (draft.metadata_json, draft.labels or {}, draft.context_bytes)
        state = draft.state or {}
        if state:
            advanced(Totals(), StatePatch(state), {}, f"{within}state")
        parent = None if draft.origin is None else _parent_of(named, draft.origin)
        return NewSession(named, self._new_id(), now, expire_time, *details, began=began, state=state, parent=parent)

    def expire_time(self, expiry: Expiry, now: int, within: str = "") -> int | None:
        """Returns the time; None: never. Raises InvalidField for one that has passed."""
        if expiry.never:
            return None
        if expiry.expire_time is not None:
            if expiry.expire_time <= now:
                raise InvalidField(f"{within}expiry.expire_time", "must not have passed")
            return expiry.expire_time
        ttl = expiry.ttl if expiry.ttl is not None else self._limits.default_ttl
        return None if ttl is None else min(now + ttl, (1 << 63) - 1)

    async def get(self, caller: Caller, ref: SessionRef) -> Session:
        return await self._store.get_session(caller.tenant, own_ref(caller, ref))

    async def list(self, caller: Caller, query: SessionQuery) -> SessionPage:
        own = replace(query, app=own_app(caller, query.app, "app"), user_id=own_user(caller, query.user_id, "user_id"))
        return await self._store.list_sessions(caller.tenant, own)

    async def users(self, caller: Caller, app: str | None, limit: int, after: UserName | None) -> UserPage:
        """Raises PermissionDenied for a caller that is bound to a user."""
        if caller.user_id is not None:
            raise PermissionDenied("app", "")
        return await self._store.list_users(caller.tenant, own_app(caller, app, "app"), limit, after)

    async def update(
        self,
        caller: Caller,
        ref: SessionRef,
        fields: frozenset[str],
        draft: SessionDraft,
        patch: SessionPatch = NO_PATCH,
        operation: Operation | None = None,
    ) -> Session:
        now = self._clock()
        expire_time = self.expire_time(draft.expiry, now) if "expiry" in fields else None
        details = (draft.metadata_json, draft.labels or {}, draft.context_bytes)
        change = SessionChange(
            fields,
            now,
            expire_time,
            *details,
            metadata_patch_json=patch.metadata_patch_json,
            set_labels=patch.set_labels or {},
            remove_labels=patch.remove_labels,
            etag=patch.etag,
        )
        return await self._store.update_session(caller.tenant, own_ref(caller, ref), change, operation)

    async def move(self, caller: Caller, ref: SessionRef, user_id: str, operation: Operation) -> Moved:
        """Gives a session to another user. Raises PermissionDenied for a caller that is bound to a user."""
        if caller.user_id is not None:
            raise PermissionDenied("new_user_id", "")
        return await self._store.move_session(
            MoveRequest(caller.tenant, own_ref(caller, ref), user_id, self._clock(), operation)
        )

    async def delete(self, caller: Caller, ref: SessionRef, uid: str = "") -> int | None:
        """Deletes a session. Returns the number of its events; None if it did not exist. Raises VersionMismatch if it has
        another uid; empty: any."""
        return await self._store.delete_session(caller.tenant, own_ref(caller, ref), uid)

    async def delete_expired(self, caller: Caller, which: Expired = EXPIRED) -> int:
        """Deletes up to SWEEP_AT_MOST expired sessions of the caller. Returns their number. Raises InvalidField for a future
        `before`, PermissionDenied for sessions of another user."""
        if which.before is not None:
            validation.passed_time("before", which.before, self._clock())
        own = replace(which, app=own_app(caller, which.app, "app"), user_id=own_user(caller, which.user_id, "user_id"))
        return await self._delete_some(caller.tenant, own)

    async def _delete_some(self, tenant: str | None, which: Expired = EXPIRED) -> int:
        """Deletes in small transactions, since appends wait for each."""
        if self._before_delete is not None:
            return await self._delete_one_by_one(tenant, which, self._before_delete)
        deleted = 0
        while deleted < SWEEP_AT_MOST:
            gone = await self._store.delete_expired(tenant, self._clock(), _SWEEP_AT_ONCE, which)
            deleted += gone
            if gone < _SWEEP_AT_ONCE:
                break
        return deleted

    async def _delete_one_by_one(self, tenant: str | None, which: Expired, may_go: BeforeDelete) -> int:
        deleted = stayed = 0
        while deleted < SWEEP_AT_MOST:
            found = await self._store.expired_sessions(tenant, self._clock(), _SWEEP_AT_ONCE, stayed, which)
            for owner, session in found:
                gone = await may_go(owner, session) and await self._store.delete_seen(owner, session, self._clock())
                deleted, stayed = (deleted + 1, stayed) if gone else (deleted, stayed + 1)
            if len(found) < _SWEEP_AT_ONCE:
                break
        return deleted

    async def sweep(self) -> int:
        """Deletes the expired sessions of all tenants. Returns their number."""
        swept = 0
        while True:
            deleted = await self._delete_some(None)
            swept += deleted
            if deleted < SWEEP_AT_MOST:
                return swept


def _parent_of(fork: SessionRef, origin: Origin) -> Parent:
    """Returns the parent of an imported fork, which is stored without an owner: it is that of the fork. Raises InvalidField for
    another one."""
    for name in ("app", "user_id"):
        if getattr(origin.ref, name) not in ("", getattr(fork, name)):
            raise InvalidField(f"parent.session.{name}", f"must be session.{name}, or empty")
    return origin.parent
