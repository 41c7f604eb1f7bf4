"""The calls that fork a session and give it to another user."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from .._convert import Metadata, SessionLike, encodable, expiry, json_text, point_of
from ..v1 import session_service_pb2 as ss
from ..v1.session_pb2 import Session
from .connection import AsyncConnection
from .removals import named_operation


class AsyncForks(AsyncConnection):
    """The calls that fork a session and give it to another user."""

    async def fork(
        self,
        session: SessionLike,
        new_session_id: str = "",
        *,
        at_seq: int | None = None,
        at_event: str | None = None,
        at_invocation: str | None = None,
        at_log_version: int | None = None,
        ttl: timedelta | None = None,
        expire_time: datetime | int | None = None,
        never_expires: bool = False,
        metadata: Metadata = None,
        labels: Mapping[str, str] | None = None,
        inherit_labels: bool = True,
        context_bytes: int | None = None,
        operation_id: str = "",
        timeout: float | None = None,
    ) -> Session:
        """Make a session that is a copy of this one, of the same user; without an id the server generates one.

        It has the events up to the point, archived ones included, with their ids, seqs and times, the active window, the
        compactions and the session's state as they were then. The point is the present, or one of: `at_seq` and `at_event`, an
        event; `at_invocation`, the last event of an invocation; `at_log_version`. Its `parent` says what it was forked from.
        Writers of the session continue while it is copied.

        It expires like a new session. `metadata`, `context_bytes`: by default those of the session. `labels`: in addition to
        those of the session, or, without `inherit_labels`, instead of them. `operation_id`: a repeated call with the same id
        returns the fork of the first one; by default a new one, so that the client's own retries are safe. Raises
        SessionNotFound, EventNotFound, SessionAlreadyExists, HistoryUnknown, OperationConflict, QuotaExceeded.
        """
        request = ss.ForkSessionRequest(
            session=self._ref(session),
            new_session_id=encodable(new_session_id, "new_session_id"),
            expiry=expiry(ttl, expire_time, never_expires),
            metadata_json=None if metadata is None else json_text(metadata, "metadata"),
            labels=labels,
            without_parent_labels=not inherit_labels,
            context_bytes=context_bytes,
            operation_id=named_operation(operation_id),
            **point_of(at_seq, at_event, at_invocation, at_log_version),
        )
        return (await self._call((await self._stubs()).sessions.ForkSession, request, timeout)).session

    async def move_session(
        self, session: SessionLike, new_user_id: str, *, operation_id: str = "", timeout: float | None = None
    ) -> Session:
        """Give a session to another user of its app, with its events, state, labels and policy.

        Needs a credential with the role admin that is not bound to a user. From then on the session has another name: calls
        with that of the former owner raise SessionNotFound; the `ref` of the result reaches it. Memories that came from it stay
        with the former owner. `operation_id`: a repeated call with the same id changes nothing and returns the session; by
        default a new one, so that the client's own retries are safe. Raises SessionNotFound, SessionAlreadyExists if the user
        has a session with its id, OperationConflict, PermissionDenied.
        """
        request = ss.MoveSessionRequest(
            session=self._ref(session),
            new_user_id=encodable(new_user_id, "new_user_id"),
            operation_id=named_operation(operation_id),
        )
        return (await self._call((await self._stubs()).sessions.MoveSession, request, timeout)).session
