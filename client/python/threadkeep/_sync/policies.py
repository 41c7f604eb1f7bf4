# Generated from _async by `make sync-client`. Do not edit.
"""Compaction policies; see `client`."""
# ruff: noqa: SLF001 - a part of the client

from __future__ import annotations

from .._arguments import NamesArguments
from .._convert import check
from ..v1 import compaction_service_pb2 as cs
from ..v1.compaction_pb2 import CompactionPolicy
from .connection import Connection


class PolicyHandle(NamesArguments):
    """The policy by which the server compacts a session, or the sessions of a user, of an app or of the tenant. The narrowest
    policy applies, in the order session, user and app, user, app, server.

    Made by the client's `user_policy`, `app_policy` and `server_policy`, and by the `policy` of a session's handle; makes no
    call. Every method may raise SessionNotFound for a session, and PermissionDenied.
    """

    def __init__(self, connection: Connection, scope: cs.PolicyScope) -> None:
        self._connection = connection
        self.scope = scope

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.scope!r})"

    def get(self, *, timeout: float | None = None) -> cs.GetCompactionPolicyResponse:
        """Return the policy of exactly this scope, and the policy that applies there, with its scope."""
        request = cs.GetCompactionPolicyRequest(scope=self.scope)
        return self._connection._call(self._connection._stubs().compaction.GetCompactionPolicy, request, timeout)

    def set(self, policy: CompactionPolicy, *, timeout: float | None = None) -> None:
        """Set the policy, see `compaction.policy`; or never compact, see `compaction.disabled`."""
        self._set(check(policy, CompactionPolicy, "policy"), timeout)

    def remove(self, *, timeout: float | None = None) -> None:
        """Remove the policy; the next wider one then applies."""
        self._set(None, timeout)

    def _set(self, policy: CompactionPolicy | None, timeout: float | None) -> None:
        request = cs.SetCompactionPolicyRequest(scope=self.scope, policy=policy)
        self._connection._call(self._connection._stubs().compaction.SetCompactionPolicy, request, timeout)


class Policies(Connection):
    """The handles of policies. `threadkeep.compaction` builds policies, triggers and strategies."""

    def user_policy(self, user_id: str | None = None, *, app: str | None = None, any_app: bool = False) -> PolicyHandle:
        """The policy of a user's sessions, by default of the client's user in the client's app; `any_app`: in every app."""
        user = cs.UserPolicyScope(user_id=self._user(user_id), app=self._app(app, any_app))
        return PolicyHandle(self, cs.PolicyScope(user=user))

    def app_policy(self, app: str | None = None) -> PolicyHandle:
        """The policy of an app's sessions, by default of the client's app; "" is sessions without one."""
        return PolicyHandle(self, cs.PolicyScope(app=self._app(app) or ""))

    def server_policy(self) -> PolicyHandle:
        """The policy of all sessions of the tenant."""
        return PolicyHandle(self, cs.PolicyScope(server=True))
