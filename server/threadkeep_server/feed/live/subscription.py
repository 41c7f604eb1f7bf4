"""One subscriber: from the log until it has caught up, then live, and back to the log whenever it falls behind."""

from __future__ import annotations

from collections.abc import Sequence

from ...domain.errors import ServerDraining
from ...domain.feed import Change, ChangeKind, FeedEvent, Position
from ...store.contract.feed import FeedStore
from ..encoder import MOST_FRAME_BYTES, CheckpointKind
from .catch_up import LogReader
from .channel import Channel, rendered
from .tail import Tail


class Subscription:
    """Where one subscriber stands. `skip_seq`: events up to it are left out, and until it is passed the log is read.

    Nothing is queued for a subscriber: while it does not read, nothing is done for it but what one chunk ahead costs.
    """

    __slots__ = (
        "_beats",
        "_behind",
        "_channel",
        "_ended",
        "_number",
        "_position",
        "_reader",
        "_skip_seq",
        "_started",
        "_store",
        "_tail",
    )

    def __init__(self, store: FeedStore, tail: Tail, channel: Channel, position: Position, skip_seq: int = 0) -> None:
        self._store = store
        self._tail = tail
        self._channel = channel
        self._position = position
        self._skip_seq = skip_seq
        self._reader: LogReader | None = None
        self._number = channel.after(position)
        """Of the frame to take next, where no reader is at work."""
        self._beats = channel.beats
        self._started = self._ended = False
        self._behind = True
        tail.behind += 1

    async def next(self) -> Sequence[bytes]:
        """The next messages, at least one. Raises FeedTrimmed, ServerDraining."""
        if not self._started:
            self._started = True
            return (self._checkpoint(CheckpointKind.STARTED),)
        while True:
            if self._ended:
                raise ServerDraining
            if self._tail.draining:
                return (self._farewell(),)
            if self._reader is None and self._position < self._channel.covered:
                self._read_log(None)
                if not self._behind:
                    self._set_behind(True)
                    self._tail.fell_behind += 1
                    return (self._checkpoint(CheckpointKind.FELL_BEHIND),)
            messages = self._live() if self._reader is None else await self._from_log(self._reader)
            if messages:
                return messages
            if self._reader is None and messages is None:
                await self._channel.wait()

    def close(self) -> None:
        """To be called when nothing more is wanted."""
        if self._reader is not None:
            self._reader.close()
        self._set_behind(False)

    def _set_behind(self, behind: bool) -> None:
        self._tail.behind += behind - self._behind
        self._behind = behind

    # --- from the log

    def _read_log(self, upto: Position | None) -> None:
        channel = self._channel
        with_text = bool(channel.wanted.terms)
        self._reader = LogReader(self._store, channel.scope, self._position, upto=upto, with_text=with_text)

    async def _from_log(self, reader: LogReader) -> Sequence[bytes]:
        """What the channel no longer has, or never had."""
        channel = self._channel
        chunk = await reader.next()
        found, skip_seq = chunk.found, self._skip_seq
        if skip_seq:
            found = [(change, self._unskipped(change, events)) for change, events in found]
        messages = rendered(found, self._position, channel.wanted, channel.renderer, skip_seq)
        self._position = chunk.reached
        if not chunk.more:
            self._reader = None
            if self._position >= channel.covered:
                self._number = channel.after(self._position)
        if not messages and chunk.more:
            # A long way through what is not wanted: a sign of life, and a token that spares the way.
            messages.append(self._checkpoint(CheckpointKind.HEARTBEAT))
        return messages

    def _unskipped(self, change: Change, events: Sequence[FeedEvent]) -> Sequence[FeedEvent]:
        left = [event for event in events if event.seq > self._skip_seq]
        if change.last_seq > self._skip_seq or change.kind in (ChangeKind.CREATED, ChangeKind.DELETED):
            self._skip_seq = 0  # passed; and another session of the name counts from 1 again
        return left

    # --- live

    def _live(self) -> Sequence[bytes] | None:
        """The frames that there are, or a checkpoint; None if there is nothing to tell. Empty: the log is to be read first."""
        channel = self._channel
        self._number = max(self._number, channel.dropped)  # those were passed by in the log
        while self._number < channel.end:
            frame = channel.frame(self._number)
            if self._position >= frame.end:
                self._number += 1
            elif frame.first <= self._position or self._skip_seq:
                # The log took us further than the tail was, into the middle of this frame. Or it has what is to be left out.
                self._read_log(frame.end)
                return ()
            else:
                return self._taken()
        if self._behind:
            self._set_behind(False)
            return (self._checkpoint(CheckpointKind.CAUGHT_UP),)
        if self._beats != channel.beats:
            self._beats = channel.beats
            # All that the tail has published concerned others, or was taken.
            self._position = max(self._position, self._tail.position)
            return (self._checkpoint(CheckpointKind.HEARTBEAT),)
        return None

    def _taken(self) -> Sequence[bytes]:
        """The messages of the next frame, and of those behind it that fit into one message with it."""
        channel = self._channel
        frame = channel.frame(self._number)
        small, size = [*frame.messages], frame.size
        self._number += 1
        while len(frame.messages) == 1 and self._number < channel.end:
            following = channel.frame(self._number)
            if size + following.size > MOST_FRAME_BYTES:
                break
            frame = following
            size += frame.size
            small += frame.messages
            self._number += 1
        self._position = frame.end
        if len(small) == 1 or size > MOST_FRAME_BYTES:
            return small
        return (b"".join(small),)

    def _farewell(self) -> bytes:
        self._ended = True
        return self._checkpoint(CheckpointKind.DRAINING)

    def _checkpoint(self, kind: CheckpointKind) -> bytes:
        return self._channel.renderer.checkpoint(kind, self._position, self._skip_seq)
