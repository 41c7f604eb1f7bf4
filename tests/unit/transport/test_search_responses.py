"""Encodings of search responses equal those of protobuf."""

from __future__ import annotations

from threadkeep import SessionEvent, user
from threadkeep.v1 import search_pb2 as rp
from threadkeep.v1 import search_service_pb2 as pb
from threadkeep.v1 import session_pb2
from threadkeep_server.domain.model import SessionRef, StoredEvent
from threadkeep_server.domain.search import Field, SearchMode, Span
from threadkeep_server.service.search.literal_search import LiteralHit, LiteralPage
from threadkeep_server.service.search.ranked_search import RankedHit, RankedPage
from threadkeep_server.service.search.search_pipeline import Highlight
from threadkeep_server.store.contract.search import FoundEvent
from threadkeep_server.transport.convert.responses import literal_events_response, ranked_events_response

REF = SessionRef("shop", "alice", "s1")
SESSION = session_pb2.SessionRef(app="shop", user_id="alice", session_id="s1")


def said(text: str, *, archived: bool = False) -> tuple[StoredEvent, SessionEvent]:
    """Returns the event as stored, and as readers receive it."""
    event = user(text, event_id=text)
    stored = StoredEvent(1, event.SerializeToString(), archived)
    event.archived = archived
    return stored, event


ONE, TWO, THREE = said("one"), said("two", archived=True), said("three")


def test_a_ranked_response_equals_the_protobuf_encoding() -> None:
    found = FoundEvent(7, 1, REF, ONE[0], 5, 0, before=[TWO[0]], after=[THREE[0], TWO[0]])
    marks = [Highlight(Field.TEXT, Span(0, 3)), Highlight(Field.TOOL_RESULTS, Span(4, 9)), Highlight(Field.MEDIA, Span(0, 1))]
    bare = FoundEvent(8, 1, REF, TWO[0], 5, 0)
    hits = [RankedHit(found, 1.5, marks, 3), RankedHit(bare, -0.25)]
    page = RankedPage(hits, SearchMode.HYBRID, True, 4, next_offset=2, unsearched=5, rerank_failed=True)
    expected = pb.SearchEventsResponse(
        hits=[
            pb.SearchHit(
                session=SESSION,
                event=ONE[1],
                score=1.5,
                highlights=[
                    rp.Highlight(field=rp.SEARCH_FIELD_TEXT, start=0, end=3),
                    rp.Highlight(field=rp.SEARCH_FIELD_TOOL_RESULTS, start=4, end=9),
                    rp.Highlight(field=rp.SEARCH_FIELD_MEDIA, start=0, end=1),
                ],
                before=[TWO[1]],
                after=[THREE[1], TWO[1]],
                group_hits=3,
            ),
            pb.SearchHit(session=SESSION, event=TWO[1], score=-0.25),
        ],
        next_page_token="t",
        mode=rp.SEARCH_MODE_HYBRID,
        truncated=True,
        semantic_lag=4,
        incomplete=True,
        unsearched_events=5,
        rerank_failed=True,
    )
    assert pb.SearchEventsResponse.FromString(ranked_events_response(page, "t")) == expected
    assert ranked_events_response(page, "t") == expected.SerializeToString()


def test_a_literal_response_equals_the_protobuf_encoding() -> None:
    hit = LiteralHit(REF, ONE[0], [Highlight(Field.TEXT, Span(1, 2))], before=[TWO[0]])
    expected = pb.SearchEventsResponse(
        hits=[
            pb.SearchHit(
                session=SESSION,
                event=ONE[1],
                score=1,
                highlights=[rp.Highlight(field=rp.SEARCH_FIELD_TEXT, start=1, end=2)],
                before=[TWO[1]],
            )
        ],
        mode=rp.SEARCH_MODE_SUBSTRING,
        incomplete=True,
    )
    assert literal_events_response(LiteralPage([hit], incomplete=True), "") == expected.SerializeToString()
