"""Compaction policies: storage, and the policy that applies to an append.

Policies are few and change rarely. Every server keeps all of them in RAM and polls the store for changes; a policy set on
another server applies here after up to 2 seconds.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from ...compaction.strategies.outside import AnyStrategy, Webhook
from ...compaction.triggers import Trigger
from ...domain.errors import InvalidField, PermissionDenied, ThreadkeepError
from ...domain.model import SECOND_NS, Caller, SessionRef
from ...store.contract.compaction import CompactionStore, PolicyKey, PolicyScope, StoredPolicy
from ...store.contract.sessions import SessionStore
from ..access import own_app, own_user
from .webhooks import WebhookPlanner, planner_of

_log = logging.getLogger(__name__)

_POLL_S = 2.0
_ANSWERS_KEPT = 100_000
# The clocks of other servers may be behind by this much.
_SLACK_NS = 60 * SECOND_NS


@dataclass(frozen=True, slots=True)
class Policy:
    """When and how the server compacts automatically."""

    trigger: Trigger
    strategy: AnyStrategy


@dataclass(frozen=True, slots=True)
class Effective:
    """The policy that applies, and its key; None: the server's configuration."""

    policy: Policy
    key: PolicyKey | None
    body: bytes


Decode = Callable[[bytes], Policy | None]
"""Decodes a stored policy; None: compaction is disabled."""


class PolicyBook:
    """All policies. `default` is the encoding of the configured one."""

    def __init__(self, store: CompactionStore, decode: Decode, default: bytes | None = None) -> None:
        self._store = store
        self.decode = decode
        self._default = default
        self._default_policy = None if default is None else decode(default)
        self._policies: dict[PolicyKey, tuple[StoredPolicy, Policy | None]] = {}
        self._by_tenant: defaultdict[str, int] = defaultdict(int)
        self._newest = 0
        self._refreshing = asyncio.Lock()
        self._answers: dict[tuple[str, SessionRef], Effective | None] = {}
        """Results of `effective`, which every append calls, until a policy changes."""

    @property
    def newest(self) -> int:
        """The time of the latest known change."""
        return self._newest

    async def refresh(self) -> None:
        """Reads changed policies from the store."""
        async with self._refreshing:  # an older read must not overwrite a newer one
            for stored in await self._store.policies(max(0, self._newest - _SLACK_NS)):
                self._newest = max(self._newest, stored.time)
                self._take(stored)

    def _take(self, stored: StoredPolicy) -> None:
        known = self._policies.get(stored.key)
        if known is not None and known[0].body == stored.body:
            self._policies[stored.key] = (stored, known[1])
            return
        self._answers.clear()
        if stored.body is None:
            if self._policies.pop(stored.key, None) is not None:
                self._by_tenant[stored.key.tenant] -= 1
            return
        if known is None:
            self._by_tenant[stored.key.tenant] += 1
        self._policies[stored.key] = (stored, self._decoded(stored.body))

    def _decoded(self, body: bytes) -> Policy | None:
        try:
            return self.decode(body)
        except ThreadkeepError as exc:
            _log.warning(
                "a policy cannot be read, perhaps written by a newer server; it disables compaction: %s",
                exc.message,
            )
            return None

    async def run(self) -> None:
        """Refreshes every 2 seconds until canceled."""
        while True:
            await asyncio.sleep(_POLL_S)
            try:
                await self.refresh()
            except Exception as exc:  # the database may be unavailable; the known policies stay in effect
                _log.warning("reading policies failed; retrying in %g s: %s", _POLL_S, type(exc).__name__)

    def any(self, tenant: str) -> bool:
        """Whether a policy may apply in the tenant. Every append calls it."""
        return self._default_policy is not None or self._by_tenant.get(tenant, 0) > 0

    def stored(self, key: PolicyKey) -> StoredPolicy | None:
        known = self._policies.get(key)
        return None if known is None else known[0]

    def effective(self, tenant: str, ref: SessionRef) -> Effective | None:
        """Returns the narrowest policy; None without one, or if it disables compaction."""
        key = (tenant, ref)
        if key not in self._answers:
            if len(self._answers) >= _ANSWERS_KEPT:
                self._answers.clear()
            self._answers[key] = self._first(_keys(tenant, ref))
        return self._answers[key]

    def effective_at(self, key: PolicyKey) -> Effective | None:
        """Returns the policy that applies to the scope of the key."""
        return self._first(each for each in _keys(key.tenant, key.ref) if each.scope >= key.scope)

    def _first(self, keys: Iterator[PolicyKey]) -> Effective | None:
        for key in keys:
            known = self._policies.get(key)
            if known is not None and known[0].body is not None:
                return None if known[1] is None else Effective(known[1], key, known[0].body)
        if self._default_policy is None or self._default is None:
            return None
        return Effective(self._default_policy, None, self._default)


