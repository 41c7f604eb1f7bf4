"""The fields of a filter, and the merge of two filters.

Regular expressions are not on the wire; an adapter that offers them filters on its side and has its own tests.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from threadkeep_server.domain.errors import InvalidField
from threadkeep_server.domain.filters import ALL, Authors, AuthorStep, EventFilter, merge
from threadkeep_server.domain.model import Role
from threadkeep_server.search.patterns import compiled


def refused(field: str, problem: str = "", **fields: Any) -> None:
    with pytest.raises(InvalidField, match=re.escape(problem)) as caught:
        EventFilter(**fields)
    assert caught.value.metadata["field"] == field


@pytest.mark.parametrize("keyword", ["", "   ", "\t\n", "\u2003"])
def test_a_blank_keyword_counts_as_not_set(keyword: str) -> None:
    assert EventFilter(keyword=keyword) == ALL
    assert EventFilter(keyword=keyword).terms == ()


def test_without_a_keyword_none_is_set() -> None:
    assert EventFilter().keyword == ""
    assert EventFilter().terms == ()


def test_a_keyword_is_kept_folded() -> None:
    assert EventFilter(keyword="Spring AI").keyword == "spring ai"
    assert EventFilter(keyword=" Straße ").keyword == " strasse "


def test_last_n_zero_is_rejected() -> None:
    refused("filter.last_n", "must be at least 1", last_n=0)


def test_negative_last_n_is_rejected() -> None:
    refused("filter.last_n", "must be at least 1", last_n=-1)


@pytest.mark.parametrize("count", [0, -1])
def test_exact_last_n_below_one_is_rejected(count: int) -> None:
    refused("filter.exact_last_n", "must be at least 1", exact_last_n=count)


def test_last_n_is_kept() -> None:
    assert EventFilter(last_n=5).last_n == 5
    assert EventFilter(last_n=5).has_window


def test_page_size_zero_is_rejected() -> None:
    refused("filter.page.page_size", "must be at least 1", page_size=0)


def test_negative_page_size_is_rejected() -> None:
    refused("filter.page.page_size", "must be at least 1", page_size=-1)


def test_a_negative_page_is_rejected() -> None:
    refused("filter.page.page", "must not be negative", page=-1, page_size=10)


def test_a_page_without_a_size_is_rejected() -> None:
    refused("filter.page.page_size", "is required", page=1)


def test_the_default_page_is_the_first() -> None:
    wanted = EventFilter(page_size=10)
    assert (wanted.page, wanted.page_size, wanted.offset) == (0, 10, 0)


def test_page_and_size_are_kept() -> None:
    wanted = EventFilter(page=2, page_size=10)
    assert (wanted.page, wanted.page_size, wanted.offset) == (2, 10, 20)


def test_no_roles_count_as_not_set() -> None:
    assert EventFilter(roles=frozenset()) == ALL


def test_roles_are_kept() -> None:
    assert EventFilter(roles=frozenset({Role.USER})).roles == {Role.USER}


def test_last_n_and_page_size_are_rejected() -> None:
    refused("filter.last_n", "mutually exclusive", last_n=5, page_size=10)


def test_exact_last_n_and_another_window_are_rejected() -> None:
    refused("filter.exact_last_n", "mutually exclusive", exact_last_n=5, page_size=10)
    refused("filter.last_n", "mutually exclusive", exact_last_n=5, last_n=5)


def test_last_n_and_a_page_are_rejected() -> None:
    refused("filter.last_n", "mutually exclusive", last_n=5, page=0, page_size=10)


def test_any_is_the_default() -> None:
    assert EventFilter(keywords=("a", "b")).match_all is False


@pytest.mark.parametrize("keywords", [(), ("",), (" ", "\n")])
def test_no_keywords_count_as_not_set_and_so_does_their_mode(keywords: tuple[str, ...]) -> None:
    assert EventFilter(keywords=keywords, match_all=True) == ALL


def test_blank_keywords_are_dropped() -> None:
    assert EventFilter(keywords=("spring", "  ", "")).keywords == ("spring",)


def test_keywords_that_fold_alike_are_one() -> None:
    assert EventFilter(keywords=("Spring", "AI", "SPRING")).keywords == ("spring", "ai")


def test_without_window_keeps_the_conditions() -> None:
    assert EventFilter(keyword="a", last_n=3).without_window() == EventFilter(keyword="a")
    assert EventFilter(keyword="a", page=3, page_size=4).without_window() == EventFilter(keyword="a")


BASE = EventFilter(
    from_time=1,
    to_time=2,
    after_seq=3,
    before_seq=4,
    roles=frozenset({Role.USER}),
    authors=(AuthorStep(True, Authors(ids=frozenset({"base"}))),),
    keyword="base",
    keywords=("base", "both"),
    match_all=True,
    branch="base",
    invocation_ids=frozenset({"base"}),
    native_formats=frozenset({"base"}),
    metadata=(("base", "1"),),
    pattern=compiled("pattern", "base"),
    last_n=5,
)
OTHERS: list[dict[str, Any]] = [
    {"last_n": 7},
    {"from_time": 0},
    {"to_time": 70},
    {"after_seq": 0},
    {"before_seq": 70},
    {"roles": frozenset({Role.TOOL})},
    {"authors": (AuthorStep(False, Authors(roles=frozenset({"other"}))),)},
    {"keyword": "other"},
    {"keywords": ("other",), "match_all": False},
    {"page": 1, "page_size": 2},
    {"exact_last_n": 7},
    {"branch": "other"},
    {"branch": "", "exact_branch": True},
    {"invocation_ids": frozenset({"other"})},
    {"native_formats": frozenset({"other"})},
    {"metadata": (("other", "2"),)},
    {"pattern": compiled("pattern", "other")},
]


@pytest.mark.parametrize("fields", OTHERS, ids=lambda fields: next(iter(fields)))
def test_fields_that_the_other_filter_sets_win(fields: dict[str, Any]) -> None:
    merged = merge(BASE, EventFilter(**fields))
    for name, value in fields.items():
        assert getattr(merged, name) == value
    window = {"last_n": None} if "page" in fields or "exact_last_n" in fields else {}
    for name in EventFilter.__dataclass_fields__.keys() - fields.keys() - window.keys():
        assert getattr(merged, name) == getattr(BASE, name), name


def test_fields_that_the_other_filter_does_not_set_are_kept() -> None:
    assert merge(BASE, ALL) == BASE
    assert merge(ALL, BASE) == BASE


@pytest.mark.parametrize("name", ["exclude_synthetic", "exclude_archived"])
def test_exclusions_add_up(name: str) -> None:
    flag: dict[str, Any] = {name: True}
    excluding = EventFilter(**flag)
    assert getattr(merge(excluding, ALL), name) is True
    assert getattr(merge(ALL, excluding), name) is True
    assert getattr(merge(ALL, ALL), name) is False


def test_merging_nothing_with_nothing_gives_nothing() -> None:
    assert merge(ALL, ALL) == ALL


def test_the_window_is_one_unit() -> None:
    paged, last = EventFilter(page=1, page_size=10), EventFilter(last_n=5)
    assert merge(last, paged) == paged
    assert merge(paged, last) == last
