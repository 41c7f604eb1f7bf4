"""What the subscribers of one request share: its messages, written once, the newest of them kept."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...domain.feed import Change, FeedEvent, FeedScope, Position
from ...domain.filters import ALL, EventFilter, select
from ..encoder import MOST_FRAME_BYTES, Renderer


class Frame(NamedTuple):
    """Messages for consecutive changes. Whoever is before `first` gets them all and is at `end` afterwards; whoever is between
    the two has had some of them."""

    first: Position
    end: Position
    messages: Sequence[bytes]
    size: int


def rendered(
    changes: Sequence[tuple[Change, Sequence[FeedEvent]]],
    before: Position,
    wanted: EventFilter,
    renderer: Renderer,
    skip_seq: int = 0,
) -> list[bytes]:
    """The messages for these changes, with those of their events that are wanted; small ones joined.

    `before`, `skip_seq`: where the subscriber stands.
    """
    messages: list[bytes] = []
    joined: list[bytes] = []
    size = 0
    everything = wanted == ALL
    for change, events in changes:
        found = events if everything else select(events, wanted)
        if change.adds_only and not found:
            continue
        for message in renderer.change(change, found, before, skip_seq):
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
    """Frames of one scope and filter, numbered from 0 on as they are made. They are complete behind `covered`.

    Kept by the tail, which alone changes it. A subscriber reads at its own pace and never holds a frame back: the oldest are
    dropped when the tail needs the room.
    """

    __slots__ = (
        "_frames",
        "_waiting",
        "beats",
        "covered",
        "dropped",
        "key",
        "renderer",
        "scope",
        "subscribers",
        "told_at",
        "wanted",
    )

    def __init__(self, key: str, scope: FeedScope, wanted: EventFilter, renderer: Renderer, covered: Position) -> None:
        self.key = key
        self.scope = scope
        self.wanted = wanted
        self.renderer = renderer
        self.covered = covered
        self.subscribers = 0
        self.dropped = 0
        """The number of the oldest frame that is kept."""
        self.beats = 0
        """How often it was quiet for long."""
        self.told_at = 0.0
        """When the last frame was made, in the loop's time."""
        # Most channels are idle most of the time, and an empty deque is larger than all the rest of one.
        self._frames: deque[Frame] | tuple[()] = ()
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def end(self) -> int:
        """The number that the next frame will bear."""
        return self.dropped + len(self._frames)

    def after(self, position: Position) -> int:
        """The number of the first frame that somebody at this position needs; the position must not be before `covered`."""
        number = self.end
        for frame in reversed(self._frames):
            if frame.end <= position:
                break
            number -= 1
        return number

    def frame(self, number: int) -> Frame:
        return self._frames[number - self.dropped]

    def wait(self) -> asyncio.Future[None]:
        """Until there is something new: a frame, a heartbeat, or an end."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        return future

    # --- the tail's

    def publish(self, frame: Frame) -> None:
        if not isinstance(self._frames, deque):
            self._frames = deque()
        self._frames.append(frame)
        self.told_at = asyncio.get_running_loop().time()
        self.wake()

    def beat(self) -> None:
        self.beats += 1
        self.wake()

    def wake(self) -> None:
        # Whoever waits is woken; whoever looks in between finds what it looks for without waiting.
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    def drop(self) -> int:
        """Drops the oldest frame; its size."""
        assert isinstance(self._frames, deque)  # noqa: S101 - there is one
        frame = self._frames.popleft()
        self.dropped += 1
        self.covered = frame.end
        return frame.size

    def restart(self, position: Position) -> None:
        """Frames before this position will never be made: whoever needs them reads the feed."""
        self.dropped = self.end + 1
        self._frames = ()
        self.covered = position
        self.wake()

    def close(self) -> None:
        """Nobody follows any more."""
        self._frames = ()

    def kept(self) -> Iterator[Frame]:
        return iter(self._frames)
