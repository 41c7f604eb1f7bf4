# Generated from _async by `make sync-client`. Do not edit.
"""The calls on sessions; see `client`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from google.protobuf.field_mask_pb2 import FieldMask

from .._convert import Metadata, SessionLike, encodable, enum_value, expiry, json_text, json_values, timestamp
from ..v1 import session_service_pb2 as ss
from ..v1.session_pb2 import Session, SessionParent, SessionRef
from .connection import Connection
from .pages import paged


class Sessions(Connection):
    """The calls on sessions."""

    def create_session(
        self,
        session_id: SessionLike = "",
        *,
        user_id: str | None = None,
        app: str | None = None,
        ttl: timedelta | None = None,
        expire_time: datetime | int | None = None,
        never_expires: bool = False,
        metadata: Metadata = None,
        labels: Mapping[str, str] | None = None,
        context_bytes: int = 0,
        create_time: datetime | int | None = None,
        state: Mapping[str, Any] | None = None,
        parent: SessionParent | None = None,
        return_existing: bool = False,
        unique_in_app: bool = False,
        timeout: float | None = None,
    ) -> Session:
        """Create a session, by default of the client's user and app; without an id the server generates one.

        It expires after `ttl`, at `expire_time` (an aware datetime, or nanoseconds since the epoch), or never; by default
        after the server's default, 60 days. `metadata` is a JSON object, at most 256 KiB; text is kept verbatim. `labels`: at
        most 64. `context_bytes`: the default size of contexts; 0 is the server's. `create_time`: the
        start of an imported conversation; by default now. `state`: its first values, at most 1,000. `parent`: the origin of an
        imported fork, which is recorded and not looked up, for lists with `forked_from`; of this user and app. Raises
        SessionAlreadyExists, unless `return_existing`, which returns the existing session unchanged; with `unique_in_app` also
        if another user of the app has the id. Raises StateTooLarge.
        """
        request = ss.CreateSessionRequest(
            session=self._new_ref(session_id, app, user_id),
            expiry=expiry(ttl, expire_time, never_expires),
            metadata_json=json_text(metadata, "metadata"),
            labels=labels,
            context_bytes=context_bytes,
            create_time=timestamp(create_time, "create_time"),
            state=json_values(state, "state"),
            parent=parent,
            return_existing=return_existing,
            unique_in_app=unique_in_app,
        )
        return self._call(self._stubs().sessions.CreateSession, request, timeout).session

    def get_session(self, session: SessionLike, *, timeout: float | None = None) -> Session:
        """Return a session: metadata and counters, without events. Raises SessionNotFound, AmbiguousSession."""
        request = ss.GetSessionRequest(session=self._ref(session))
        return self._call(self._stubs().sessions.GetSession, request, timeout).session

    def sessions_page(
        self,
        *,
        user_id: str | None = None,
        app: str | None = None,
        any_user: bool = False,
        any_app: bool = False,
        labels: Mapping[str, str] | None = None,
        order: ss.SessionOrder.ValueType | str = ss.SESSION_ORDER_UNSPECIFIED,
        updated_after: datetime | int | None = None,
        updated_before: datetime | int | None = None,
        prefix: str = "",
        forked_from: str = "",
        page_size: int = 0,
        page_token: str = "",
        offset: int = 0,
        with_total: bool = False,
        with_newest_event: bool = False,
        with_state: bool = False,
        timeout: float | None = None,
    ) -> ss.ListSessionsResponse:
        """One page of sessions, by default newest first.

        `user_id`, `app`: by default the client's; `app=""` is sessions without one. `any_user`, `any_app`: sessions of
        every user, of every app. `labels`: only sessions with all of them. `order`: "created_last_first" (the default),
        "created_first", "updated_last_first" or "updated_first". `updated_after`, `updated_before`: exclusive; aware datetimes
        or nanoseconds since the epoch. `prefix`: of the session id. `forked_from`: only forks of the session with this id; it
        may be deleted. `page_size`: 0 is 100, at most 1,000. `offset`: sessions to
        skip, at most 10,000. `with_total`: count them, up to 10,000, in `total_size`. `with_newest_event`: the last event of
        each, in `newest_events`. `with_state`: the state of each, in `states`. Raises InvalidPageToken.
        """
        request = ss.ListSessionsRequest(
            user_id=self._user(user_id, any_user),
            app=self._app(app, any_app),
            labels=labels,
            page_size=page_size,
            page_token=page_token,
            order_by=enum_value(dict(ss.SessionOrder.items()), "SESSION_ORDER_", order, "order"),
            updated_after=timestamp(updated_after, "updated_after"),
            updated_before=timestamp(updated_before, "updated_before"),
            session_id_prefix=prefix,
            forked_from=encodable(forked_from, "forked_from"),
            offset=offset,
            with_total=with_total,
            with_newest_event=with_newest_event,
            with_state=with_state,
        )
        return self._call(self._stubs().sessions.ListSessions, request, timeout)

    def sessions(
        self,
        *,
        user_id: str | None = None,
        app: str | None = None,
        any_user: bool = False,
        any_app: bool = False,
        labels: Mapping[str, str] | None = None,
        order: ss.SessionOrder.ValueType | str = ss.SESSION_ORDER_UNSPECIFIED,
        updated_after: datetime | int | None = None,
        updated_before: datetime | int | None = None,
        prefix: str = "",
        forked_from: str = "",
        page_size: int = 0,
        timeout: float | None = None,
    ) -> Iterator[Session]:
        """Iterate over all sessions that `sessions_page` finds."""
        return paged(
            lambda token: self.sessions_page(
                user_id=user_id,
                app=app,
                any_user=any_user,
                any_app=any_app,
                labels=labels,
                order=order,
                updated_after=updated_after,
                updated_before=updated_before,
                prefix=prefix,
                forked_from=forked_from,
                page_size=page_size,
                page_token=token,
                timeout=timeout,
            ),
            lambda page: page.sessions,
        )

    def update_session(
        self,
        session: SessionLike,
        *,
        metadata: Metadata = None,
        labels: Mapping[str, str] | None = None,
        ttl: timedelta | None = None,
        expire_time: datetime | int | None = None,
        never_expires: bool = False,
        context_bytes: int | None = None,
        metadata_patch: Metadata = None,
        set_labels: Mapping[str, str] | None = None,
        remove_labels: Iterable[str] = (),
        etag: str = "",
        operation_id: str = "",
        timeout: float | None = None,
    ) -> Session:
        """Replace the given fields; None keeps a field. `metadata=""` and `labels={}` clear. Raises SessionNotFound.

        `metadata_patch` is a JSON merge patch (RFC 7396): its members replace those of the metadata, None removes one.
        `set_labels` and `remove_labels` change some labels. With the `etag` of a session that was read, raises VersionMismatch
        if another update came between. `operation_id`: the server remembers it, and a repeated call with the same id and
        content changes nothing and returns the session as it is. Raises OperationConflict.
        """
        new_expiry = expiry(ttl, expire_time, never_expires)
        given = {"expiry": new_expiry, "metadata_json": metadata, "labels": labels, "context_bytes": context_bytes}
        request = ss.UpdateSessionRequest(
            session=self._ref(session),
            update_mask=FieldMask(paths=[path for path, value in given.items() if value is not None]),
            expiry=new_expiry,
            metadata_json=json_text(metadata, "metadata"),
            labels=labels,
            context_bytes=context_bytes or 0,
            metadata_patch_json=json_text(metadata_patch, "metadata_patch"),
            set_labels=set_labels,
            remove_labels=remove_labels,
            etag=etag,
            operation_id=encodable(operation_id, "operation_id"),
        )
        return self._call(self._stubs().sessions.UpdateSession, request, timeout).session

    def delete_session(
        self, session: SessionLike, *, purge_memories: bool = False, uid: str = "", timeout: float | None = None
    ) -> ss.DeleteSessionResponse:
        """Delete a session and its events, and with `purge_memories` the memories that came from it and its archives. `deleted`
        is false if it did not exist. With `uid` only the session that has it: raises VersionMismatch if another one has its
        name now."""
        request = ss.DeleteSessionRequest(session=self._ref(session), purge_memories=purge_memories, uid=uid)
        return self._call(self._stubs().sessions.DeleteSession, request, timeout)

    def delete_expired_sessions(
        self,
        *,
        before: datetime | int | None = None,
        user_id: str | None = None,
        app: str | None = None,
        any_user: bool = False,
        any_app: bool = False,
        timeout: float | None = None,
    ) -> ss.DeleteExpiredSessionsResponse:
        """Delete expired sessions, at most 1,000; `more` is true if some remain.

        `before`: only those that expired by this time; by default now. The scope is that of `sessions_page`.
        """
        request = ss.DeleteExpiredSessionsRequest(
            before=timestamp(before, "before"), user_id=self._user(user_id, any_user), app=self._app(app, any_app)
        )
        return self._call(self._stubs().sessions.DeleteExpiredSessions, request, timeout)

    def _new_ref(self, session: SessionLike, app: str | None, user_id: str | None) -> SessionRef:
        """The reference of a session to create; `app` and `user_id` win over those of the client and of a reference."""
        ref = self._ref(session)
        return SessionRef(
            app=ref.app if app is None else encodable(app, "app"), user_id=user_id or ref.user_id, session_id=ref.session_id
        )
