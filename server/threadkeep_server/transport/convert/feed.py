"""Conversion for subscriptions: scope, filter and start."""

from __future__ import annotations

from threadkeep.v1 import filter_pb2
from threadkeep.v1 import subscription_service_pb2 as pb

from ...domain import validation
from ...domain.errors import InvalidField, InvalidResumeToken
from ...domain.feed import FeedScope
from ...domain.filters import EventFilter
from ...service.feed.subscriptions import Start
from .sessions import filter_of

MAX_FILTER_BYTES = 128 << 10
"""The limit of a subscription's filter, which stays in memory and is stored with a consumer."""


def scope_of(scope: pb.ChangeScope, field: str = "scope") -> FeedScope:
    """Returns the scope without its tenant."""
    user_id = validation.identifier(f"{field}.user_id", scope.user_id)
    if user_id and not user_id.strip():
        raise InvalidField(f"{field}.user_id", "must not be blank")
    return FeedScope(
        tenant="",
        app=validation.identifier(f"{field}.app", scope.app) if scope.HasField("app") else None,
        user_id=user_id or None,
        labels=tuple(sorted(validation.labels(f"{field}.labels", scope.labels).items())),
    )


def followed_filter_of(wanted: filter_pb2.EventFilter) -> EventFilter:
    """Returns the filter of a subscription, which must not have a window. Raises InvalidField."""
    if window := wanted.WhichOneof("limit"):
        raise InvalidField(f"filter.{window}", "is not for subscriptions, which have no window")
    if wanted.pattern:  # all subscriptions of a server are served by one loop
        raise InvalidField("filter.pattern", "is not for subscriptions: match in the client")
    converted = filter_of(wanted)
    if wanted.ByteSize() > MAX_FILTER_BYTES:
        raise InvalidField(
            "filter", f"must have at most {MAX_FILTER_BYTES} bytes; use a wider filter and skip events in the client"
        )
    return converted


def start_of(request: pb.WatchSessionRequest | pb.WatchAllRequest) -> Start:
    kind = request.WhichOneof("start")
    if kind is None:
        return Start()
    if kind == "resume_token":
        if not request.resume_token:  # must not mean "no token", which would skip changes
            raise InvalidResumeToken("is empty")
        return Start(resume_token=request.resume_token)
    value: int = getattr(request, kind)
    if kind == "after_seq":
        if value < 0:
            raise InvalidField(kind, "must not be negative")
        return Start(after_seq=value)
    if not value:
        raise InvalidField(kind, "must be true; leave it out for live_only")
    return Start(from_beginning=kind == "from_beginning")
