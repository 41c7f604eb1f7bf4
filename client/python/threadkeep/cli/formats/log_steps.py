"""Window lines of version 2 of the export, which may be several calls each, as changes that are one call each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from .items import MOST_IDS, WindowChange


def steps_of(change: WindowChange, late: set[str]) -> Iterator[WindowChange]:
    """Yields the changes of a line, whose `erased` are those of the archived events that are erased.

    Events that a compaction or a clear archived, or of which only some were erased, are erased in a call of their own. It
    erases all versions of an event, so it waits while a new event has the id: `late` are the ids of the session that wait, and
    is updated.
    """
    if change.how == "erasure":
        yield replace(change, erased=change.archived)
        late.difference_update(change.erased)
        return
    apart = change.how in ("compaction", "clear") or set(change.erased) != set(change.archived)
    yield replace(change, erased=(), erase=bool(change.erased) and not apart)
    ids = [each for each in change.erased if apart or each in late]
    placed = {each.event_id for each in change.placed}
    late.update(placed.intersection(ids))
    erased = tuple(each for each in ids if each not in placed)
    late.difference_update(erased)
    for start in range(0, len(erased), MOST_IDS):
        some = erased[start : start + MOST_IDS]
        yield WindowChange("erasure", archived=some, erased=some)
