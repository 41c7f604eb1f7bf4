# Generated from _async by `make sync-client`. Do not edit.
"""The client. It converts arguments, sends and pages; what the calls mean is the server's business; see `connection`."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import TypeVar

import grpc
from google.protobuf.field_mask_pb2 import FieldMask

from .._convert import (
    CreateOptions,
    Metadata,
    SessionLike,
    create_if_missing,
    expiry,
    json_text,
    sort_order,
    timestamp,
)
from ..errors import from_rpc_error
from ..memory import MemoryProvider
from ..messages import with_ids
from ..v1 import event_service_pb2 as es
from ..v1 import server_service_pb2 as ns
from ..v1 import session_service_pb2 as ss
from ..v1.event_pb2 import SessionEvent
from ..v1.filter_pb2 import EventFilter
from ..v1.session_pb2 import Session, SessionRef
from .consumers import Consumers
from .recall import Recall
from .subscriptions import Subscriptions
from .windows import Windows

Item = TypeVar("Item")


class Client(Windows, Subscriptions, Consumers, Recall):
    """A client of one server; share one instance, and close it or use it as a context manager.

    address: "host:port" of the gRPC port, or a host, whose port is then 7443; "https://host:port" turns TLS on. By default the
    value of THREADKEEP_ADDRESS, else 127.0.0.1:7443.
    token: sent as "authorization: Bearer"; by default the value of THREADKEEP_TOKEN, else none is sent.
    app, user_id: complete a session that is given by its id alone, and are the scope of requests that name none. Give both or
    neither, unless the token names the user.
    timeout: seconds a call may take, its retries included; `math.inf` for no limit. A method's own timeout overrides it.
    tls: True for TLS with the system's roots, or channel credentials; by default as the address says.
    allow_plaintext_token: send the token without TLS beyond this machine too, which is a ValueError otherwise; by default the
    value of THREADKEEP_ALLOW_PLAINTEXT_TOKEN.
    options: further gRPC channel options; they win over the client's.

    A `session` argument is an id, a SessionRef (taken as it is) or a Session. Calls that are safe to repeat are repeated up
    to four times while the server is unavailable. Iterators fetch page after page, each with its own timeout.

    Every method may raise Unavailable, DeadlineExceeded, Unauthenticated, PermissionDenied, InvalidField, StoreUnavailable,
    ServerDraining and Internal; further errors are named with the method, and all are `ThreadkeepError`. Arguments that no
    request could hold raise TypeError or ValueError.
    """

    def create_session(
        self,
        session_id: str = "",
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
        return_existing: bool = False,
        timeout: float | None = None,
    ) -> Session:
        """Create a session, by default of the client's user and app; without an id the server makes one.

        It expires after `ttl`, at `expire_time` (an aware datetime, or nanoseconds since the epoch), or never; by default
        after the server's default, 60 days. `metadata` is a JSON object, at most 256 KiB; text is kept verbatim. `labels`: at
        most 64. `context_bytes`: the size of contexts that ask for none; 0 is the server's. `create_time`: when the
        conversation began, for one that is imported; by default now. Raises SessionAlreadyExists, unless `return_existing`,
        which returns what is there unchanged.
        """
        request = ss.CreateSessionRequest(
            session=SessionRef(app=self._app(app) or "", user_id=self._user(user_id), session_id=session_id),
            expiry=expiry(ttl, expire_time, never_expires),
            metadata_json=json_text(metadata, "metadata"),
            labels=labels,
            context_bytes=context_bytes,
            create_time=timestamp(create_time, "create_time"),
            return_existing=return_existing,
        )
        return self._call(self._stubs().sessions.CreateSession, request, timeout).session

    def get_session(self, session: SessionLike, *, timeout: float | None = None) -> Session:
        """A session's metadata and counters, without events. Raises SessionNotFound, AmbiguousSession."""
        request = ss.GetSessionRequest(session=self._ref(session))
        return self._call(self._stubs().sessions.GetSession, request, timeout).session

    def list_sessions(
        self,
        *,
        user_id: str | None = None,
        app: str | None = None,
        all_users: bool = False,
        all_apps: bool = False,
        labels: Mapping[str, str] | None = None,
        page_size: int = 0,
        page_token: str = "",
        timeout: float | None = None,
    ) -> ss.ListSessionsResponse:
        """One page of sessions, newest first.

        `user_id`, `app`: by default the client's, where it has them; `app=""` is sessions without one. `all_users`, `all_apps`:
        those of every user, of every app. `labels`: only sessions with all of them. `page_size`: 0 is 100, at most 1,000.
        Raises InvalidPageToken.
        """
        request = ss.ListSessionsRequest(
            user_id=self._user(user_id, all_users),
            app=self._app(app, all_apps),
            labels=labels,
            page_size=page_size,
            page_token=page_token,
        )
        return self._call(self._stubs().sessions.ListSessions, request, timeout)

    def sessions(
        self,
        *,
        user_id: str | None = None,
        app: str | None = None,
        all_users: bool = False,
        all_apps: bool = False,
        labels: Mapping[str, str] | None = None,
        page_size: int = 0,
        timeout: float | None = None,
    ) -> Iterator[Session]:
        """All sessions that `list_sessions` finds, page after page."""
        token, more = "", True
        while more:
            page = self.list_sessions(
                user_id=user_id,
                app=app,
                all_users=all_users,
                all_apps=all_apps,
                labels=labels,
                page_size=page_size,
                page_token=token,
                timeout=timeout,
            )
            for session in page.sessions:
                yield session
            token, more = page.next_page_token, bool(page.next_page_token)

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
        timeout: float | None = None,
    ) -> Session:
        """Replace what is given, whole; None leaves it. `metadata=""` and `labels={}` clear. Raises SessionNotFound."""
        new_expiry = expiry(ttl, expire_time, never_expires)
        given = {"expiry": new_expiry, "metadata_json": metadata, "labels": labels, "context_bytes": context_bytes}
        request = ss.UpdateSessionRequest(
            session=self._ref(session),
            update_mask=FieldMask(paths=[path for path, value in given.items() if value is not None]),
            expiry=new_expiry,
            metadata_json=json_text(metadata, "metadata"),
            labels=labels,
            context_bytes=context_bytes or 0,
        )
        return self._call(self._stubs().sessions.UpdateSession, request, timeout).session

    def delete_session(self, session: SessionLike, *, timeout: float | None = None) -> ss.DeleteSessionResponse:
        """Delete a session and its events; deleting what is not there succeeds, with `deleted` false."""
        request = ss.DeleteSessionRequest(session=self._ref(session))
        return self._call(self._stubs().sessions.DeleteSession, request, timeout)

    def delete_expired_sessions(
        self,
        *,
        before: datetime | int | None = None,
        user_id: str | None = None,
        app: str | None = None,
        all_users: bool = False,
        all_apps: bool = False,
        timeout: float | None = None,
    ) -> ss.DeleteExpiredSessionsResponse:
        """Delete sessions that have expired, at most 1,000; `more` says that some remain.

        `before`: only those that expired by this time; by default now. Whose: as in `list_sessions`.
        """
        request = ss.DeleteExpiredSessionsRequest(
            before=timestamp(before, "before"), user_id=self._user(user_id, all_users), app=self._app(app, all_apps)
        )
        return self._call(self._stubs().sessions.DeleteExpiredSessions, request, timeout)

    def append(
        self,
        session: SessionLike,
        *events: SessionEvent,
        expected_log_version: int | None = None,
        expected_last_event_id: str | None = None,
        ignore_existing: bool = False,
        create: bool | CreateOptions = False,
        memory: MemoryProvider | None = None,
        timeout: float | None = None,
    ) -> es.AppendEventsResponse:
        """Append events, all or none; when it returns they are on durable storage.

        Events without an id get one before they are sent, in a copy, so the client's own retries store nothing twice. To
        retry across errors yourself, append the same `with_ids(...)` again. At most one precondition: the log_version, or
        the last event's id ("" for an empty log), that you last saw; else VersionMismatch. `ignore_existing`: an id that is
        stored already is no error whatever its content. `create`: True or CreateOptions makes a missing session. `memory`:
        of one that does not write nothing is sent, and the response is empty. Limits: `info().limits`. Raises SessionNotFound,
        VersionMismatch, EventIdConflict, EventTooLarge, BatchTooLarge.
        """
        if expected_log_version is not None and expected_last_event_id is not None:
            raise ValueError("give at most one of expected_log_version and expected_last_event_id")
        if memory is not None and not memory.writes:
            return es.AppendEventsResponse()
        request = es.AppendEventsRequest(
            session=self._ref(session),
            events=with_ids(*events),
            if_exists=es.IF_EXISTS_IGNORE if ignore_existing else es.IF_EXISTS_UNSPECIFIED,
            create_if_missing=None if create is False else create_if_missing({} if create is True else create),
        )
        if expected_log_version is not None:
            request.expected_log_version = expected_log_version
        if expected_last_event_id is not None:
            request.expected_last_event_id = expected_last_event_id
        return self._call(self._stubs().events.AppendEvents, request, timeout)

    def append_stream(
        self,
        batches: Iterable[tuple[SessionLike, Iterable[SessionEvent]]],
        *,
        max_outstanding: int = 64,
        timeout: float | None = None,
    ) -> Iterator[es.AppendStreamResult]:
        """Append batch after batch without waiting for each answer; yields one result for each batch, in order.

        A batch is `(session, events)` and is atomic. A batch that failed is told by its result (see `error_of`) and does not
        end the stream. At most `max_outstanding` batches are unanswered. There is no time limit unless `timeout`, in seconds,
        sets one for the whole stream. Nothing is retried: to resume a broken stream give the events ids (see `with_ids`) and
        send again what was not answered. What `batches` raises is raised after the results of the batches before it. The
        synchronous client iterates `batches` in another thread.
        """
        if max_outstanding < 1:
            raise ValueError("max_outstanding must be at least 1")
        room = threading.Semaphore(max_outstanding)
        failures: list[Exception] = []
        ended = False

        def requests() -> Iterator[es.AppendStreamRequest]:
            try:
                for session, events in batches:
                    room.acquire()
                    if ended:
                        return
                    append = es.AppendEventsRequest(session=self._ref(session), events=with_ids(*events))
                    yield es.AppendStreamRequest(append=append)
            except Exception as error:  # gRPC would only log it
                failures.append(error)

        call = self._stubs().events.AppendStream(requests(), timeout=timeout, metadata=self._metadata)
        try:
            for response in call:
                for result in response.results:
                    room.release()
                    yield result
        except grpc.RpcError as error:
            raise from_rpc_error(error, self.address) from None
        finally:
            ended = True
            room.release()
            call.cancel()
        for failure in failures:
            raise failure

    def get_event(self, session: SessionLike, event_id: str, *, timeout: float | None = None) -> SessionEvent:
        """One event by its id. Raises SessionNotFound, EventNotFound, AmbiguousSession."""
        request = es.GetEventRequest(session=self._ref(session), event_id=event_id)
        return self._call(self._stubs().events.GetEvent, request, timeout).event

    def list_events(
        self,
        session: SessionLike,
        filter: EventFilter | None = None,  # noqa: A002
        *,
        order: es.SortOrder.ValueType | str = es.SORT_ORDER_UNSPECIFIED,
        page_size: int = 0,
        page_token: str = "",
        timeout: float | None = None,
    ) -> es.ListEventsResponse:
        """One page of the events that match, all by default; an unknown session has none.

        `order`: "asc" (the default) or "desc". `page_size`: 0 is 100, at most the server's limit (1,000), and must
        be 0 when the filter has a window (last_n or page). Raises InvalidPageToken, AmbiguousSession.
        """
        request = es.ListEventsRequest(
            session=self._ref(session),
            filter=filter,
            order=sort_order(order),
            page_size=page_size,
            page_token=page_token,
        )
        return self._call(self._stubs().events.ListEvents, request, timeout)

    def events(
        self,
        session: SessionLike,
        filter: EventFilter | None = None,  # noqa: A002
        *,
        order: es.SortOrder.ValueType | str = es.SORT_ORDER_UNSPECIFIED,
        page_size: int = 0,
        timeout: float | None = None,
    ) -> Iterator[SessionEvent]:
        """All events that `list_events` finds, page after page."""
        token, more = "", True
        while more:
            page = self.list_events(session, filter, order=order, page_size=page_size, page_token=token, timeout=timeout)
            for event in page.events:
                yield event
            token, more = page.next_page_token, bool(page.next_page_token)

    def info(self, *, totals: bool = False, timeout: float | None = None) -> ns.GetServerInfoResponse:
        """The server's version, engine, durability and limits; `totals` counts sessions and events too, which costs a scan."""
        request = ns.GetServerInfoRequest(include_totals=totals)
        return self._call(self._stubs().server.GetServerInfo, request, timeout)
