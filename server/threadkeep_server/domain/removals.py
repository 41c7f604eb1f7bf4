"""Removals: events leave the active window, or the log, by a change that the feed delivers. And operation ids."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from enum import IntEnum
from typing import Any, Final

from .erasure import Erased
from .model import NOWHERE, Counters, Versions

MOST_REMOVED: Final = 1000
"""Events that one request names or pops."""
MOST_REWOUND: Final = 10_000
"""Events that one rewind takes out of the window or returns to it."""
OPERATIONS_KEPT: Final = 1000
"""Operation ids that a session remembers: the newest."""
OPERATIONS_KEPT_NS: Final = 7 * 86_400 * 1_000_000_000
"""Time for which a session remembers an operation id."""
EVENT: Final = "event"
"""The kind of the lines of a receipt; see event_line."""
_VERSION: Final = "\x1f"


class RemovalKind(IntEnum):
    """What a removal did; the numbers are those of threadkeep.v1.RemovalKind, and are stored."""

    POPPED = 1
    CLEARED = 2
    ERASED = 3
    REPLACED = 4
    REWOUND = 5


@dataclass(frozen=True, slots=True)
class Removal:
    """The record of a removal in the feed. `count`: events that left. `event_ids` and `seqs` name the first MOST_REMOVED, in
    window order; empty after a CLEARED, which concerns every event up to `through_seq`. `inserted`: events added by the same
    change; `restored`: events that are active again. A REWOUND took out every event after `through_seq`."""

    kind: RemovalKind
    erased: bool
    count: int
    event_ids: tuple[str, ...] = ()
    seqs: tuple[int, ...] = ()
    through_seq: int = 0
    inserted: int = 0
    restored: int = 0


@dataclass(frozen=True, slots=True)
class Operation:
    """A mutation that its caller may repeat. `fingerprint`: of the request."""

    operation_id: str
    fingerprint: bytes


Added = tuple[str, int, bool]
"""The id and the seq of an event of a request, and whether it was stored already."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a mutation did, as it is remembered with its operation id. No content of events: an erased one must be gone.

    `seqs`: of the events that it removed, in window order (none of a clear). `added`: the events of the request, in its order.
    `versions`: after it. `fork`: the id of the session that it created. `restored`: events that are active again.
    """

    removed: int = 0
    seqs: tuple[int, ...] = ()
    added: tuple[Added, ...] = ()
    versions: Versions = NOWHERE
    erased: Erased | None = None
    fork: str = ""
    restored: int = 0

    def encode(self) -> bytes:
        return json.dumps(asdict(self), ensure_ascii=False, separators=(",", ":")).encode()


def decode_outcome(stored: bytes) -> Outcome:
    data: dict[str, Any] = json.loads(stored)
    versions = data["versions"]
    window = Counters(**versions.pop("window"))
    erased = data["erased"]
    return Outcome(
        removed=data["removed"],
        seqs=tuple(data["seqs"]),
        added=tuple((name, seq, replayed) for name, seq, replayed in data["added"]),
        versions=Versions(**versions, window=window),
        erased=None if erased is None else Erased(**erased),
        fork=data.get("fork", ""),
        restored=data.get("restored", 0),
    )


def after_removal(before: Versions, removed: Counters, added: Counters, count: int) -> Versions:
    """Returns the versions of a session after a removal that added `count` events: both grow by one. `added`: the counters of
    these, and of those that are active again."""
    return replace(
        before,
        log_version=before.log_version + 1,
        window_version=before.window_version + 1,
        last_seq=before.last_seq + count,
        window=before.window - removed + added,
    )


def superseded_id(event_id: str, seq: int) -> str:
    """Returns the id under which the store keeps an earlier version of an event, whose id a newer one has now. No caller's id
    has a control character."""
    return f"{event_id}{_VERSION}{seq}"


def given_id(stored_id: str) -> str:
    """Returns the id that the caller gave to the event."""
    return stored_id.partition(_VERSION)[0]


def event_line(app: str, user_id: str, session_id: str, event_id: str, seq: int) -> str:
    """Returns the line of an erased event in the digest of a receipt. Ids hold no control characters."""
    return f"{EVENT}\t{app}\t{user_id}\t{session_id}\t{given_id(event_id)}\t{seq}"


def event_lines(app: str, user_id: str, session_id: str, events: Iterable[tuple[str, int]]) -> Iterator[str]:
    """Yields the lines of events in the order of their bytes. `events`: stored ids and seqs, in the order of the ids' bytes. So
    the newest version of an event is directly before the earlier ones, which are in the order of the texts of their seqs."""
    newest, held = "", None
    for event_id, seq in events:
        line = event_line(app, user_id, session_id, event_id, seq)
        if _VERSION not in event_id:
            if held is not None:
                yield held
            newest, held = event_id, line
            continue
        if held is not None and (given_id(event_id) != newest or held < line):
            yield held
            held = None
        yield line
    if held is not None:
        yield held