def _keys(tenant: str, ref: SessionRef) -> Iterator[PolicyKey]:
    """Yields the keys of the policies of a session, narrowest first."""
    app, user_id, session_id = ref
    yield PolicyKey(tenant, PolicyScope.SESSION, app, user_id, session_id)
    yield PolicyKey(tenant, PolicyScope.USER_OF_APP, app, user_id)
    yield PolicyKey(tenant, PolicyScope.USER, "", user_id)
    yield PolicyKey(tenant, PolicyScope.APP, app)
    yield PolicyKey(tenant, PolicyScope.SERVER)


class PolicyStore(SessionStore, CompactionStore, Protocol):
    """The part of the store that policies use."""


class PolicyService:
    """Use cases on policies. A caller bound to a user reaches only the policies of that user."""

    def __init__(
        self, store: PolicyStore, book: PolicyBook, clock: Callable[[], int], webhooks: WebhookPlanner | None = None
    ) -> None:
        self._store = store
        self._book = book
        self._clock = clock
        self._webhooks = webhooks

    async def set(self, caller: Caller, key: PolicyKey, body: bytes | None) -> None:
        """Sets, replaces or (no body) removes a policy. Raises PermissionDenied, SessionNotFound, and InvalidField for an
        unknown webhook."""
        key = await self._named(caller, key)
        policy = None if body is None else self._book.decode(body)
        if policy is not None and isinstance(policy.strategy, Webhook):
            planner_of(self._webhooks, caller.tenant, policy.strategy, "policy.strategy.webhook.name")
        # Never before a known change: this server's clock may be behind another's, and servers poll for newer changes.
        await self._store.put_policy(StoredPolicy(key, body, max(self._clock(), self._book.newest)))
        await self._book.refresh()

    async def get(self, caller: Caller, key: PolicyKey) -> tuple[StoredPolicy | None, Effective | None]:
        """Returns the policy set on the scope, and the one that applies there."""
        key = await self._named(caller, key)
        await self._book.refresh()
        return self._book.stored(key), self._book.effective_at(key)

    async def _named(self, caller: Caller, key: PolicyKey) -> PolicyKey:
        """Returns the key in the caller's tenant, with the complete ref of a session."""
        key = key._replace(tenant=caller.tenant)
        if key.scope is PolicyScope.SESSION:
            user_id = own_user(caller, key.user_id, "scope.session.user_id") or ""
            app = own_app(caller, key.app, "scope.session.app") or ""
            session = await self._store.get_session(caller.tenant, key.ref._replace(app=app, user_id=user_id))
            return PolicyKey(caller.tenant, key.scope, *session.ref)
        if caller.app is not None and key.scope is not PolicyScope.APP and key.scope is not PolicyScope.USER_OF_APP:
            raise PermissionDenied("scope", "name the app", bound="app")
        if key.scope in (PolicyScope.USER, PolicyScope.USER_OF_APP):
            user_id = own_user(caller, key.user_id, "scope.user.user_id") or ""
            if not user_id:
                raise InvalidField("scope.user.user_id", "is required")
            return key._replace(app=own_app(caller, key.app, "scope.user.app") or "", user_id=user_id)
        if caller.user_id is not None:
            raise PermissionDenied("scope", "name a user or a session")
        return key._replace(app=own_app(caller, key.app, "scope.app") or "")
