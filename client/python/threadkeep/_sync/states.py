# Generated from _async by `make sync-client`. Do not edit.
"""The state of one session, user or app; see `client`."""
# ruff: noqa: SLF001 - a part of the client

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .._arguments import NamesArguments
from .._convert import several, state_patch
from ..v1 import state_service_pb2 as st
from ..v1.session_pb2 import SessionRef
from ..v1.state_pb2 import StateScope
from ..values.expect import StateVersion, version_of
from ..values.state import State
from .connection import Connection


class StateHandle(NamesArguments):
    """The state of one session, of one user in an app, or of one app. Made by the client's `user_state` and `app_state`, and by
    the `state` of a session's handle; makes no call. Values survive the sessions of a user or an app, not their own session."""

    def __init__(self, connection: Connection, scope: StateScope.ValueType, ref: SessionRef) -> None:
        self._connection = connection
        self.scope = scope
        self.ref = ref

    def __repr__(self) -> str:
        app, user_id, session_id = self.ref.app, self.ref.user_id, self.ref.session_id
        return f"{type(self).__name__}({StateScope.Name(self.scope)}, {app!r}, {user_id!r}, {session_id!r})"

    def get(
        self,
        keys: Iterable[str] = (),
        *,
        key_prefix: str = "",
        as_of_log_version: int | None = None,
        timeout: float | None = None,
    ) -> State:
        """Return the values and their version: all, or those of `keys` (at most 1,000) or with a prefix. Reads again from the
        beginning while others change it between two pages.

        `as_of_log_version`: the values of a session as they were then. Raises SessionNotFound, AmbiguousSession.
        """
        request = st.GetStateRequest(
            scope=self.scope,
            session=self.ref,
            keys=several(keys, "keys"),
            key_prefix=key_prefix,
            as_of_log_version=as_of_log_version,
        )
        page = self._page(request, timeout)
        texts = _texts(page)
        while page.next_key:
            request.after_key, version = page.next_key, page.state.version
            page = self._page(request, timeout)
            if page.state.version != version and as_of_log_version is None:
                request.after_key = ""
                page, texts = self._page(request, timeout), {}
            texts |= _texts(page)
        return State(texts, page.state.version)

    def _page(self, request: st.GetStateRequest, timeout: float | None) -> st.GetStateResponse:
        stubs = self._connection._stubs()
        return self._connection._call(stubs.states.GetState, request, timeout)

    def patch(
        self,
        set: Mapping[str, Any] | None = None,  # noqa: A002
        *,
        remove: Iterable[str] = (),
        set_json: Mapping[str, str] | None = None,
        expect: StateVersion | None = None,
        timeout: float | None = None,
    ) -> int:
        """Set values and remove keys, all or none; returns the version afterwards. At most 1,000 keys.

        `set`: anything that `json.dumps` writes; None is the value null, which is not a removed key. `set_json`: JSON text that
        is kept verbatim. `expect`: a precondition, `StateVersion(3)`, the version that was read; raises VersionMismatch if
        another change came between, or if a retry of the client finds its own first attempt. Raises StateTooLarge,
        SessionNotFound, AmbiguousSession.
        """
        request = st.PatchStateRequest(
            scope=self.scope,
            session=self.ref,
            patch=state_patch(set, set_json, remove),
            expected_version=version_of(expect, StateVersion),
        )
        stubs = self._connection._stubs()
        return self._connection._call(stubs.states.PatchState, request, timeout).version


class States(Connection):
    """The calls on state."""

    def user_state(self, user_id: str | None = None, *, app: str | None = None) -> StateHandle:
        """The state of a user in an app, by default the client's."""
        ref = SessionRef(app=self._app(app) or "", user_id=self._user(user_id))
        return StateHandle(self, StateScope.STATE_SCOPE_USER, ref)

    def app_state(self, app: str | None = None) -> StateHandle:
        """The state of an app, by default the client's, which all its users share."""
        return StateHandle(self, StateScope.STATE_SCOPE_APP, SessionRef(app=self._app(app) or ""))


def _texts(page: st.GetStateResponse) -> dict[str, str]:
    """The values of a page, in the order of the server."""
    return dict(sorted(page.state.values.items(), key=lambda item: item[0].encode()))
