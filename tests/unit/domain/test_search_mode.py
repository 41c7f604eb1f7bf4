"""What AUTO is resolved to."""

from __future__ import annotations

import pytest

from threadkeep_server.domain.search import SearchMode, understood

AUTO, SUBSTRING, RANKED, HYBRID = SearchMode.AUTO, SearchMode.SUBSTRING, SearchMode.RANKED, SearchMode.HYBRID


@pytest.mark.parametrize("best", [RANKED, HYBRID])
@pytest.mark.parametrize("query", ["Where does Zoë live?", "ORD-77", "7", "猫", 'the "red" boat', '"a" and "b"', "don't"])
def test_auto_with_words_is_the_best_mode_and_keeps_the_query(query: str, best: SearchMode) -> None:
    assert understood(AUTO, query, best) == (best, query)


@pytest.mark.parametrize(
    ("query", "text"),
    [('"ORD-77"', "ORD-77"), (' "two words" ', "two words"), ("“curly”", "curly"), ("„unten“", "unten"), ('" a "', " a ")],
)
def test_auto_with_a_query_in_double_quotes_is_substring_without_them(query: str, text: str) -> None:
    assert understood(AUTO, query, HYBRID) == (SUBSTRING, text)


@pytest.mark.parametrize("query", ["", "  ", "->", "?!", "🎉", '"', '""', '" "'])
def test_auto_without_a_letter_or_digit_is_substring(query: str) -> None:
    assert understood(AUTO, query, RANKED) == (SUBSTRING, query)


def test_auto_with_what_is_for_one_kind_of_mode_alone_is_that_kind() -> None:
    assert understood(AUTO, "tea", RANKED, literal=True) == (SUBSTRING, "tea")
    assert understood(AUTO, '"tea"', RANKED, ranks=True) == (RANKED, '"tea"')
    assert understood(AUTO, "tea", RANKED, literal=True, ranks=True) == (RANKED, "tea"), "which refuses the page"
    assert understood(AUTO, "", RANKED, ranks=True) == (SUBSTRING, ""), "which refuses the rest"


@pytest.mark.parametrize("mode", [mode for mode in SearchMode if mode is not AUTO])
def test_another_mode_stays_and_keeps_quotes(mode: SearchMode) -> None:
    assert understood(mode, '"tea"', RANKED, literal=True) == (mode, '"tea"')
