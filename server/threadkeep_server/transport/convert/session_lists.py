"""Conversion of lists of sessions."""

from __future__ import annotations

from threadkeep.v1 import session_service_pb2 as pb

from ...domain import validation
from ...domain.errors import InvalidField
from ...store.contract.sessions import SessionOrder, SessionQuery
from .sessions import time_of

_ORDERS = {
    pb.SESSION_ORDER_UNSPECIFIED: SessionOrder.CREATED_LAST,
    pb.SESSION_ORDER_CREATED_LAST_FIRST: SessionOrder.CREATED_LAST,
    pb.SESSION_ORDER_CREATED_FIRST: SessionOrder.CREATED_FIRST,
    pb.SESSION_ORDER_UPDATED_LAST_FIRST: SessionOrder.UPDATED_LAST,
    pb.SESSION_ORDER_UPDATED_FIRST: SessionOrder.UPDATED_FIRST,
}


def session_query_of(
    request: pb.ListSessionsRequest, limits: validation.Limits, cursor: tuple[int, int] | None
) -> SessionQuery:
    """Returns the query. Raises InvalidField."""
    order = _ORDERS.get(request.order_by)
    if order is None:
        raise InvalidField("order_by", "must be a value of SessionOrder")
    if not 0 <= request.offset <= validation.MAX_OFFSET:
        raise InvalidField("offset", f"must be between 0 and {validation.MAX_OFFSET:,}; page_token has no limit")
    size = validation.page_size("page_size", request.page_size, default=validation.DEFAULT_PAGE_SIZE, most=limits.max_page_size)
    return SessionQuery(
        app=validation.identifier("app", request.app) if request.HasField("app") else None,
        user_id=validation.identifier("user_id", request.user_id) or None,
        labels=validation.labels("labels", request.labels),
        limit=size,
        cursor=cursor,
        order=order,
        updated_after=time_of("updated_after", request.updated_after) if request.HasField("updated_after") else None,
        updated_before=time_of("updated_before", request.updated_before) if request.HasField("updated_before") else None,
        prefix=validation.identifier("session_id_prefix", request.session_id_prefix),
        forked_from=validation.identifier("forked_from", request.forked_from),
        offset=request.offset if cursor is None else 0,
        count=request.with_total,
        newest=request.with_newest_event,
        states=request.with_state,
        max_bytes=limits.max_response_bytes // 2,
    )
