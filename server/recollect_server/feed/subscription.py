"""One subscriber: from the log until it has caught up, then live, and back to the log whenever it falls behind."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence

from ..domain.errors import ServerDraining
from ..domain.feed import Change, ChangeKind, FeedEvent, Position
from ..store.feed import FeedStore
from .channel import Channel, rendered
from .frames import MOST_FRAME_BYTES, CheckpointKind
from .tail import Tail

_CHANGES_AT_ONCE = 512


class Subscription:
    """Where one subscriber stands. `skip_seq`: events up to it are left out, and until it is passed the log is read.

    Nothing is queued for a subscriber: while it does not read, nothing is done for it.
    """

    def __init__(self, store: FeedStore, tail: Tail, channel: Channel, position: Position, skip_seq: int = 0) -> None:
        self._store = store
        self._tail = tail
        self._channel = channel
        self._position = position
        self._skip_seq = skip_seq
        self._behind = True

    async def messages(self) -> AsyncGenerator[bytes]:
        """Without end. Raises FeedTrimmed, ServerDraining."""
        self._tail.behind += 1
        try:
            yield self._checkpoint(CheckpointKind.STARTED)
            while True:
                async for message in self._catch_up():
                    yield message
                async for message in self._live():
                    yield message
                if not self._behind:
                    self._behind = True
                    self._tail.behind += 1
                    self._tail.fell_behind += 1
                    yield self._checkpoint(CheckpointKind.FELL_BEHIND)
        finally:
            if self._behind:
                self._tail.behind -= 1

    # --- from the log

    async def _catch_up(self) -> AsyncIterator[bytes]:
        """What the channel no longer has, or never had."""
        while self._position < self._channel.covered:
            async for message in self._read(None):
                yield message

    async def _read(self, upto: Position | None) -> AsyncIterator[bytes]:
        """One page of the feed."""
        page = await self._store.changes(self._position, _CHANGES_AT_ONCE, self._channel.scope, upto)
        silent = True
        start, size = 0, 0
        for index, change in enumerate(page.changes):
            if size and size + change.size > MOST_FRAME_BYTES:
                async for message in self._told(page.changes[start:index]):
                    silent = False
                    yield message
                start, size = index, 0
            size += change.size
        async for message in self._told(page.changes[start:]):
            silent = False
            yield message
        self._position = page.reached
        if self._tail.draining:
            yield self._checkpoint(CheckpointKind.DRAINING)
            raise ServerDraining
        if silent and page.more:
            # A long way through what is not wanted: a sign of life, and a token that spares the way.
            yield self._checkpoint(CheckpointKind.HEARTBEAT)

    async def _told(self, changes: Sequence[Change]) -> AsyncIterator[bytes]:
        if not changes:
            return
        channel = self._channel
        events = await self._store.change_events(changes, with_text=bool(channel.wanted.terms))
        found: list[tuple[Change, Sequence[FeedEvent]]] = list(zip(changes, events, strict=True))
        if self._skip_seq:
            found = [(change, self._unskipped(change, some)) for change, some in found]
        for message in rendered(found, self._position, channel.wanted, channel.renderer):
            yield message
        self._position = changes[-1].position

    def _unskipped(self, change: Change, events: Sequence[FeedEvent]) -> Sequence[FeedEvent]:
        left = [event for event in events if event.seq > self._skip_seq]
        if change.last_seq > self._skip_seq or change.kind in (ChangeKind.CREATED, ChangeKind.DELETED):
            self._skip_seq = 0  # passed; and another session of the name counts from 1 again
        return left

    # --- live

    async def _live(self) -> AsyncIterator[bytes]:
        """Frames as they are made; ends when one was dropped before it could be taken."""
        channel = self._channel
        number = channel.after(self._position)
        beats = channel.beats
        while number >= channel.dropped:
            if number < channel.end:
                frame = channel.frame(number)
                if frame.first <= self._position or self._skip_seq:
                    # The log took us further than the tail was: beyond this frame, or into the middle of it. Or the frame may
                    # hold what is to be left out.
                    while self._position < frame.end:
                        async for message in self._read(frame.end):
                            yield message
                    number += 1
                    continue
                last, messages = self._taken(number)
                number = last + 1
                self._position = channel.frame(last).end
                for message in messages:
                    yield message
            elif self._tail.draining:
                yield self._checkpoint(CheckpointKind.DRAINING)
                raise ServerDraining
            elif self._behind:
                self._behind = False
                self._tail.behind -= 1
                yield self._checkpoint(CheckpointKind.CAUGHT_UP)
            elif beats != channel.beats:
                beats = channel.beats
                # All that the tail has published concerned others, or was taken.
                self._position = max(self._position, self._tail.position)
                yield self._checkpoint(CheckpointKind.HEARTBEAT)
            else:
                await channel.wait()

    def _taken(self, number: int) -> tuple[int, Sequence[bytes]]:
        """The messages of this frame and of those behind it that fit into one message with it; the number of the last."""
        channel = self._channel
        frame = channel.frame(number)
        if len(frame.messages) > 1:  # a large one
            return number, frame.messages
        small, size = [*frame.messages], frame.size
        while number + 1 < channel.end and size + channel.frame(number + 1).size <= MOST_FRAME_BYTES:
            number += 1
            frame = channel.frame(number)
            size += frame.size
            small += frame.messages
        return number, small if len(small) == 1 else (b"".join(small),)

    def _checkpoint(self, kind: CheckpointKind) -> bytes:
        return self._channel.renderer.checkpoint(kind, self._position)
