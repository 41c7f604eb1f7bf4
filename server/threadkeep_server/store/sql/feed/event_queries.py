"""The unit of work that reads the events of changes, using the changes only: the feed may have trimmed them since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter

from ....domain.feed import Change, ChangeKind, FeedEvent
from ....domain.model import NO_FACTS, POSITION_STEP, ROLES
from ..log.change_order import added_events as read_added
from ..log.scan import Scanner
from ..log.slices.archivings import is_archived
from ..schema.tables import events

# Spans of one statement: a page of changes of as many sessions.
_MOST_SPANS = 512

_e = events.c
# Events of a session between two positions, or between two row ids.
_LOW, _HIGH = 2, 3
_READ_COLUMNS = (
    *(_e.seq, _e.time, _e.role, _e.author, _e.author_role, _e.branch, _e.synthetic),
    is_archived().label("archived"),
    _e.body,
)

# For each index of a change: the span of its events, and the first and last row in it.
_Places = dict[int, tuple[int, int, int | None]]
_Spans = tuple[list[list[int]], _Places]


def added_events(scanner: Scanner, changes: Sequence[Change], *, with_text: bool) -> list[Sequence[FeedEvent]]:
    answers: list[Sequence[FeedEvent]] = [()] * len(changes)
    for kind, spread in _SPREADS:
        wanted = {index: change for index, change in enumerate(changes) if change.kind is kind and change.first}
        if not wanted:
            continue
        spans, places = spread(wanted)
        found = _load(scanner, kind, spans, with_text)
        for index, (span, start, stop) in places.items():
            answers[index] = found[span][start:stop]
    return answers


def _appended_spans(wanted: Mapping[int, Change]) -> _Spans:
    """Spans by positions. Consecutive appends of a session share a span: their seqs have no gaps."""
    spans: list[list[int]] = []
    places: _Places = {}
    latest: dict[int, int] = {}
    for index, change in wanted.items():
        first, last, session = change.first, change.last, change.session
        key = latest.get(session)
        if key is None or spans[key][_HIGH] != first - 1:
            key = latest[session] = len(spans)
            spans.append([key, session, first, last])
        span = spans[key]
        span[_HIGH] = last
        low = span[_LOW]
        places[index] = key, first - low, last - low + 1
    return [[key, session, low * POSITION_STEP, high * POSITION_STEP] for key, session, low, high in spans], places


def _inserted_spans(wanted: Mapping[int, Change]) -> _Spans:
    """Spans by row ids."""
    spans = [[key, change.session, change.first, change.last] for key, change in enumerate(wanted.values())]
    return spans, {index: (key, 0, None) for key, index in enumerate(wanted)}


_SPREADS = (
    (ChangeKind.APPENDED, _appended_spans),
    (ChangeKind.COMPACTED, _inserted_spans),
    (ChangeKind.REMOVED, _inserted_spans),
    (ChangeKind.COPIED, _inserted_spans),
)


def _load(scanner: Scanner, kind: ChangeKind, spans: Sequence[list[int]], with_text: bool) -> list[list[FeedEvent]]:
    """Returns the events of each span by seq."""
    found: list[list[FeedEvent]] = [[] for _ in spans]
    for start in range(0, len(spans), _MOST_SPANS):
        some = spans[start : start + _MOST_SPANS]
        rows = read_added(scanner.statements, scanner.connection, kind, some, _READ_COLUMNS)
        for span, seq, time, role, author, author_role, branch, synthetic, archived, body in rows:
            body = scanner.codec.decrypt(body)
            facts = scanner.codec.facts(body) if with_text else NO_FACTS
            known = (seq, time, ROLES[role], author, author_role, branch, bool(synthetic), bool(archived))
            found[span].append(FeedEvent(*known, *facts, body))
    for added in found:
        added.sort(key=attrgetter("seq"))
    return found
