"""Encodes responses from stored bytes, without parsing events.

Each function returns one encoded message. Tests compare it with the encoding that protobuf produces.
"""

from __future__ import annotations

from collections.abc import Sequence

from threadkeep.v1 import event_service_pb2, search_pb2, search_service_pb2

from ...domain.model import SessionRef, StoredEvent
from ...service.search.literal_search import LiteralPage
from ...service.search.ranked_search import RankedHit, RankedPage
from ...service.search.search_pipeline import Highlights
from ...service.user_events import UserEventPage
from ...store.contract.events import ContextPage, EventPage
from ...store.contract.loading import Loaded
from ..wire.codec import published
from ..wire.wire_format import delimited, repeated, single
from .search import highlights_to
from .sessions import counters_to, ref_to, session_to
from .state import session_state_to

_FIELD_1, _FIELD_2, _FIELD_3, _FIELD_4, _FIELD_5, _FIELD_6 = map(delimited, range(1, 7))


def get_event_response(event: StoredEvent) -> bytes:
    return single(_FIELD_1, published(event))


def list_events_response(page: EventPage, next_page_token: str) -> bytes:
    rest = event_service_pb2.ListEventsResponse(
        next_page_token=next_page_token, log_version=page.log_version, last_seq=page.last_seq
    )
    return repeated(_FIELD_1, map(published, page.events)) + rest.SerializeToString()


def list_user_events_response(page: UserEventPage, next_page_token: str) -> bytes:
    rest = event_service_pb2.ListUserEventsResponse(next_page_token=next_page_token)
    events = (
        single(_FIELD_1, ref_to(ref).SerializeToString()) + single(_FIELD_2, published(event)) for ref, event in page.events
    )
    return repeated(_FIELD_1, events) + rest.SerializeToString()


def get_context_response(page: ContextPage) -> bytes:
    rest = event_service_pb2.GetContextResponse(
        truncated=page.truncated,
        first_seq=page.first_seq,
        last_seq=page.last_seq,
        over_budget=page.over_budget,
        context=counters_to(page.context),
        window=counters_to(page.versions.window),
        log_version=page.versions.log_version,
        window_version=page.versions.window_version,
        session_last_seq=page.versions.last_seq,
        compactable_through_seq=page.compactable_through_seq,
        max_bytes=page.max_bytes,
    )
    return repeated(_FIELD_1, map(published, page.events)) + rest.SerializeToString()


def load_session_response(loaded: Loaded, next_page_token: str) -> bytes:
    first = event_service_pb2.LoadSessionResponse(session=session_to(loaded.session), state=session_state_to(loaded.states))
    newest = b"" if loaded.newest is None else single(_FIELD_3, published(loaded.newest))
    log = b""
    if isinstance(loaded.log, EventPage):
        log = single(_FIELD_4, list_events_response(loaded.log, next_page_token))
    elif loaded.log is not None:
        log = single(_FIELD_5, get_context_response(loaded.log))
    return first.SerializeToString() + newest + log


def literal_events_response(page: LiteralPage, next_page_token: str) -> bytes:
    """Returns the response of a search by SUBSTRING."""
    hits = (_hit(hit.ref, hit.event, hit.before, hit.after, _ranked(1.0, hit.highlights)) for hit in page.hits)
    rest = search_service_pb2.SearchEventsResponse(
        next_page_token=next_page_token, mode=search_pb2.SEARCH_MODE_SUBSTRING, incomplete=page.incomplete
    )
    return repeated(_FIELD_1, hits) + rest.SerializeToString()


def ranked_events_response(page: RankedPage, next_page_token: str) -> bytes:
    hits = (_ranked_hit(hit) for hit in page.hits)
    rest = search_service_pb2.SearchEventsResponse(
        next_page_token=next_page_token,
        mode=search_pb2.SearchMode.ValueType(page.mode),
        truncated=page.truncated,
        semantic_lag=page.semantic_lag,
        incomplete=page.unsearched > 0,
        unsearched_events=page.unsearched,
        rerank_failed=page.rerank_failed,
    )
    return repeated(_FIELD_1, hits) + rest.SerializeToString()


def _ranked_hit(hit: RankedHit) -> bytes:
    found = hit.found
    grouped = search_service_pb2.SearchHit(group_hits=hit.group_hits)
    ranked = _ranked(hit.score, hit.highlights)
    return _hit(found.ref, found.event, found.before, found.after, ranked) + grouped.SerializeToString()


def _ranked(score: float, highlights: Highlights) -> bytes:
    """Encodes fields 3 and 4 of a SearchHit."""
    return search_service_pb2.SearchHit(score=score, highlights=highlights_to(highlights)).SerializeToString()


def _hit(
    ref: SessionRef, event: StoredEvent, before: Sequence[StoredEvent], after: Sequence[StoredEvent], ranked: bytes
) -> bytes:
    """Encodes a SearchHit; `ranked` contains its fields 3 and 4."""
    found = single(_FIELD_1, ref_to(ref).SerializeToString()) + single(_FIELD_2, published(event))
    around = repeated(_FIELD_5, map(published, before)) + repeated(_FIELD_6, map(published, after))
    return found + ranked + around
