"""Compaction policies; see `client`."""
# ruff: noqa: SLF001 - a part of the client

from __future__ import annotations

from .._arguments import NamesArguments
from .._convert import check
from ..v1 import compaction_service_pb2 as cs
from ..v1.compaction_pb2 import CompactionPolicy
from .connection import AsyncConnection


class AsyncPolicyHandle(NamesArguments):
    """The policy by which the server compacts a session, or the sessions of a user, of an app or of the tenant. The narrowest
    policy applies, in the order session, user and app, user, app, server.

    Made by the client's `user_policy`, `app_policy` and `server_policy`, and by the `policy` of a session's handle; makes no
    call. Every method may raise SessionNotFound for a session, and PermissionDenied.
    """

    def __init__(self, connection: AsyncConnection, scope: cs.PolicyScope) -> None:
        self._connection = connection
        self.scope = scope

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.scope!r})"

    async def get(self, *, timeout: float | None = None) -> cs.GetCompactionPolicyResponse:
        """Return the policy of exactly this scope, and the policy that applies there, with its scope."""
        request = cs.GetCompactionPolicyRequest(scope=self.scope)
        return await self._connection._call((await self._connection._stubs()).compaction.GetCompactionPolicy, request, timeout)

    async def set(self, policy: CompactionPolicy, *, timeout: float | None = None) -> None:
        """Set the policy, see `compaction.policy`; or never compact, see `compaction.disabled`."""
        await self._set(check(policy, CompactionPolicy, "policy"), timeout)

    async def remove(self, *, timeout: float | None = None) -> None:
        """Remove the policy; the next wider one then applies."""
        await self._set(None, timeout)

    async def _set(self, policy: CompactionPolicy | None, timeout: float | None) -> None:
        request = cs.SetCompactionPolicyRequest(scope=self.scope, policy=policy)
        await self._connection._call((await self._connection._stubs()).compaction.SetCompactionPolicy, request, timeout)


class AsyncPolicies(AsyncConnection):
    """The handles of policies. `threadkeep.compaction` builds policies, triggers and strategies."""

    def user_policy(self, user_id: str | None = None, *, app: str | None = None, any_app: bool = False) -> AsyncPolicyHandle:
        """The policy of a user's sessions, by default of the client's user in the client's app; `any_app`: in every app."""
        user = cs.UserPolicyScope(user_id=self._user(user_id), app=self._app(app, any_app))
        return AsyncPolicyHandle(self, cs.PolicyScope(user=user))

    def app_policy(self, app: str | None = None) -> AsyncPolicyHandle:
        """The policy of an app's sessions, by default of the client's app; "" is sessions without one."""
        return AsyncPolicyHandle(self, cs.PolicyScope(app=self._app(app) or ""))

    def server_policy(self) -> AsyncPolicyHandle:
        """The policy of all sessions of the tenant."""
        return AsyncPolicyHandle(self, cs.PolicyScope(server=True))
