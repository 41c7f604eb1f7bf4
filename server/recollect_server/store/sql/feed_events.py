"""The unit of work that reads the events of changes, by what the changes say: the feed may have trimmed them since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import CompoundSelect, Select
from sqlalchemy.sql import ColumnElement

from ...domain.feed import Change, ChangeKind, FeedEvent
from ...domain.model import ROLES
from .feed_reading import number
from .scan import Scanner
from .schema import APPENDED, INSERTED, POSITION_STEP, events

# Spans of one statement: asyncpg keeps the plans of statements up to 15 kB.
_MOST_SPANS = 32

_e = events.c
# Events of a session between two positions, or between two row ids.
_SPAN = ("number", "session", "low", "high")
_LOW, _HIGH = _SPAN.index("low"), _SPAN.index("high")
_NOTHING = [-1, 0, 1, 0]
_Spans = tuple[list[list[int]], dict[int, "_Place"]]


class _Place(NamedTuple):
    """Where a change's events are: in the rows of a span, from one to another."""

    span: int
    start: int = 0
    stop: int | None = None


def added_events(scanner: Scanner, changes: Sequence[Change], *, with_text: bool) -> list[Sequence[FeedEvent]]:
    answers: list[Sequence[FeedEvent]] = [()] * len(changes)
    for kind, spread in ((ChangeKind.APPENDED, _appended_spans), (ChangeKind.COMPACTED, _inserted_spans)):
        wanted = {index: change for index, change in enumerate(changes) if change.kind is kind and change.first}
        if not wanted:
            continue
        spans, places = spread(wanted)
        found = _load(scanner, kind, spans, with_text)
        for index, place in places.items():
            answers[index] = found[place.span][place.start : place.stop]
    return answers


def _appended_spans(wanted: Mapping[int, Change]) -> _Spans:
    """By positions. Appends that follow each other in a session share a span: their seqs have no gaps."""
    spans: list[list[int]] = []
    places: dict[int, _Place] = {}
    latest: dict[int, int] = {}
    for index, change in wanted.items():
        first, last = change.first, change.last
        key = latest.get(change.session)
        if key is None or spans[key][_HIGH] != first - 1:
            key = latest[change.session] = len(spans)
            spans.append([key, change.session, first, last])
        span = spans[key]
        span[_HIGH] = last
        places[index] = _Place(key, first - span[_LOW], last - span[_LOW] + 1)
    return [[key, session, low * POSITION_STEP, high * POSITION_STEP] for key, session, low, high in spans], places


def _inserted_spans(wanted: Mapping[int, Change]) -> _Spans:
    """By row ids."""
    spans = [[key, change.session, change.first, change.last] for key, change in enumerate(wanted.values())]
    return spans, {index: _Place(key) for key, index in enumerate(wanted)}


def _load(scanner: Scanner, kind: ChangeKind, spans: Sequence[list[int]], with_text: bool) -> list[list[FeedEvent]]:
    """The events of each span by seq. Spans are filled up to a power of two, so that few statements serve any number."""
    found: list[list[FeedEvent]] = [[] for _ in spans]
    for start in range(0, len(spans), _MOST_SPANS):
        chunk = spans[start : start + _MOST_SPANS]
        size = 1 << (len(chunk) - 1).bit_length()
        chunk = [*chunk, *[_NOTHING] * (size - len(chunk))]
        values = {f"{name}_{i}": value for i, span in enumerate(chunk) for name, value in zip(_SPAN, span, strict=True)}
        shape = ("added", kind, size)
        prepared = scanner.statements.get(shape, scanner.connection, lambda size=size: _statement(kind, size))  # type: ignore[misc]
        for span, seq, time, role, author, author_role, branch, synthetic, archived, body in prepared.run(
            scanner.connection, values
        ):
            text = scanner.codec.text(body) if with_text else ""
            found[span].append(
                FeedEvent(seq, time, ROLES[role], author, author_role, branch, bool(synthetic), bool(archived), text, body)
            )
    for added in found:
        added.sort(key=attrgetter("seq"))
    return found


def _statement(kind: int, size: int) -> CompoundSelect[Any]:
    """The events in as many spans, with their number: positions where they were appended, row ids where they were inserted.

    A query for each span, for PostgreSQL, joining them, takes a span for a ninth of all events and reads them all."""
    return sa.union_all(*(_span_query(kind, i) for i in range(size)))


def _span_query(kind: int, i: int) -> Select[Any]:
    place = _e.position if kind == APPENDED else _e.id
    within: list[ColumnElement[bool]] = [
        _e.session == number(f"session_{i}"),
        place >= number(f"low_{i}"),
        place <= number(f"high_{i}"),
    ]
    if kind == APPENDED:
        # What was inserted later between the events of an append is its compaction's.
        within.append(sa.literal_column(f"NOT ({INSERTED})", sa.Boolean))
    told = (_e.seq, _e.time, _e.role, _e.author, _e.author_role, _e.branch, _e.synthetic, _e.archived, _e.body)
    return sa.select(number(f"number_{i}").label("number"), *told).where(*within)
