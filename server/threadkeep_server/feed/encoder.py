"""What the feed needs of the wire without knowing it: how a change looks to the subscribers of one request."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Protocol

from ..domain.feed import Change, FeedEvent, Position

MOST_FRAME_BYTES = 1 << 20
"""Where a message ends, unless a single event is larger. Clients refuse messages above 4 MiB unless told otherwise."""


class CheckpointKind(IntEnum):
    """The numbers are those of threadkeep.v1.CheckpointKind."""

    STARTED = 1
    CAUGHT_UP = 2
    HEARTBEAT = 3
    FELL_BEHIND = 4
    DRAINING = 5


class Renderer(Protocol):
    """Writes the messages of one request: same scope, same filter, resume tokens bound to them. Two messages that follow each
    other may be sent as one, by concatenation."""

    def change(self, change: Change, events: Sequence[FeedEvent], before: Position, skip_seq: int = 0) -> list[bytes]:
        """A change with those of its events that are wanted: one message, or several where it is larger than MOST_FRAME_BYTES,
        of which all but the last bear the token of `before`, what precedes the change for this subscriber."""
        ...

    def checkpoint(self, kind: CheckpointKind, position: Position, skip_seq: int = 0) -> bytes: ...
