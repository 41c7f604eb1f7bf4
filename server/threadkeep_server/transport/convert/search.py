"""Conversion for searches of events, and the parts that searches of memories share."""

from __future__ import annotations

from collections.abc import Sequence

from google.protobuf.duration_pb2 import Duration

from threadkeep.v1 import search_pb2, session_pb2
from threadkeep.v1 import search_service_pb2 as pb

from ...domain import validation
from ...domain.errors import InvalidField
from ...domain.model import SECOND_NS, SessionRef
from ...domain.scopes import AppScope, EventScope, UserScope
from ...domain.search import ALL_FIELDS, FIELDS, Field, SearchMode, Understood, understood
from ...service.search.ranked_search import Grouping, RankedQuery
from ...service.search.search_pipeline import NOT_FOR_SUBSTRING, Highlights, Recency, check_min_score
from .sessions import filter_of, ref_of, time_of

# The range of google.protobuf.Duration.
_MAX_DURATION_S = 315_576_000_000
_FIELDS = dict(enumerate(FIELDS, start=1))
_NUMBERS = {field: number for number, field in _FIELDS.items()}
_GROUPINGS = {int(grouping): grouping for grouping in Grouping}


def mode_of(value: int) -> SearchMode:
    try:
        return SearchMode(value) if value else SearchMode.AUTO
    except ValueError:
        names = ", ".join(f"SEARCH_MODE_{mode.name}" for mode in SearchMode)
        raise InvalidField("mode", f"must be one of {names}") from None


def scope_of(request: pb.SearchEventsRequest) -> EventScope:
    """Returns the requested scope. Raises InvalidField."""
    scope = request.WhichOneof("scope")
    if scope == "session":
        return ref_of(request.session)
    if scope == "user":
        app = validation.identifier("user.app", request.user.app) if request.user.HasField("app") else None
        return UserScope(validation.identifier("user.user_id", request.user.user_id), app)
    if scope == "app":
        return AppScope(validation.identifier("app.app", request.app.app))
    raise InvalidField("scope", "is required: session, user or app")


def understood_as(request: pb.SearchEventsRequest, best: SearchMode) -> Understood:
    """Returns the mode and the text of the query. Raises InvalidField for an unknown mode or too many fields."""
    validation.count("fields", request.fields, validation.MAX_CHOICES)
    literal = request.filter.HasField("page")
    return understood(mode_of(request.mode), request.query, best, literal=literal, ranks=_ranks(request))


def _ranks(request: pb.SearchEventsRequest) -> bool:
    """Reports whether the request has fields that SUBSTRING does not support."""
    beyond = any(field != search_pb2.SEARCH_FIELD_TEXT for field in request.fields)
    return bool(
        beyond or request.grouping or request.distinct or request.HasField("recency") or request.HasField("reference_time")
    )


def check_substring(request: pb.SearchEventsRequest) -> None:
    """Rejects fields that require ranked hits."""
    if fields_of(request.fields) & ~Field.TEXT:
        raise InvalidField("fields", "must be SEARCH_FIELD_TEXT with SEARCH_MODE_SUBSTRING, which searches no other field")
    if grouping_of(request.grouping) is not Grouping.NONE:
        raise InvalidField("grouping", NOT_FOR_SUBSTRING)
    if request.distinct:
        raise InvalidField("distinct", NOT_FOR_SUBSTRING)
    for name in ("recency", "reference_time"):
        if request.HasField(name):
            raise InvalidField(name, NOT_FOR_SUBSTRING)
    check_min_score(request.min_score, SearchMode.SUBSTRING)


def ranked_query_of(request: pb.SearchEventsRequest, how: Understood, limit: int, offset: int) -> RankedQuery:
    """Returns the validated search. Does not check access. Raises InvalidField."""
    mode, text = how
    return RankedQuery(
        scope=scope_of(request),
        text=text,
        mode=mode,
        filter=filter_of(request.filter),
        fields=fields_of(request.fields) or ALL_FIELDS,
        limit=limit,
        offset=offset,
        neighbors=request.neighbors,
        grouping=grouping_of(request.grouping),
        recency=recency_of(request.recency) if request.HasField("recency") else None,
        min_score=request.min_score if request.HasField("min_score") else None,
        reference_time=time_of("reference_time", request.reference_time) if request.HasField("reference_time") else None,
        include_synthetic=request.include_synthetic,
        distinct=request.distinct,
    )


def fields_of(values: Sequence[int]) -> Field:
    """Returns the union of the fields, empty if none is given."""
    fields = Field(0)
    for index, value in enumerate(values):
        if value not in _FIELDS:
            raise InvalidField(f"fields[{index}]", "must be SEARCH_FIELD_TEXT, _TOOL_CALLS, _TOOL_RESULTS or _MEDIA")
        fields |= _FIELDS[value]
    return fields


def grouping_of(value: int) -> Grouping:
    if value not in _GROUPINGS:
        raise InvalidField("grouping", "must be HIT_GROUPING_TURN or HIT_GROUPING_SESSION")
    return _GROUPINGS[value]


def recency_of(recency: search_pb2.Recency) -> Recency:
    if not recency.HasField("half_life"):
        raise InvalidField("recency.half_life", "is required")
    return Recency(_nanoseconds("recency.half_life", recency.half_life), recency.weight or 1.0)


def _nanoseconds(field: str, value: Duration) -> int:
    if abs(value.seconds) > _MAX_DURATION_S or abs(value.nanos) >= SECOND_NS or value.seconds * value.nanos < 0:
        raise InvalidField(field, "must be a duration: seconds within 10,000 years, nanos of the same sign and below a second")
    return value.seconds * SECOND_NS + value.nanos


def tool_ref_of(session: session_pb2.SessionRef) -> SessionRef:
    """Returns the session of a tool call; the session id is optional."""
    if session.session_id:
        return ref_of(session)
    return ref_of(session, creating=True)


def highlights_to(highlights: Highlights) -> list[search_pb2.Highlight]:
    return [
        search_pb2.Highlight(field=search_pb2.SearchField.ValueType(_NUMBERS[field]), start=span.start, end=span.end)
        for field, span in highlights
    ]
