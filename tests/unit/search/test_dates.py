"""Dates that texts mention, each seen from Wednesday, 17 May 2023; and dates as terms."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkeep_server.domain.search import Texts
from threadkeep_server.search.analysis.analyzer import index_terms
from threadkeep_server.search.analysis.terms import words_of
from threadkeep_server.search.dates import date_patterns
from threadkeep_server.search.dates import mentions as dates
from threadkeep_server.search.dates.mentions import DAY, MONTH, YEAR, date_terms, document_dates, mentions

from .texts import SAMPLES, texts

NOW = int(datetime(2023, 5, 17, 23, 59, 59, tzinfo=UTC).timestamp()) * 10**9

_WORDS = (
    "last",
    "next",
    "this",
    "a few",
    "9999",
    "in",
    "ago",
    "week",
    "weekend",
    "months",
    "years",
    "friday",
    "may",
    "summer",
    "of",
)
_MORE = ("7", "31", "2023", "5/7/2023", "2024-02-30", "q1", ",", "月", "日", "昨天")
phrases = st.one_of(texts, st.lists(st.sampled_from(_WORDS + _MORE)).map(" ".join))


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("7 May 2023", "2023-05-07", "2023-05-07"),
        ("7th of May, 2023", "2023-05-07", "2023-05-07"),
        ("May 7th, 2023", "2023-05-07", "2023-05-07"),
        ("Sept. 9 2021", "2021-09-09", "2021-09-09"),
        ("2023-05-07", "2023-05-07", "2023-05-07"),
        ("2023-05-07T10:05:00Z", "2023-05-07", "2023-05-07"),
        ("2023/5/7", "2023-05-07", "2023-05-07"),
        ("5/7/2023", "2023-05-07", "2023-05-07"),
        ("13/7/23", "2023-07-13", "2023-07-13"),
        ("07.05.2023", "2023-05-07", "2023-05-07"),
        ("7-9 May 2023", "2023-05-07", "2023-05-09"),
        ("May 7–9", "2023-05-07", "2023-05-09"),
        ("December 24", "2022-12-24", "2022-12-24"),
        ("Feb 29", "2024-02-29", "2024-02-29"),
        ("May 2023", "2023-05-01", "2023-05-31"),
        ("2024-02", "2024-02-01", "2024-02-29"),
        ("in May", "2023-05-01", "2023-05-31"),
        ("December", "2022-12-01", "2022-12-31"),
        ("week of May 3", "2023-05-01", "2023-05-07"),
        ("week of the 3rd of May, 2021", "2021-05-03", "2021-05-09"),
        ("week beginning 1 May 2023", "2023-05-01", "2023-05-07"),
        ("last May", "2022-05-01", "2022-05-31"),
        ("next May", "2024-05-01", "2024-05-31"),
        ("last June", "2022-06-01", "2022-06-30"),
        ("this January", "2023-01-01", "2023-01-31"),
        ("summer of 2022", "2022-06-01", "2022-08-31"),
        ("winter 2022", "2022-12-01", "2023-02-28"),
        ("last summer", "2022-06-01", "2022-08-31"),
        ("this spring", "2023-03-01", "2023-05-31"),
        ("next winter", "2023-12-01", "2024-02-29"),
        ("Q3 2022", "2022-07-01", "2022-09-30"),
        ("2023", "2023-01-01", "2023-12-31"),
        ("today", "2023-05-17", "2023-05-17"),
        ("Yesterday", "2023-05-16", "2023-05-16"),
        ("last night", "2023-05-16", "2023-05-16"),
        ("tomorrow", "2023-05-18", "2023-05-18"),
        ("the day before yesterday", "2023-05-15", "2023-05-15"),
        ("last week", "2023-05-08", "2023-05-14"),
        ("this week", "2023-05-15", "2023-05-21"),
        ("next week", "2023-05-22", "2023-05-28"),
        ("this weekend", "2023-05-20", "2023-05-21"),
        ("last weekend", "2023-05-13", "2023-05-14"),
        ("next month", "2023-06-01", "2023-06-30"),
        ("last year", "2022-01-01", "2022-12-31"),
        ("last Friday", "2023-05-12", "2023-05-12"),
        ("last Wednesday", "2023-05-10", "2023-05-10"),
        ("next Wednesday", "2023-05-24", "2023-05-24"),
        ("this Friday", "2023-05-19", "2023-05-19"),
        ("Friday", "2023-05-12", "2023-05-12"),
        ("Wednesday", "2023-05-17", "2023-05-17"),
        ("two days ago", "2023-05-15", "2023-05-15"),
        ("a week ago", "2023-05-07", "2023-05-13"),
        ("a few days ago", "2023-05-12", "2023-05-15"),
        ("a couple of months ago", "2023-03-01", "2023-03-31"),
        ("3 years ago", "2020-01-01", "2020-12-31"),
        ("in two weeks", "2023-05-28", "2023-06-03"),
        ("past 3 days", "2023-05-14", "2023-05-17"),
        ("next ten days", "2023-05-17", "2023-05-27"),
        ("2023年5月7日", "2023-05-07", "2023-05-07"),
        ("2023年5月", "2023-05-01", "2023-05-31"),
        ("2022年", "2022-01-01", "2022-12-31"),
        ("5月7日", "2023-05-07", "2023-05-07"),
        ("昨天", "2023-05-16", "2023-05-16"),
        ("昨日", "2023-05-16", "2023-05-16"),
        ("上周末", "2023-05-13", "2023-05-14"),
        ("先週", "2023-05-08", "2023-05-14"),
        ("来月", "2023-06-01", "2023-06-30"),
        ("去年", "2022-01-01", "2022-12-31"),
        ("2023년 5월 7일", "2023-05-07", "2023-05-07"),
        ("어제", "2023-05-16", "2023-05-16"),
    ],
)
def test_a_mention_of_a_date_stands_for_days(text: str, first: str, last: str) -> None:
    spaced = "" if text[-1] > "\u2e80" else " "
    found = mentions(f"é{spaced}{text}{spaced}è", NOW)
    assert [(m.first_day.isoformat(), m.last_day.isoformat()) for m in found] == [(first, last)]
    assert f"é{spaced}{text}{spaced}è"[found[0].start : found[0].end] == text
    assert mentions(text, NOW) == [dates.Mention(0, len(text), date.fromisoformat(first), date.fromisoformat(last))]


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("in May 2021", "2021-05-01", "2021-05-31"),
        ("in May, 2021", "2021-05-01", "2021-05-31"),
        ("since June of 2021", "2021-06-01", "2021-06-30"),
        ("last May 2021", "2021-05-01", "2021-05-31"),
        ("before August 12, 2021", "2021-08-12", "2021-08-12"),
        ("by March 5", "2023-03-05", "2023-03-05"),
        ("until September 9th", "2023-09-09", "2023-09-09"),
        ("the week of May 3, 2021", "2021-05-03", "2021-05-09"),
        ("by May 10:30", "2023-05-01", "2023-05-31"),
        ("in May 200 people", "2023-05-01", "2023-05-31"),
    ],
)
def test_a_month_with_a_day_or_a_year_is_not_the_nearest_month(text: str, first: str, last: str) -> None:
    found = mentions(f"It was {text}.", NOW)
    assert [(each.first_day.isoformat(), each.last_day.isoformat()) for each in found] == [(first, last)]


@pytest.mark.parametrize(
    "text",
    [
        *("", "You may march on", "31 April 2023", "31/4/2023", "2023-13-01", "$2023", "1,2023", "v2023", "2023.5", "1999999"),
        *("may 10:30", "12:30", "Sundays", "a month", "the weekend", "13月40日", "2023年13月", "99999 days ago", "x" * 1000),
    ],
)
def test_texts_that_are_no_dates_are_no_mentions(text: str) -> None:
    assert mentions(text, NOW) == []


def test_several_mentions_are_ordered_and_disjoint() -> None:
    text = "İ Last week, on May 3 and 昨天; 2019!"
    assert [text[m.start : m.end] for m in mentions(text, NOW)] == ["Last week", "May 3", "昨天", "2019"]


def test_mentions_are_bounded() -> None:
    assert len(mentions("today " * 1000, NOW)) == dates.MOST_MENTIONS
    assert mentions(" " * dates.MOST_CHARACTERS + "today", NOW) == []


@pytest.mark.parametrize(
    ("first", "last", "terms"),
    [
        ("2023-05-07", "2023-05-07", [DAY + "20230507", MONTH + "202305", YEAR + "2023"]),
        ("2023-05-31", "2023-06-01", [DAY + "20230531", DAY + "20230601", MONTH + "202305", MONTH + "202306", YEAR + "2023"]),
        ("2023-05-01", "2023-05-31", [MONTH + "202305", YEAR + "2023"]),
        ("2022-12-01", "2023-02-28", [MONTH + "202212", MONTH + "202301", MONTH + "202302", YEAR + "2022", YEAR + "2023"]),
        ("2023-01-01", "2023-12-31", [YEAR + "2023"]),
        ("0001-01-01", "9999-12-31", [f"{YEAR}{year:04}" for year in range(1, 11)]),
    ],
)
def test_spans_have_terms_as_fine_as_they_are_short(first: str, last: str, terms: list[str]) -> None:
    assert date_terms([(date.fromisoformat(first), date.fromisoformat(last))]) == terms


def test_a_document_has_the_terms_of_its_day_and_of_the_days_it_mentions() -> None:
    found = document_dates(["It was yesterday.", "", "2019"], NOW)
    assert found == [DAY + "20230517", MONTH + "202305", YEAR + "2023", DAY + "20230516", YEAR + "2019"]


def test_words_of_a_message_are_its_fields_and_dates() -> None:
    words = words_of(Texts("Hotels, yesterday", 'find({"q": "x"})', "", "map.png"), NOW)
    assert words.text == ["hotel", "yesterday"]
    assert words.calls == ["find", "q", "x"]
    assert words.results == []
    assert words.media == ["mappng", "map", "png"]
    assert words.dates == document_dates(["yesterday"], NOW)


@pytest.mark.parametrize("time", [0, -1, 2**63 - 1, -(2**63), 10**30, -(10**30)])
def test_any_time_has_a_day(time: int) -> None:
    assert len(document_dates(["last year, 9999 years ago, in 9999 years, next week, last summer, May 7"], time)) >= 3


@given(phrases, st.integers(-(2**66), 2**66))
def test_mentions_of_any_text_are_in_order_and_of_days(text: str, time: int) -> None:
    end = 0
    for mention in mentions(text, time):
        assert end <= mention.start < mention.end <= len(text)
        assert mention.first_day <= mention.last_day
        end = mention.end


@given(phrases)
def test_the_fast_date_matcher_finds_the_matches_of_the_pattern(text: str) -> None:
    lower = dates._lower(text)
    assert [match.span() for match in dates._spaced(lower)] == [match.span() for match in dates._SPACED.finditer(lower)]


@given(phrases, st.integers(-(2**63), 2**63))
def test_terms_of_dates_are_no_terms_of_words(text: str, time: int) -> None:
    terms = document_dates([text], time)
    assert len(terms) == len(set(terms))
    assert set(terms).isdisjoint(index_terms(" ".join([text, *terms])))
    assert all(term[0] in (DAY, MONTH, YEAR) and term[1:].isdecimal() and term.isprintable() is False for term in terms)


@pytest.mark.parametrize("text", SAMPLES)
def test_no_trigger_is_missed(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is looked at only because of a trigger has no mention without one."""
    shown = [
        "Yesterday",
        "last Friday",
        "in March",
        "next year",
        "a few weeks ago",
        "this autumn",
        "tonight",
        "a month ago",
        text,
    ]
    before = [mentions(one, NOW) for one in shown]
    monkeypatch.setattr(date_patterns, "TRIGGERS", ("",))
    monkeypatch.setattr(date_patterns, "FIRST_WITHOUT_MONTH", date_patterns.FIRST)
    assert [mentions(one, NOW) for one in shown] == before
