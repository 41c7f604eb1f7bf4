"""A channel: the messages that all subscribers with the same scope and filter share. They are encoded once."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...domain.feed import Change, FeedEvent, FeedScope, Position
from ...domain.filters import ALL, EventFilter, select
from ..encoder import ChangeEncoder
from ..limits import MOST_FRAME_BYTES


class Frame(NamedTuple):
    """Messages for consecutive changes. A subscriber before `first` receives all and is at `end` afterwards; a subscriber
    between the two has already received some."""

    first: Position
    end: Position
    messages: Sequence[bytes]
    size: int


def encode_changes(
    changes: Sequence[tuple[Change, Sequence[FeedEvent]]],
    before: Position,
    wanted: EventFilter,
    encoder: ChangeEncoder,
    skip_seq: int = 0,
) -> list[bytes]:
    """Returns the messages for these changes with the selected events; small messages are joined.

    `before` and `skip_seq` are the subscriber's position.
    """
    messages: list[bytes] = []
    joined: list[bytes] = []
    size = 0
    everything = wanted == ALL
    for change, events in changes:
        found = events if everything else select(events, wanted)
        if change.adds_only and not found:
            continue
        for message in encoder.change(change, found, before, skip_seq):
            if size and size + len(message) > MOST_FRAME_BYTES:
                messages.append(b"".join(joined))
                joined, size = [], 0
            joined.append(message)
            size += len(message)
        before, skip_seq = change.position, 0
    if joined:
        messages.append(b"".join(joined))
    return messages


class Channel:
    """Frames of one scope and filter, numbered from 0. They are complete after `covered`.

    Only the tail changes a channel. Subscribers read at their own pace; the oldest frames are dropped when the tail needs room,
    even if a subscriber has not read them.
    """

    __slots__ = (
        "_frames",
        "_waiting",
        "beats",
        "covered",
        "dropped",
        "encoder",
        "key",
        "scope",
        "sent_at",
        "subscribers",
        "wanted",
    )

    def __init__(self, key: str, scope: FeedScope, wanted: EventFilter, encoder: ChangeEncoder, covered: Position) -> None:
        self.key = key
        self.scope = scope
        self.wanted = wanted
        self.encoder = encoder
        self.covered = covered
        self.subscribers = 0
        self.dropped = 0
        """The number of the oldest frame kept."""
        self.beats = 0
        """The number of heartbeats so far."""
        self.sent_at = 0.0
        """The loop time of the last frame."""
        # Created on first use: most channels are idle, and an empty deque is larger than the rest of a channel.
        self._frames: deque[Frame] | tuple[()] = ()
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def end(self) -> int:
        """The number of the next frame."""
        return self.dropped + len(self._frames)

    def after(self, position: Position) -> int:
        """Returns the number of the first frame after this position, which must not be before `covered`."""
        number = self.end
        for frame in reversed(self._frames):
            if frame.end <= position:
                break
            number -= 1
        return number

    def frame(self, number: int) -> Frame:
        return self._frames[number - self.dropped]

    def wait(self) -> asyncio.Future[None]:
        """Returns a future that completes at the next frame, heartbeat, or end."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        return future

    # --- for the tail

    def publish(self, frame: Frame) -> None:
        if not isinstance(self._frames, deque):
            self._frames = deque()
        self._frames.append(frame)
        self.sent_at = asyncio.get_running_loop().time()
        self.wake()

    def beat(self) -> None:
        self.beats += 1
        self.wake()

    def wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    def drop(self) -> int:
        """Drops the oldest frame and returns its size."""
        assert isinstance(self._frames, deque)  # noqa: S101 - there is a frame
        frame = self._frames.popleft()
        self.dropped += 1
        self.covered = frame.end
        return frame.size

    def restart(self, position: Position) -> None:
        """Continues at this position. Subscribers before it read the log."""
        self.dropped = self.end + 1
        self._frames = ()
        self.covered = position
        self.wake()

    def close(self) -> None:
        """Drops all frames after the last subscriber has left."""
        self._frames = ()

    def kept(self) -> Iterator[Frame]:
        return iter(self._frames)
