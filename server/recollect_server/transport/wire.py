"""Responses put together from stored bytes, so that reading an event costs no parsing.

Each function writes the encoding of one message; a test holds them equal to what protobuf writes.
"""

from __future__ import annotations

from recollect.v1 import event_service_pb2, recall_service_pb2

from ..domain.model import StoredEvent
from ..store.base import EventPage, SearchPage
from ..store.windows import ContextPage
from .codec import published
from .convert import counters_to, ref_to
from .fields import delimited, repeated, single

_FIELD_1, _FIELD_2 = delimited(1), delimited(2)


def get_event_response(event: StoredEvent) -> bytes:
    return single(_FIELD_1, published(event))


def list_events_response(page: EventPage, next_page_token: str) -> bytes:
    rest = event_service_pb2.ListEventsResponse(
        next_page_token=next_page_token, log_version=page.log_version, last_seq=page.last_seq
    )
    return repeated(_FIELD_1, map(published, page.events)) + rest.SerializeToString()


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
    )
    return repeated(_FIELD_1, map(published, page.events)) + rest.SerializeToString()


def search_events_response(page: SearchPage, next_page_token: str) -> bytes:
    hits = (single(_FIELD_1, ref_to(hit.ref).SerializeToString()) + single(_FIELD_2, published(hit.event)) for hit in page.hits)
    rest = recall_service_pb2.SearchEventsResponse(next_page_token=next_page_token)
    return repeated(_FIELD_1, hits) + rest.SerializeToString()
