"""The patterns of dates in texts, each with its meaning on a given day.

They cover English, the numeric forms of most regions, and the most usual words of Chinese, Japanese and Korean, in lower case.
Ambiguous forms: a day or month without a year is the nearest one; a day of the week alone is the last one, including today;
5/7/2023 is in May unless there is no such day; weeks begin on Monday; seasons are those of the north.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import date
from typing import NamedTuple

from . import calendar
from .calendar import Days


class Rule(NamedTuple):
    """A pattern, and the function that returns the days of a match, given the match and today; None: it is no date."""

    pattern: str
    meaning: Callable[[re.Match[str], date], Days | None]


MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SEASONS = ("winter", "spring", "summer", "autumn", "fall")
_BEFORE_MONTH = (
    *("in", "since", "during", "until", "till", "by", "of", "from", "for"),
    *("early", "late", "mid", "around", "before", "after", "through"),
)
_STEPS = {"last": -1, "past": -1, "previous": -1, "this": 0, "current": 0, "next": 1, "coming": 1, "following": 1}
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_COUNTS: dict[str, tuple[int, int]] = {word: (number, number) for number, word in enumerate(_NUMBERS)} | {
    "a": (1, 1),
    "an": (1, 1),
    "couple": (2, 2),
    "few": (2, 5),
    "several": (3, 7),
}

_MONTH = "(?P<month>" + "|".join(f"{name[:3]}(?:{name[3:]})?" for name in MONTHS) + r"|sept)\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?(?: ?[-–] ?(?P<until>\d{1,2})(?:st|nd|rd|th)?)?"
_YEAR = r"(?P<year>[12]\d{3})"
_DAY_FIRST = rf"{_DAY} (?:of )?{_MONTH},?(?: {_YEAR})?"
_MONTH_FIRST = rf"{_MONTH} {_DAY}(?:,? {_YEAR})?"
_UNIT = r"(?P<unit>day|week|weekend|month|year)"
_COUNT = r"(?P<count>\d{1,4}|" + "|".join(f"(?:a )?{word}" if len(word) > 2 else word for word in _COUNTS) + ")(?: of)?"
_WEEKDAY = "|".join(_WEEKDAYS)
_SEASON = "|".join(_SEASONS)
_WHICH = "(?P<which>" + "|".join(_STEPS) + ")"
_WEEK = "week (?:of|beginning|starting)(?: on)?(?: the)?"
_FULL_MONTH = "(?P<month>" + "|".join(MONTHS) + ")"
_SURE_MONTHS = "|".join(name for name in MONTHS if name not in ("march", "may", "august"))


def _month_number(name: str) -> int:
    return next(number for number, month in enumerate(MONTHS, 1) if month.startswith(name[:3]))


def _span(first: date | None, last: date | None) -> Days | None:
    return Days(first, last) if first and last and first <= last else None


def _nearest(today: date, month: int, first: int, last: int) -> Days | None:
    found = [
        _span(calendar.day(today.year + ahead, month, first), calendar.day(today.year + ahead, month, last))
        for ahead in (0, -1, 1)
    ]
    return min((span for span in found if span), key=lambda span: abs((span.first - today).days), default=None)


def _of_date(match: re.Match[str], today: date) -> Days | None:
    """Returns one or several days of a named month, with or without a year."""
    month, first = _month_number(match["month"]), int(match["day"])
    last = int(match["until"] or first)
    if match["year"]:
        return _span(calendar.day(int(match["year"]), month, first), calendar.day(int(match["year"]), month, last))
    return _nearest(today, month, first, last)


def _of_numbers(match: re.Match[str], today: date) -> Days | None:
    number = calendar.day(int(match["year"]), int(match["month"]), int(match["day"]))
    return calendar.one(number) if number else None


def _of_slashes(match: re.Match[str], today: date) -> Days | None:
    year, a, b = int(match["year"]), int(match["a"]), int(match["b"])
    found = calendar.day(year + 2000 * (year < 100), a, b) or calendar.day(year + 2000 * (year < 100), b, a)
    return calendar.one(found) if found else None


def _of_week(match: re.Match[str], today: date) -> Days | None:
    """Returns the week of a date."""
    days = _of_date(match, today)
    return calendar.week(days.first) if days else None


def _of_month(match: re.Match[str], today: date) -> Days | None:
    return calendar.month(int(match["year"]), _month_number(match["month"]))


def _of_iso_month(match: re.Match[str], today: date) -> Days | None:
    return calendar.month(int(match["year"]), int(match["month"]))


def _of_bare_month(match: re.Match[str], today: date) -> Days | None:
    number = _month_number(match["month"])
    ahead = (number - today.month + 6) % 12 - 6
    if match["which"]:
        step = _STEPS[match["which"]]
        ahead = number - today.month if step == 0 else step * ((step * (number - today.month) - 1) % 12 + 1)
    return calendar.month(today.year, today.month + ahead)


def _of_season(match: re.Match[str], today: date) -> Days | None:
    return calendar.season(int(match["year"]), _quarter(match["season"]))


def _quarter(season: str) -> int:
    return {"spring": 1, "summer": 2, "autumn": 3, "fall": 3, "winter": 4}[season]


def _of_relative_season(match: re.Match[str], today: date) -> Days | None:
    around = [calendar.season(today.year + ahead, _quarter(match["season"])) for ahead in (-2, -1, 0, 1)]
    step = _STEPS[match["which"]]
    if step < 0:
        return next((span for span in reversed(around) if span.last < today), None)
    if step > 0:
        return next((span for span in around if span.first > today), None)
    return next((span for span in around if span.last >= today), None)


def _of_quarter(match: re.Match[str], today: date) -> Days | None:
    return calendar.month(int(match["year"]), 3 * int(match["quarter"]) - 2, 3)


def _of_relative_unit(match: re.Match[str], today: date) -> Days | None:
    return _unit(today, match["unit"], _STEPS[match["which"]])


def _unit(today: date, unit: str, step: int) -> Days:
    """Returns the day, week, weekend, month or year that is the given number of them after today's."""
    if unit == "weekend":
        return calendar.weekend(today, step)
    if unit == "month":
        return calendar.month(today.year, today.month + step)
    if unit == "year":
        return calendar.year(today.year + step)
    return calendar.week(today, step) if unit == "week" else calendar.one(calendar.shifted(today, step))


