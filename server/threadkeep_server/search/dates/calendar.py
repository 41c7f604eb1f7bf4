"""Days and spans of days, of which mentions of dates consist. Proleptic Gregorian, UTC."""

from __future__ import annotations

from datetime import date, timedelta
from typing import NamedTuple

_DAY_NS = 86_400_000_000_000
_EPOCH = date(1970, 1, 1).toordinal()
_LAST = date.max.toordinal()


class Days(NamedTuple):
    """A span of days, both ends inclusive."""

    first: date
    last: date


def day_of(time_ns: int) -> date:
    """Returns the day of a time since 1970; the first or last day of the years 1 to 9999 if it is outside of them."""
    return _at(_EPOCH + time_ns // _DAY_NS)


def nanoseconds(first: date, last: date) -> tuple[int, int]:
    """Returns the first nanosecond of the first day and the last nanosecond of the last day."""
    return (first.toordinal() - _EPOCH) * _DAY_NS, (last.toordinal() - _EPOCH + 1) * _DAY_NS - 1


def shifted(day: date, days: int) -> date:
    return _at(day.toordinal() + days)


def one(day: date) -> Days:
    return Days(day, day)


def around(day: date, days: int) -> Days:
    """Returns the span from `days` before the day to `days` after it."""
    return Days(shifted(day, -days), shifted(day, days))


def week(day: date, weeks: int = 0) -> Days:
    """Returns the week, Monday to Sunday, that is `weeks` after the week of the day."""
    monday = shifted(day, 7 * weeks - day.weekday())
    return Days(monday, shifted(monday, 6))


def weekend(day: date, weeks: int = 0) -> Days:
    _, sunday = week(day, weeks)
    return Days(shifted(sunday, -1), sunday)


def month(year: int, number: int, months: int = 1) -> Days:
    """Returns `months` months from month `number` of the year. Numbers outside of 1 to 12 are months of other years."""
    first, after = _month_start(year, number), _month_start(year, number + months)
    return Days(first, after - timedelta(1) if first < after < date.max else after)


def year(number: int) -> Days:
    return month(number, 1, 12)


def season(number: int, quarter: int) -> Days:
    """Returns a meteorological season of the north: spring is 1 and begins in March; winter is 4 and ends in the next year."""
    return month(number, 3 * quarter, 3)


def day(year: int, month: int, number: int) -> date | None:
    """Returns the day; None if there is no such day."""
    try:
        return date(year, month, number)
    except ValueError:
        return None


def _month_start(year: int, number: int) -> date:
    years, months = divmod(year * 12 + number - 1, 12)
    return date.min if years < 1 else date.max if years > date.max.year else date(years, months + 1, 1)


def _at(ordinal: int) -> date:
    return date.fromordinal(min(max(ordinal, 1), _LAST))
