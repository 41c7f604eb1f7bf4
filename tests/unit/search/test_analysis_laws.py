"""What holds for the terms of any text."""

from __future__ import annotations

import sqlite3
import unicodedata

import pytest
from hypothesis import given, settings

from tests.support.runs.thoroughness import examples
from threadkeep_server.search.analysis.analyzer import index_terms, query_tokens
from threadkeep_server.search.analysis.normalize import LONGEST_TERM

from .texts import SAMPLES, query_terms, texts, tokens


@given(texts)
def test_terms_are_of_letters_marks_numbers_and_private_characters(text: str) -> None:
    for term in index_terms(text):
        assert 0 < len(term) <= LONGEST_TERM
        assert all(unicodedata.category(character)[0] in "LMN" or unicodedata.category(character) == "Co" for character in term)


@given(texts)
def test_tokens_are_the_terms_that_are_indexed(text: str) -> None:
    assert [token.term for token in tokens(text)] == index_terms(text)


@settings(max_examples=examples(300))
@given(texts)
def test_the_characters_of_a_token_have_its_term(text: str) -> None:
    for token in tokens(text):
        assert 0 <= token.start < token.end <= len(text)
        assert token.term in index_terms(text[token.start : token.end])


@given(texts)
def test_a_text_has_every_term_of_the_same_text_as_a_question(text: str) -> None:
    assert set(query_terms(text)) <= set(index_terms(text))
    assert set(query_tokens(text)) <= set(tokens(text))


@given(texts, texts)
def test_concatenated_texts_have_the_terms_of_each(one: str, other: str) -> None:
    assert index_terms(f"{one}\n{other}") == index_terms(one) + index_terms(other)


@pytest.mark.parametrize("text", SAMPLES)
def test_sqlite_takes_each_term_for_one_token(text: str) -> None:
    """With the tokenizer of the SQLite index: it accepts all categories of characters that terms have."""
    with sqlite3.connect(":memory:") as base:
        base.execute(
            "CREATE VIRTUAL TABLE t USING fts5(w, tokenize=\"unicode61 remove_diacritics 0 categories 'L* N* Co M*'\")"
        )
        base.execute("CREATE VIRTUAL TABLE v USING fts5vocab(t, instance)")
        base.execute("INSERT INTO t VALUES (?)", (" ".join(index_terms(text)),))
        stored = [term for (term,) in base.execute('SELECT term FROM v ORDER BY "offset"')]
    base.close()
    assert stored == index_terms(text)