def _of_relative_weekday(match: re.Match[str], today: date) -> Days | None:
    number, step = _WEEKDAYS.index(match["weekday"]), _STEPS[match["which"]]
    ahead = number - today.weekday()
    return calendar.one(calendar.shifted(today, step * ((step * ahead - 1) % 7 + 1) if step else ahead))


def _of_weekday(match: re.Match[str], today: date) -> Days | None:
    return calendar.one(calendar.shifted(today, -((today.weekday() - _WEEKDAYS.index(match["weekday"])) % 7)))


def _counted(match: re.Match[str]) -> tuple[int, int]:
    count = match["count"].removeprefix("a ") if match["count"] != "a" else "a"
    return _COUNTS.get(count) or (int(count), int(count))


def _of_count(match: re.Match[str], today: date) -> Days | None:
    """Returns the days some time ago, or in some time. Weeks are not exact: they include three days before and after."""
    low, high = _counted(match)
    step = -1 if match[0].endswith(("ago", "back")) else 1
    near, far = (_apart(today, match["unit"], step * number) for number in (low, high))
    return Days(min(near.first, far.first), max(near.last, far.last))


def _apart(today: date, unit: str, step: int) -> Days:
    return calendar.around(calendar.shifted(today, 7 * step), 3) if unit == "week" else _unit(today, unit, step)


def _of_period(match: re.Match[str], today: date) -> Days | None:
    """Returns the days from some time ago until today, or from today."""
    far = {"day": 1, "week": 7, "weekend": 7, "month": 30, "year": 365}[match["unit"]] * _counted(match)[1]
    end = calendar.shifted(today, _STEPS[match["which"]] * far)
    return Days(min(today, end), max(today, end))


def _of_year(match: re.Match[str], today: date) -> Days | None:
    return calendar.year(int(match["year"]))


_NAMED_DAYS = {
    "the day before yesterday": -2,
    "the day after tomorrow": 2,
    **dict.fromkeys(("yesterday", "last night"), -1),
    **dict.fromkeys(("today", "tonight", "this morning", "this afternoon", "this evening"), 0),
    "tomorrow": 1,
}

_NAMED_IN_ASIA = {
    **dict.fromkeys(("前天", "一昨日", "그저께"), ("day", -2)),
    **dict.fromkeys(("昨天", "昨日", "昨晚", "昨夜", "어제"), ("day", -1)),
    **dict.fromkeys(("今天", "今日", "今晚", "今夜", "오늘"), ("day", 0)),
    **dict.fromkeys(("明天", "明日", "내일"), ("day", 1)),
    **dict.fromkeys(("后天", "後天", "明後日", "모레"), ("day", 2)),
    **dict.fromkeys(("上周末", "上週末", "先週末", "지난 주말"), ("weekend", -1)),
    **dict.fromkeys(("这周末", "這週末", "今週末", "周末", "週末", "이번 주말"), ("weekend", 0)),
    **dict.fromkeys(("上周", "上週", "上个星期", "上星期", "先週", "지난주"), ("week", -1)),
    **dict.fromkeys(("这周", "這週", "本周", "今週", "이번 주"), ("week", 0)),
    **dict.fromkeys(("下周", "下週", "下个星期", "下星期", "来週", "다음 주"), ("week", 1)),
    **dict.fromkeys(("上个月", "上個月", "先月", "지난달"), ("month", -1)),
    **dict.fromkeys(("这个月", "這個月", "本月", "今月", "이번 달"), ("month", 0)),
    **dict.fromkeys(("下个月", "下個月", "来月", "다음 달"), ("month", 1)),
    **dict.fromkeys(("前年", "재작년"), ("year", -2)),
    **dict.fromkeys(("去年", "昨年", "작년"), ("year", -1)),
    **dict.fromkeys(("今年", "올해"), ("year", 0)),
    **dict.fromkeys(("明年", "来年", "내년"), ("year", 1)),
}


