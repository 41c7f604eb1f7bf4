"""Regular expressions of filters: what they match, and their bounds."""

from __future__ import annotations

import time

import pytest

from threadkeep_server.domain.errors import InvalidField
from threadkeep_server.search.patterns import MOST_BYTES, compiled


@pytest.mark.parametrize(
    ("source", "text", "matches"),
    [
        ("b+", "abba", True),
        ("B+", "abba", False),
        ("(?i)B+", "abba", True),
        ("^b", "a\nb", False),
        ("(?m)^b", "a\nb", True),
        ("a.b", "a\nb", False),
        ("(?s)a.b", "a\nb", True),
        ("a\\x00b", "a\0b", True),
        ("^.$", "\N{CRAB}", True),
        ("\\p{Han}", "日本", True),
        ("$", "", True),
    ],
)
def test_a_pattern_matches_somewhere_in_the_text(source: str, text: str, matches: bool) -> None:
    assert compiled("pattern", source).found_in(text) is matches


@pytest.mark.parametrize("source", ["(", "a**", r"(a)\1", "(?=a)", "a{1001}", "[z-a]"])
def test_what_re2_does_not_have_is_refused(source: str) -> None:
    with pytest.raises(InvalidField, match="syntax of RE2") as caught:
        compiled("filter.pattern", source)
    assert caught.value.metadata["field"] == "filter.pattern"


@pytest.mark.parametrize("source", ["a" * 1025, "(?:[ab]{1000}){5}", r"\pL{50}", r"(\pL{1,100}){9}"])
def test_a_large_pattern_is_refused(source: str) -> None:
    with pytest.raises(InvalidField):
        compiled("filter.pattern", source)


def test_a_pattern_that_explodes_elsewhere_is_linear() -> None:
    began = time.process_time()
    assert not compiled("pattern", "^(a+)+$").found_in("a" * 60_000 + "!")
    assert not compiled("pattern", "(a|b)*a(a|b){20}c").found_in("ab" * 20_000)
    assert time.process_time() - began < 2


def test_of_a_long_text_the_beginning_is_matched() -> None:
    assert compiled("pattern", "needle$").found_in("x" * (MOST_BYTES - 6) + "needle" + "x")
    assert not compiled("pattern", "needle").found_in("x" * (MOST_BYTES - 5) + "needle")
    assert compiled("pattern", "^é+$").found_in("é" * MOST_BYTES), "no character is cut"


def test_patterns_of_the_same_source_are_equal() -> None:
    assert compiled("a", "x+") == compiled("b", "x+")
    assert compiled("a", "x+") != compiled("a", "x")
