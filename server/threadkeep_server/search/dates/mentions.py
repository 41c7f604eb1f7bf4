"""Dates that texts mention, and dates as terms of the index.

A question about "last week" and an answer "on Tuesday" share a date but no word. So the date of a document and the dates that
it mentions are terms of the document, and the dates that a query mentions are terms of the query. There are three kinds of
terms, which no text contains, because words have no private-use characters: DAY + "20230507", MONTH + "202305", YEAR + "2023".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date
from typing import NamedTuple

from . import calendar, date_patterns
from .calendar import Days
from .date_patterns import Rule

DAY = "\ue100"
MONTH = "\ue101"
YEAR = "\ue102"

MOST_DAYS = 7
"""Spans of more days have no terms for their days."""
MOST_MONTHS = 3
"""Spans of more months have no terms for their months."""
MOST_YEARS = 10
"""Only the first years of a span have terms."""

MOST_MENTIONS = 64
"""Maximum number of mentions of one text; the rest is ignored."""
MOST_CHARACTERS = 100_000
"""Characters of one text that are searched for mentions."""


class Mention(NamedTuple):
    """A date that a text mentions: its characters from `start` to before `end`, and its first and last day."""

    start: int
    end: int
    first_day: date
    last_day: date


_GROUP = re.compile(r"\(\?P<[^>]*>")
_SEPARATOR = re.compile(r"\(\?P<sep>([^)]*)\)(.*)\(\?P=sep\)")


def _combined(rules: Sequence[Rule], first: int) -> str:
    """Returns all rules as one pattern, with one group per rule and none inside."""
    plain = (_GROUP.sub("(?:", _SEPARATOR.sub(r"\1\2\1", rule.pattern)) for rule in rules)
    return "|".join(f"(?P<r{number}>{pattern})" for number, pattern in enumerate(plain, first))


_RULES = (*date_patterns.SPACED, *date_patterns.UNSPACED)
_PATTERNS = [re.compile(rule.pattern) for rule in _RULES]
# No matches within numbers, amounts and longer words.
_SPACED = re.compile(rf"(?<![\w$€£])(?<!\d[.,/:-])(?:{_combined(date_patterns.SPACED, 0)})(?!\w)(?![.:/-]\d)")
_UNSPACED = re.compile(rf"(?<!\d)(?:{_combined(date_patterns.UNSPACED, len(date_patterns.SPACED))})")
_UNSPACED_LETTER = re.compile("[\u3400-\u9fff\uac00-\ud7a3]")
_DIGIT = re.compile(r"\d")
_WORD = re.compile(r"\w+")


def mentions(text: str, reference_ns: int) -> list[Mention]:
    """Returns the dates that a text mentions, in order, without overlaps. Relative dates and dates without a year are resolved
    against the day of `reference_ns`, since 1970 in UTC. Impossible dates (31 April) are left out."""
    lower = _lower(text[:MOST_CHARACTERS])
    found = _spaced(lower)
    if not lower.isascii() and _UNSPACED_LETTER.search(lower):
        found = sorted([*found, *_UNSPACED.finditer(lower)], key=re.Match.start)
    if not found:
        return []
    today, result, end = calendar.day_of(reference_ns), list[Mention](), 0
    for match in found:
        if match.start() >= end and (span := _meant(match, today)):
            end = match.end()
            result.append(Mention(match.start(), end, *span))
    return result[:MOST_MENTIONS]


def _spaced(lower: str) -> list[re.Match[str]]:
    """Returns matches of SPACED. Tries only words that can begin one; a search at every character takes much longer."""
    if not _DIGIT.search(lower) and not any(word in lower for word in date_patterns.TRIGGERS):
        return []
    first = date_patterns.FIRST if any(month in lower for month in date_patterns.MONTHS) else date_patterns.FIRST_WITHOUT_MONTH
    found: list[re.Match[str]] = []
    end = 0
    for word in _WORD.finditer(lower):
        if (
            (word[0] in first or word[0][0].isdecimal())
            and word.start() >= end
            and (match := _SPACED.match(lower, word.start()))
        ):
            found.append(match)
            end = match.end()
    return found


def _lower(text: str) -> str:
    """Returns the text in lower case, with every character at its place."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(small if len(small := character.lower()) == 1 else character for character in text)


def _meant(match: re.Match[str], today: date) -> Days | None:
    number = int((match.lastgroup or "r0")[1:])
    parts = _PATTERNS[number].fullmatch(match[0])
    return _RULES[number].meaning(parts, today) if parts else None


def date_terms(spans: Iterable[tuple[date, date]]) -> list[str]:
    """Returns the terms of spans of days (first and last, both inclusive), each once: those of their days, months and years,
    within MOST_DAYS, MOST_MONTHS and MOST_YEARS."""
    terms: dict[str, None] = {}
    for first, last in spans:
        length = (last - first).days + 1
        if length <= MOST_DAYS:
            terms.update((f"{DAY}{_digits(calendar.shifted(first, ahead))}", None) for ahead in range(length))
        months = range(first.year * 12 + first.month - 1, last.year * 12 + last.month)
        if len(months) <= MOST_MONTHS:
            terms.update((f"{MONTH}{number // 12:04}{number % 12 + 1:02}", None) for number in months)
        years = range(first.year, last.year + 1)[:MOST_YEARS]
        terms.update((f"{YEAR}{year:04}", None) for year in years)
    return list(terms)


def _digits(day: date) -> str:
    return f"{day.year:04}{day.month:02}{day.day:02}"


def document_dates(texts: Iterable[str], time_ns: int) -> list[str]:
    """Returns the terms of a document's day and of the dates that its texts mention, resolved against that day."""
    today = calendar.day_of(time_ns)
    spans = [(today, today)]
    for text in texts:
        if text:
            spans += [(mention.first_day, mention.last_day) for mention in mentions(text, time_ns)]
    return date_terms(spans)
