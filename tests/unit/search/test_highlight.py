"""Where terms are highlighted in a text."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkeep_server.domain.search import Span
from threadkeep_server.domain.text import fold
from threadkeep_server.search import highlight
from threadkeep_server.search.analysis import analyzer
from threadkeep_server.search.highlight import MOST_HIGHLIGHTS, highlights, literal_highlights

from .texts import query_terms, texts, tokens


@pytest.mark.parametrize(
    ("text", "question", "marked"),
    [
        ("She runs, he ran, they were running.", "run", ["runs", "ran", "running"]),
        ("İstanbul'da ışık", "isik", ["ışık"]),
        ("die Straße", "strasse", ["Straße"]),
        ("cafe\u0301 Café", "cafe", ["cafe\u0301", "Café"]),
        ("Caroline’s plan", "caroline", ["Caroline"]),
        ("mail user@example.com now", "example.com", ["example.com"]),
        ("mail user@example.com now", "user@example.com", ["user@example.com"]),
        ("call getUserName()", "user", ["User"]),
        ("我们去北京大学了", "北京大学", ["北京大学"]),
        ("东京在北京", "北京", ["北京"]),
        ("東京タワー", "タワー", ["タワー"]),
        ("한국어 검색", "검색", ["검색"]),
        ("ﬁn 1,000 🎉 книги", "FIN 1000 книга", ["ﬁn", "1,000", "книги"]),
        ("nothing here", "else", []),
        ("", "else", []),
    ],
)
def test_words_of_the_terms_are_highlighted(text: str, question: str, marked: list[str]) -> None:
    assert [text[span.start : span.end] for span in highlights(text, query_terms(question))] == marked


@pytest.mark.parametrize(
    ("text", "term", "marked"),
    [
        ("The RIVER river", "river", ["RIVER", "river"]),
        ("Straße STRASSE", "strasse", ["Straße", "STRASSE"]),
        ("Maß", "s", ["ß"]),
        ("ßß x", "ss", ["ßß"]),
        ("İi ß İ", fold("İ"), ["İ", "İ"]),
        ("a ﬁn", "fi", ["ﬁ"]),
        ("x\x00y", fold("\x00"), ["\x00"]),
        ("100% 100", "0%", ["0%"]),
        ("東京タワー", "京タ", ["京タ"]),
        ("banana", "ana", ["ana"]),
        ("abc", "", []),
    ],
)
def test_literal_occurrences_are_highlighted_in_the_original(text: str, term: str, marked: list[str]) -> None:
    assert [text[span.start : span.end] for span in literal_highlights(text, [term])] == marked


def test_highlights_are_bounded_to_the_first() -> None:
    assert highlights("a " * 100, ["a"]) == [Span(at * 2, at * 2 + 1) for at in range(MOST_HIGHLIGHTS)]
    assert literal_highlights("a " * 100, ["a"], 2) == highlights("a " * 100, {"a"}, 2) == [Span(0, 1), Span(2, 3)]


def test_a_long_text_is_analyzed_only_for_its_first_highlights(monkeypatch: pytest.MonkeyPatch) -> None:
    read = 0

    def counted(text: str, wanted: AbstractSet[str], seen: analyzer.Seen | None) -> Iterator[tuple[int, int]]:
        nonlocal read
        for place in analyzer.places(text, wanted, seen):
            read += 1
            yield place

    monkeypatch.setattr(highlight, "places", counted)
    assert len(highlights("again, " * 10_000, ["again"], 3)) == 3
    assert read == 4


def test_words_of_earlier_texts_are_known() -> None:
    seen: analyzer.Seen = {}
    first = [highlights(text, {"tea"}, seen=seen) for text in ("tea or milk", "milk, tea", "milk")]
    assert first == [highlights(text, {"tea"}) for text in ("tea or milk", "milk, tea", "milk")]
    assert seen.keys() == {"tea", "or", "milk"}


@given(texts, st.data())
def test_places_are_those_of_the_tokens(text: str, data: st.DataObject) -> None:
    known = sorted({token.term for token in tokens(text)})
    terms = data.draw(st.sets(st.sampled_from(known)) if known else st.just({"x"}))
    twice = f"{text} {text}"  # what came before is remembered
    assert list(analyzer.places(twice, terms)) == sorted({(t.start, t.end) for t in tokens(twice) if t.term in terms})


def ordered(spans: list[Span], text: str) -> bool:
    ends = [-1, *(span.end for span in spans)]
    return all(end < span.start < span.end <= len(text) for end, span in zip(ends, spans, strict=False))


@given(texts, st.data())
def test_highlights_are_ordered_disjoint_and_cover_the_matches(text: str, data: st.DataObject) -> None:
    known = sorted({token.term for token in tokens(text)})
    terms = data.draw(st.sets(st.sampled_from(known)) if known else st.just({"x"}))
    spans = highlights(text, terms, len(text))
    assert ordered(spans, text)
    covered = {at for span in spans for at in range(*span)}
    assert covered == {at for token in tokens(text) if token.term in terms for at in range(token.start, token.end)}


@given(texts, st.data())
def test_literal_highlights_hold_the_term_in_folded_text(text: str, data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(text)))
    term = fold(text[first : data.draw(st.integers(first, len(text)))])
    spans = literal_highlights(text, [term], len(text))
    assert ordered(spans, text)
    assert bool(spans) == bool(term)
    assert all(term in fold(text[span.start : span.end]) for span in spans)
