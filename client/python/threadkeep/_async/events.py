"""The calls on events; see `client`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Iterable
from typing import TypeVar

import grpc

from .._convert import (
    CreateOptions,
    PatchFields,
    SessionLike,
    check,
    creation,
    encodable,
    enum_value,
    mode_of,
    set_as_of,
    sort_order,
    state_delta,
)
from .._rpc_errors import from_rpc_error
from ..filters import FilterLike, filter_of
from ..memory import MemoryProvider
from ..messages import with_ids
from ..v1 import event_service_pb2 as es
from ..v1 import server_service_pb2 as ns
from ..v1.session_pb2 import SessionRef
from ..values.events import Event
from ..values.expect import Expect, LastEventId, LogVersion
from ..values.incoming import Appendable
from ..values.pages import EventPage
from .connection import AsyncConnection
from .pages import paged

Item = TypeVar("Item")


class AsyncEvents(AsyncConnection):
    """The calls on events."""

    async def append(
        self,
        session: SessionLike,
        *events: Appendable | Iterable[Appendable],
        create_if_missing: bool | CreateOptions = False,
        expect: Expect | None = None,
        if_exists: es.IfExists.ValueType | str = es.IF_EXISTS_UNSPECIFIED,
        erase_replaced: bool = False,
        operation_id: str = "",
        state: PatchFields | None = None,
        user_state: PatchFields | None = None,
        app_state: PatchFields | None = None,
        memory: MemoryProvider | None = None,
        timeout: float | None = None,
    ) -> es.AppendEventsResponse:
        """Append events, all or none; they are on durable storage when it returns.

        An item is a text of the user, an event, a message of OpenAI, Anthropic or `threadkeep.chat`, or a list of these. Events
        without an id get one before they are sent, in a copy, so the client's retries store nothing twice. To retry after an
        error, append the same `with_ids(...)` again. `create_if_missing`: True or CreateOptions creates a missing session.
        `expect`: a precondition, `LogVersion(3)` or `LastEventId("e1")`: what you read last; else VersionMismatch. `if_exists`:
        what happens to an event whose id is stored. "replay", the default: the same content is a replay, other content raises
        EventIdConflict; "ignore": the stored event stays; "replace": an event with other content takes the place of the stored
        one, which is archived, or with `erase_replaced` erased. `operation_id`: the server remembers it with the outcome; a
        repeated append with the same id and content returns that, also after a crash of the caller, and stores nothing.
        `state`, `user_state`, `app_state`: changes of the session's state, its user's and its app's, committed with the events,
        such as {"set": {"cart": 3}, "remove": ["draft"]}. `memory`: a provider that does not write sends
        nothing, and the response is empty. Limits: `info().limits`. Raises SessionNotFound, VersionMismatch, EventIdConflict,
        OperationConflict, EventTooLarge, BatchTooLarge, StateTooLarge.
        """
        if memory is not None and not memory.writes:
            return es.AppendEventsResponse()
        request = es.AppendEventsRequest(
            session=self._ref(session),
            events=with_ids(*events),
            if_exists=enum_value(dict(es.IfExists.items()), "IF_EXISTS_", if_exists, "if_exists"),
            replaced=mode_of(erase_replaced),
            operation_id=encodable(operation_id, "operation_id"),
            create_if_missing=creation(create_if_missing),
            state_delta=state_delta(state, user_state, app_state),
        )
        if isinstance(expect, LogVersion):
            request.expected_log_version = expect.version
        elif expect is not None:
            request.expected_last_event_id = check(expect, LastEventId, "expect").event_id
        return await self._call((await self._stubs()).events.AppendEvents, request, timeout)

    async def append_stream(
        self,
        batches: AsyncIterable[tuple[SessionLike, Iterable[Appendable]]] | Iterable[tuple[SessionLike, Iterable[Appendable]]],
        *,
        max_outstanding: int = 64,
        timeout: float | None = None,
    ) -> AsyncIterator[es.AppendStreamResult]:
        """Append batch after batch without waiting for each response; yields one result per batch, in order.

        A batch is `(session, events)` and is atomic. A failed batch has an error in its result (see `error_of`) and does not
        end the stream. At most `max_outstanding` batches wait for a result. There is no time limit unless `timeout`, in
        seconds, sets one for the whole stream. Nothing is retried: to resume a broken stream, use events with ids (see
        `with_ids`) and send the batches without a result again. An error of `batches` is raised after the results of the
        batches before it. The synchronous client iterates `batches` in another thread.
        """
        if max_outstanding < 1:
            raise ValueError("max_outstanding must be at least 1")
        room = asyncio.Semaphore(max_outstanding)
        failures: list[Exception] = []
        ended = False

        async def requests() -> AsyncIterator[es.AppendStreamRequest]:
            try:
                async for session, events in _each(batches):
                    await room.acquire()
                    if ended:
                        return
                    append = es.AppendEventsRequest(session=self._ref(session), events=with_ids(*events))
                    yield es.AppendStreamRequest(append=append)
            except Exception as error:  # gRPC would only log it
                failures.append(error)

        metadata = await self._credential.metadata()
        call = (await self._stubs()).events.AppendStream(requests(), timeout=timeout, metadata=metadata)
        try:
            async for response in call:
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

    async def get_event(self, session: SessionLike, event_id: str, *, timeout: float | None = None) -> Event:
        """Return one event by its id. Raises SessionNotFound, EventNotFound, AmbiguousSession."""
        request = es.GetEventRequest(session=self._ref(session), event_id=event_id)
        return Event((await self._call((await self._stubs()).events.GetEvent, request, timeout)).event)

    async def events_page(
        self,
        session: SessionLike,
        filter: FilterLike | None = None,  # noqa: A002
        *,
        order: es.SortOrder.ValueType | str = es.SORT_ORDER_UNSPECIFIED,
        page_size: int = 0,
        page_token: str = "",
        as_of_seq: int | None = None,
        as_of_log_version: int | None = None,
        timeout: float | None = None,
    ) -> EventPage:
        """Return one page of the events that match, by default of all; an unknown session has none.

        `order`: "asc" (the default) or "desc". `page_size`: 0 is 100, at most the server's limit (1,000), and must
        be 0 when the filter has a window (last_n or page). `as_of_seq` or `as_of_log_version`: the events as they were directly
        after that event was stored, or at that log version. Raises InvalidPageToken, AmbiguousSession, HistoryUnknown.
        """
        request = es.ListEventsRequest(
            session=self._ref(session),
            filter=filter_of(filter),
            order=sort_order(order),
            page_size=page_size,
            page_token=page_token,
        )
        set_as_of(request, as_of_seq, as_of_log_version)
        return EventPage(await self._call((await self._stubs()).events.ListEvents, request, timeout))

    def events(
        self,
        session: SessionLike,
        filter: FilterLike | None = None,  # noqa: A002
        *,
        order: es.SortOrder.ValueType | str = es.SORT_ORDER_UNSPECIFIED,
        page_size: int = 0,
        as_of_seq: int | None = None,
        as_of_log_version: int | None = None,
        timeout: float | None = None,
    ) -> AsyncIterator[Event]:
        """Iterate over all events that `events_page` finds."""
        return paged(
            lambda token: self.events_page(
                session,
                filter,
                order=order,
                page_size=page_size,
                page_token=token,
                as_of_seq=as_of_seq,
                as_of_log_version=as_of_log_version,
                timeout=timeout,
            ),
            lambda page: page.events,
        )

    async def user_events_page(
        self,
        *,
        user_id: str | None = None,
        app: str | None = None,
        any_app: bool = False,
        filter: FilterLike | None = None,  # noqa: A002
        page_size: int = 0,
        page_token: str = "",
        timeout: float | None = None,
    ) -> es.ListUserEventsResponse:
        """Return one page of the events of a user, with their sessions: session by session in the order of their creation.

        `user_id`, `app`: by default the client's; `app=""` is sessions without one; `any_app`: of every app. `filter`: without
        a window. `page_size`: 0 is 100, at most the server's limit (1,000). A page may be empty and not be the last. Raises
        InvalidPageToken.
        """
        request = es.ListUserEventsRequest(
            user_id=self._user(user_id, False),
            app=self._app(app, any_app),
            filter=filter_of(filter),
            page_size=page_size,
            page_token=page_token,
        )
        return await self._call((await self._stubs()).events.ListUserEvents, request, timeout)

    def user_events(
        self,
        *,
        user_id: str | None = None,
        app: str | None = None,
        any_app: bool = False,
        filter: FilterLike | None = None,  # noqa: A002
        page_size: int = 0,
        timeout: float | None = None,
    ) -> AsyncIterator[es.UserEvent]:
        """Iterate over all events that `user_events_page` finds."""
        return paged(
            lambda token: self.user_events_page(
                user_id=user_id, app=app, any_app=any_app, filter=filter, page_size=page_size, page_token=token, timeout=timeout
            ),
            lambda page: page.events,
        )

    async def info(self, *, totals: bool = False, timeout: float | None = None) -> ns.GetServerInfoResponse:
        """Return the server's version, engine, durability and limits; `totals` counts sessions and events too, by a scan."""
        request = ns.GetServerInfoRequest(include_totals=totals)
        return await self._call((await self._stubs()).server.GetServerInfo, request, timeout)


async def batches_of(
    ref: SessionRef, batches: AsyncIterable[Iterable[Appendable]] | Iterable[Iterable[Appendable]]
) -> AsyncIterator[tuple[SessionLike, Iterable[Appendable]]]:
    """The batches of one session, for `append_stream`."""
    async for events in _each(batches):
        yield ref, events


async def dropped(
    batches: AsyncIterable[Iterable[Appendable]] | Iterable[Iterable[Appendable]],
) -> AsyncIterator[es.AppendStreamResult]:
    """An empty result for each batch that is not sent."""
    async for _ in _each(batches):
        yield es.AppendStreamResult()


async def _each(items: AsyncIterable[Item] | Iterable[Item]) -> AsyncIterator[Item]:
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item
