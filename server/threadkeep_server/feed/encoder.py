"""The interface through which the feed encodes changes. The transport implements it."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Protocol

from ..domain.feed import Change, FeedEvent, Position


class CheckpointKind(IntEnum):
    """The numbers are those of threadkeep.v1.CheckpointKind."""

    STARTED = 1
    CAUGHT_UP = 2
    HEARTBEAT = 3
    FELL_BEHIND = 4
    DRAINING = 5


class ChangeEncoder(Protocol):
    """Encodes the messages of one request. Resume tokens are bound to its scope and filter. Consecutive messages may be
    concatenated and sent as one."""

    def change(self, change: Change, events: Sequence[FeedEvent], before: Position, skip_seq: int = 0) -> list[bytes]:
        """Encodes a change with the selected events. Returns several messages if the change is larger than MOST_FRAME_BYTES;
        all but the last carry the token of `before`, the subscriber's position before the change."""
        ...

    def checkpoint(self, kind: CheckpointKind, position: Position, skip_seq: int = 0) -> bytes:
        """Encodes a checkpoint with the token of the position."""
        ...