def _of_asian_date(match: re.Match[str], today: date) -> Days | None:
    year, month, day = int(match["year"]), int(match["month"] or 0), int(match["day"] or 0)
    if day:
        return _of_numbers(match, today)
    return calendar.year(year) if not month else calendar.month(year, month) if month <= 12 else None


def _of_asian_day(match: re.Match[str], today: date) -> Days | None:
    return _nearest(today, int(match["month"]), int(match["day"]), int(match["day"]))


def _of_named_day(match: re.Match[str], today: date) -> Days | None:
    return calendar.one(calendar.shifted(today, _NAMED_DAYS[match[0]]))


def _of_asian_name(match: re.Match[str], today: date) -> Days | None:
    return _unit(today, *_NAMED_IN_ASIA[match[0]])


def _longest_first(words: Iterable[str]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


_AT_MONTH = "(?:" + "|".join(_BEFORE_MONTH) + ")[ -]"
_OF_DATE = r"\.?,? (?:of )?[12]\d{3}(?!\w)|\.? \d{1,2}(?:st|nd|rd|th)?(?!\w)(?![.:/-]\d)"
"""The rest of a date with a day or a year, behind the name of its month."""

SPACED = (
    Rule(rf"{_YEAR}(?P<sep>[-/.])(?P<month>\d\d?)(?P=sep)(?P<day>\d\d?)(?:t[\d:.]+z?)?", _of_numbers),
    Rule(rf"{_YEAR}-(?P<month>0[1-9]|1[0-2])", _of_iso_month),
    Rule(r"(?P<a>\d\d?)/(?P<b>\d\d?)/(?P<year>[12]\d{3}|\d\d)", _of_slashes),
    Rule(rf"(?P<day>\d\d?)\.(?P<month>\d\d?)\.{_YEAR}", _of_numbers),
    Rule(rf"{_WEEK} {_DAY_FIRST}", _of_week),
    Rule(rf"{_WEEK} {_MONTH_FIRST}", _of_week),
    Rule(_DAY_FIRST, _of_date),
    Rule(_MONTH_FIRST, _of_date),
    Rule(rf"{_MONTH},? (?:of )?{_YEAR}", _of_month),
    Rule(rf"(?P<season>{_SEASON})(?: of|,)? {_YEAR}", _of_season),
    Rule(rf"q(?P<quarter>[1-4])[ /-]?{_YEAR}", _of_quarter),
    Rule(rf"{_WHICH} {_COUNT} {_UNIT}s", _of_period),
    Rule(rf"(?:{_COUNT} {_UNIT}s? (?:ago|back|from now|from today))", _of_count),
    Rule(rf"in {_COUNT} {_UNIT}s?", _of_count),
    Rule(rf"{_WHICH} {_UNIT}", _of_relative_unit),
    Rule(rf"{_WHICH} (?P<weekday>{_WEEKDAY})", _of_relative_weekday),
    Rule(rf"{_WHICH} (?P<season>{_SEASON})", _of_relative_season),
    Rule(rf"(?:{_WHICH} |{_AT_MONTH}){_FULL_MONTH}(?!{_OF_DATE})", _of_bare_month),
    Rule(rf"(?P<which>(?!.))?(?P<month>{_SURE_MONTHS})", _of_bare_month),
    Rule(_longest_first(_NAMED_DAYS), _of_named_day),
    Rule(rf"(?P<weekday>{_WEEKDAY})", _of_weekday),
    Rule(r"(?P<year>(?:19|20)\d\d)", _of_year),
)
"""Rules in the order of their application. Matches begin and end at the boundaries of words and numbers."""

UNSPACED = (
    Rule(r"(?P<year>[12]\d{3}) ?[年년](?: ?(?P<month>\d\d?) ?[月월](?: ?(?P<day>\d\d?) ?[日号號일])?)?", _of_asian_date),
    Rule(r"(?P<month>\d\d?) ?[月월] ?(?P<day>\d\d?) ?[日号號일]", _of_asian_day),
    Rule(_longest_first(_NAMED_IN_ASIA), _of_asian_name),
)
"""Rules for scripts without blanks: matches may be adjacent to other letters."""

TRIGGERS = ("day", "night", "tomorrow", "week", "month", "year", "morning", "afternoon", "evening", *MONTHS, *_SEASONS)
"""A text in lower case with neither a digit nor one of these words contains no match of SPACED."""

_SHORT_MONTHS = (*(month[:3] for month in MONTHS), "sept")
FIRST_WITHOUT_MONTH = frozenset(
    ("in", "the", "week", "q1", "q2", "q3", "q4", *_WEEKDAYS, *_SEASONS, *_STEPS, *_COUNTS, *_SHORT_MONTHS)
) | {word.partition(" ")[0] for word in _NAMED_DAYS}
FIRST = FIRST_WITHOUT_MONTH.union(_BEFORE_MONTH, MONTHS)
"""The words with which a match of SPACED begins, unless with a digit. FIRST_WITHOUT_MONTH: in texts without a full month
name."""
