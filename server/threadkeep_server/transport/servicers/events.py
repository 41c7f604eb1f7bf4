"""threadkeep.v1.EventService."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from threadkeep.v1 import event_service_pb2 as pb
from threadkeep.v1 import session_pb2

from ...domain import validation
from ...domain.context import ContextSpec
from ...domain.errors import InvalidField
from ...domain.model import Caller, SessionRef
from ...service.events import Append, EventService
from ...service.removals import RemovalService
from ...service.sessions import SessionDraft
from ...service.user_events import UserCursor, UserEventQuery, UserEventService
from ...store.contract.breakdowns import MOST_BRANCHES
from ...store.contract.events import Appended, Cursor, EventPage, EventQuery
from ...store.contract.history import AsOf
from ...store.contract.loading import LoadQuery
from ..convert.breakdowns import branch_to, usage_entry_to, usage_query_of
from ..convert.context import spec_of
from ..convert.events import DraftMaker, drafts_of, set_appended
from ..convert.removals import erases, operation_of
from ..convert.responses import (
    get_context_response,
    get_event_response,
    list_events_response,
    list_user_events_response,
    load_session_response,
)
from ..convert.sessions import expiry_of, filter_of, ref_of
from ..convert.state import delta_of, scopes_of, values_of
from ..page_tokens import PageTokens
from .append_stream import AppendStreams
from .event_removals import RemovalMethods

_IF_EXISTS = frozenset(pb.IfExists.values())
_SORT_ORDERS = frozenset(pb.SortOrder.values())
_ReadRef = Callable[[session_pb2.SessionRef], SessionRef]


class EventServicer(RemovalMethods):
    def __init__(
        self,
        events: EventService,
        removals: RemovalService,
        limits: validation.Limits,
        tokens: PageTokens,
        make_draft: DraftMaker,
        append_streams: AppendStreams,
        user_events: UserEventService,
    ) -> None:
        super().__init__(removals, limits, make_draft)
        self._user_events = user_events
        self._events = events
        self._append_streams = append_streams
        self._tokens = tokens

    async def AppendEvents(self, request: pb.AppendEventsRequest, caller: Caller) -> pb.AppendEventsResponse:
        response = pb.AppendEventsResponse()
        set_appended(response, await self._events.append(caller, self._append_of(request, request.session, ref_of)))
        return response

    def _append_of(self, request: pb.AppendEventsRequest, session: session_pb2.SessionRef, read: _ReadRef) -> Append:
        if request.if_exists not in _IF_EXISTS:
            raise InvalidField("if_exists", "must be IF_EXISTS_REPLAY, IF_EXISTS_IGNORE or IF_EXISTS_REPLACE")
        replaces = request.if_exists == pb.IF_EXISTS_REPLACE
        if request.replaced and not replaces:
            raise InvalidField("replaced", "needs if_exists IF_EXISTS_REPLACE")
        erase_replaced = erases("replaced", request.replaced)
        operation = operation_of(request, request.operation_id)
        expected = request.WhichOneof("precondition")
        last_id = validation.identifier("expected_last_event_id", request.expected_last_event_id)
        return Append(
            ref=read(session),
            drafts=drafts_of(request.events, self._limits, self._make_draft),
            expected_log_version=request.expected_log_version if expected == "expected_log_version" else None,
            expected_last_event_id=last_id if expected == "expected_last_event_id" else None,
            ignore_existing=request.if_exists == pb.IF_EXISTS_IGNORE,
            create=_create_of(request.create_if_missing) if request.HasField("create_if_missing") else None,
            operation=operation,
            replace_existing=replaces,
            erase_replaced=erase_replaced,
            state=delta_of("state_delta", request.state_delta) if request.HasField("state_delta") else None,
        )

    def AppendStream(
        self, requests: AsyncIterator[pb.AppendStreamRequest], caller: Caller
    ) -> AsyncIterator[pb.AppendStreamResponse]:
        read = _LastRef().of

        def append(request: pb.AppendEventsRequest, session: session_pb2.SessionRef) -> Awaitable[Appended]:
            if request.if_exists == pb.IF_EXISTS_REPLACE:
                raise InvalidField("if_exists", "must not be IF_EXISTS_REPLACE in a stream; call AppendEvents")
            return self._events.append(caller, self._append_of(request, session, read))

        return self._append_streams.open(append).responses(requests)

    async def GetEvent(self, request: pb.GetEventRequest, caller: Caller) -> bytes:
        event_id = validation.identifier("event_id", request.event_id, required=True)
        return get_event_response(await self._events.get(caller, ref_of(request.session), event_id))

    async def ListEvents(self, request: pb.ListEventsRequest, caller: Caller) -> bytes:
        page = await self._events.list(caller, ref_of(request.session), self._query_of(request, caller))
        cursor = page.cursor
        token = "" if cursor is None else self._tokens.make(request, caller, cursor.position, cursor.stop)
        return list_events_response(page, token)

    async def ListUserEvents(self, request: pb.ListUserEventsRequest, caller: Caller) -> bytes:
        wanted = filter_of(request.filter)
        if window := request.filter.WhichOneof("limit"):
            raise InvalidField(f"filter.{window}", "is not for the events of a user; use page_size and page_token")
        size = validation.page_size(
            "page_size", request.page_size, default=validation.DEFAULT_PAGE_SIZE, most=self._limits.max_page_size
        )
        app = validation.identifier("app", request.app) if request.HasField("app") else None
        cursor = self._user_cursor(request, caller) if request.page_token else None
        query = UserEventQuery(validation.identifier("user_id", request.user_id), app, wanted, size, cursor)
        page = await self._user_events.list(caller, query)
        token = "" if page.cursor is None else self._tokens.make(request, caller, *_numbers(page.cursor))
        return list_user_events_response(page, token)

    def _user_cursor(self, request: pb.ListUserEventsRequest, caller: Caller) -> UserCursor:
        *places, position, stop = self._tokens.read(request, caller, request.page_token, 6)
        before, inside = ((time, key) for time, key in (places[:2], places[2:]))
        return UserCursor(
            None if before[0] is None or before[1] is None else (before[0], before[1]),
            None if inside[0] is None or inside[1] is None else (inside[0], inside[1]),
            None if position is None else Cursor(position, stop),
        )

    async def GetContext(self, request: pb.GetContextRequest, caller: Caller) -> bytes:
        ref, spec, as_of = ref_of(request.session), spec_of(request.spec), _as_of(request)
        return get_context_response(await self._events.context(caller, ref, spec, as_of))

    async def LoadSession(self, request: pb.LoadSessionRequest, caller: Caller) -> bytes:
        listing = _listing(request)
        _check_log(request, listing)
        log: EventQuery | ContextSpec | None = None
        if request.HasField("spec"):
            log = spec_of(request.spec)
        elif not request.exclude_events:
            log = self._query_of(listing, caller)
        query = LoadQuery(log, scopes_of("state_scopes", request.state_scopes), request.with_newest_event)
        loaded = await self._events.load(caller, ref_of(request.session), query)
        cursor = loaded.log.cursor if isinstance(loaded.log, EventPage) else None
        token = "" if cursor is None else self._tokens.make(listing, caller, cursor.position, cursor.stop)
        return load_session_response(loaded, token)

    async def ListBranches(self, request: pb.ListBranchesRequest, caller: Caller) -> pb.ListBranchesResponse:
        size = validation.page_size("page_size", request.page_size, default=MOST_BRANCHES, most=MOST_BRANCHES)
        after = self._tokens.read_text(request, caller, request.page_token)[1:] if request.page_token else None
        page = await self._events.branches(caller, ref_of(request.session), size, after)
        # The name of the root is empty, but a token never is.
        token = "" if page.cursor is None else self._tokens.make_text(request, caller, f"/{page.cursor}")
        return pb.ListBranchesResponse(branches=map(branch_to, page.branches), next_page_token=token)

    async def ListUsage(self, request: pb.ListUsageRequest, caller: Caller) -> pb.ListUsageResponse:
        cursor = self._tokens.read(request, caller, request.page_token, 1)[0] if request.page_token else None
        page = await self._events.usage(caller, ref_of(request.session), usage_query_of(request, self._limits, cursor))
        token = "" if page.cursor is None else self._tokens.make(request, caller, page.cursor)
        return pb.ListUsageResponse(entries=map(usage_entry_to, page.entries), next_page_token=token)

    def _query_of(self, request: pb.ListEventsRequest, caller: Caller) -> EventQuery:
        if request.order not in _SORT_ORDERS:
            raise InvalidField("order", "must be SORT_ORDER_ASCENDING or SORT_ORDER_DESCENDING")
        wanted = filter_of(request.filter)
        if wanted.has_window and request.page_size:
            raise InvalidField("page_size", "and a window in filter are mutually exclusive")
        cursor = None
        if request.page_token:
            position, stop = self._tokens.read(request, caller, request.page_token, 2)
            cursor = Cursor(position or 0, stop)
        default = self._limits.max_page_size if wanted.has_window else validation.DEFAULT_PAGE_SIZE
        return EventQuery(
            filter=wanted,
            descending=request.order == pb.SORT_ORDER_DESCENDING,
            limit=validation.page_size("page_size", request.page_size, default=default, most=self._limits.max_page_size),
            max_bytes=self._limits.max_response_bytes,
            cursor=cursor,
            as_of=_as_of(request),
        )


def _listing(request: pb.LoadSessionRequest) -> pb.ListEventsRequest:
    """Returns the request that lists the same events, and to which the page token belongs."""
    listing = pb.ListEventsRequest(session=request.session, order=request.order, page_size=request.page_size)
    if request.HasField("filter"):
        listing.filter.CopyFrom(request.filter)
    return listing


def _check_log(request: pb.LoadSessionRequest, listing: pb.ListEventsRequest) -> None:
    """Raises InvalidField if more than one of events, a context and nothing is requested."""
    lists = bool(listing.order or listing.page_size or listing.HasField("filter"))
    if request.HasField("spec") and lists:
        raise InvalidField("spec", "and filter, order and page_size are mutually exclusive")
    if request.exclude_events and (lists or request.HasField("spec")):
        raise InvalidField("exclude_events", "and filter, order, page_size and spec are mutually exclusive")


def _as_of(request: pb.ListEventsRequest | pb.GetContextRequest) -> AsOf | None:
    """Raises InvalidField."""
    match request.WhichOneof("as_of"):
        case None:
            return None
        case "as_of_seq":
            return AsOf(seq=request.as_of_seq)
        case "as_of_log_version":
            return AsOf(log_version=request.as_of_log_version)


def _numbers(cursor: UserCursor) -> Sequence[int | None]:
    events = (None, None) if cursor.events is None else (cursor.events.position, cursor.events.stop)
    return (*(cursor.before or (None, None)), *(cursor.inside or (None, None)), *events)


class _LastRef:
    """Converts the session of a stream once, not for each message. Access is checked for each message."""

    def __init__(self) -> None:
        self._session: session_pb2.SessionRef | None = None
        self._ref = SessionRef("", "", "")

    def of(self, session: session_pb2.SessionRef) -> SessionRef:
        """Returns the reference. Raises InvalidField on every call with an invalid session."""
        if session is not self._session:
            self._ref = ref_of(session)
            self._session = session
        return self._ref


def _create_of(create: pb.CreateIfMissing) -> SessionDraft:
    return SessionDraft(
        expiry=expiry_of(create.expiry, "create_if_missing.expiry"),
        metadata_json=validation.json_object("create_if_missing.metadata_json", create.metadata_json),
        labels=validation.labels("create_if_missing.labels", create.labels),
        state=values_of("create_if_missing.state", create.state),
    )
