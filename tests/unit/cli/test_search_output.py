"""How what a search found is shown."""

from __future__ import annotations

from rich.cells import cell_len

from threadkeep.cli.render.output import cut
from threadkeep.cli.render.search_output import marked, remarks
from threadkeep.v1.memory_service_pb2 import SearchMemoryResponse
from threadkeep.v1.search_pb2 import SearchMode
from threadkeep.v1.search_service_pb2 import SearchEventsResponse


def test_a_line_is_cut_by_what_it_takes_on_a_terminal() -> None:
    text = "\u4eac" * 100 + "needle" + "\u4eac" * 100
    shown = marked(text, [(100, 106)], 40)
    assert "needle" in shown.plain
    assert 38 <= cell_len(shown.plain.strip("\u2026")) <= 40
    assert [shown.plain[span.start : span.end] for span in shown.spans] == list("needle")


def test_truncated_lines_fill_the_width() -> None:
    line = "0123456789"
    assert [cut(line, at, 6) for at in (0, 4, 9)] == [(0, 6), (2, 8), (4, 10)]
    assert cut(line, 0, 40) == (0, 10)
    assert cut("", 0, 40) == (0, 0)


def test_remarks_name_hits_by_words_only_and_missing_vectors() -> None:
    ranked, hybrid = SearchMode.SEARCH_MODE_RANKED, SearchMode.SEARCH_MODE_HYBRID
    assert remarks(SearchEventsResponse(mode=ranked), hybrid=False) == []
    assert remarks(SearchEventsResponse(mode=hybrid), hybrid=True) == []
    (alone,) = remarks(SearchEventsResponse(mode=ranked), hybrid=True)
    assert "match words only" in alone
    assert remarks(SearchMemoryResponse(mode=hybrid, semantic_lag=1), hybrid=True)[0].startswith("1 memory cannot")
    assert remarks(SearchEventsResponse(mode=hybrid, semantic_lag=2), hybrid=True)[0].startswith("2 events cannot")
    (unordered,) = remarks(SearchEventsResponse(mode=ranked, rerank_failed=True), hybrid=False)
    assert unordered.startswith("the reranker did not respond")
    (unsearched,) = remarks(SearchEventsResponse(mode=ranked, incomplete=True, unsearched_events=3), hybrid=False)
    assert unsearched.startswith("3 events not indexed yet")
    assert remarks(SearchMemoryResponse(incomplete=True, unsearched_memories=1), hybrid=False)[0].startswith("1 memory not")
