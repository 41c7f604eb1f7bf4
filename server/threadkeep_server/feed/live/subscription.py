"""One subscriber. It reads the log until it has caught up, then the channel, and the log again whenever it falls behind."""

from __future__ import annotations

from collections.abc import Sequence

from ...domain.errors import ServerDraining, StoreUnavailable
from ...domain.feed import Change, ChangeKind, FeedEvent, Position
from ...store.contract.feed import FeedStore
from ..encoder import CheckpointKind
from ..limits import MOST_FRAME_BYTES
from .catch_up import CatchUp
from .channel import Channel, encode_changes
from .tail import Tail


class Subscription:
    """The state of one subscriber. Events up to `skip_seq` are left out; until it is passed, the subscriber reads the log.
    `incarnations`: the tail's when `position` was read.

    Nothing is queued for a subscriber that does not read, except one prefetched chunk.
    """

    __slots__ = (
        "_beats",
        "_began_at",
        "_behind",
        "_catch_up",
        "_channel",
        "_ended",
        "_incarnations",
        "_number",
        "_position",
        "_skip_seq",
        "_started",
        "_store",
        "_tail",
    )

    def __init__(
        self, store: FeedStore, tail: Tail, channel: Channel, position: Position, skip_seq: int = 0, incarnations: int = 0
    ) -> None:
        self._store = store
        self._tail = tail
        self._channel = channel
        self._position = position
        self._skip_seq = skip_seq
        self._incarnations = incarnations
        # Frames from before are read from the log, where deleted sessions are gone.
        self._began_at = tail.position
        self._catch_up: CatchUp | None = None
        self._number = channel.after(position)
        """The number of the next frame. Not used while the log is read."""
        self._beats = channel.beats
        self._started = self._ended = False
        self._behind = True
        tail.behind += 1

    async def next(self) -> Sequence[bytes]:
        """Returns the next messages, at least one. Raises FeedTrimmed, ServerDraining, StoreUnavailable."""
        if not self._started:
            self._started = True
            return (self._checkpoint(CheckpointKind.STARTED),)
        while True:
            self._check_incarnation()
            if self._ended:
                raise ServerDraining
            if self._tail.draining:
                return (self._last_checkpoint(),)
            if self._catch_up is None and self._position < max(self._channel.covered, self._began_at):
                self._read_log(None)
                if not self._behind:
                    self._set_behind(True)
                    self._tail.fell_behind += 1
                    return (self._checkpoint(CheckpointKind.FELL_BEHIND),)
            messages = self._live() if self._catch_up is None else await self._from_log(self._catch_up)
            if messages:
                return messages
            if self._catch_up is None and messages is None:
                await self._channel.wait()

    def _check_incarnation(self) -> None:
        if self._incarnations != self._tail.incarnations:
            # What was read may be lost. The store decides when the subscription is resumed.
            raise StoreUnavailable("the database was started again; resume the subscription")

    def close(self) -> None:
        """Ends the subscription. Must be called once."""
        if self._catch_up is not None:
            self._catch_up.close()
        self._set_behind(False)

    def _set_behind(self, behind: bool) -> None:
        self._tail.behind += behind - self._behind
        self._behind = behind

    # --- from the log

    def _read_log(self, upto: Position | None) -> None:
        channel = self._channel
        with_text = channel.wanted.reads_body
        self._catch_up = CatchUp(self._store, channel.scope, self._position, upto=upto, with_text=with_text)

    async def _from_log(self, catch_up: CatchUp) -> Sequence[bytes]:
        """Returns messages for changes that the channel does not have."""
        channel = self._channel
        chunk = await catch_up.next()
        self._check_incarnation()
        found, skip_seq = chunk.found, self._skip_seq
        if skip_seq:
            found = [(change, self._unskipped(change, events)) for change, events in found]
        messages = encode_changes(found, self._position, channel.wanted, channel.encoder, skip_seq)
        self._position = chunk.reached
        if not chunk.more:
            self._catch_up = None
            if self._position >= channel.covered:
                self._number = channel.after(self._position)
        if not messages and chunk.more:
            # No change of this chunk matched. The token of the heartbeat saves a resume from reading the chunk again.
            messages.append(self._checkpoint(CheckpointKind.HEARTBEAT))
        return messages

    def _unskipped(self, change: Change, events: Sequence[FeedEvent]) -> Sequence[FeedEvent]:
        left = [event for event in events if event.seq > self._skip_seq]
        if change.last_seq > self._skip_seq or change.kind in (ChangeKind.CREATED, ChangeKind.DELETED):
            self._skip_seq = 0  # passed, or another session with this name, whose seqs start at 1
        return left

    # --- live

    def _live(self) -> Sequence[bytes] | None:
        """Returns frames or a checkpoint; None if there is nothing to send; empty if the log must be read first."""
        channel = self._channel
        self._number = max(self._number, channel.dropped)  # dropped frames were read from the log
        while self._number < channel.end:
            frame = channel.frame(self._number)
            if self._position >= frame.end:
                self._number += 1
            elif frame.first <= self._position or self._skip_seq:
                # Reading the log ended in the middle of this frame, or the frame has events that must be skipped.
                self._read_log(frame.end)
                return ()
            else:
                return self._next_frames()
        if self._behind:
            self._set_behind(False)
            return (self._checkpoint(CheckpointKind.CAUGHT_UP),)
        if self._beats != channel.beats:
            self._beats = channel.beats
            # Everything that the tail has published was sent or is outside this channel.
            self._position = max(self._position, self._tail.position)
            return (self._checkpoint(CheckpointKind.HEARTBEAT),)
        return None

    def _next_frames(self) -> Sequence[bytes]:
        """Returns the messages of the next frame, joined with following frames that fit into one message with it."""
        channel = self._channel
        frame = channel.frame(self._number)
        messages, size = [*frame.messages], frame.size
        self._number += 1
        while len(frame.messages) == 1 and self._number < channel.end:
            following = channel.frame(self._number)
            if size + following.size > MOST_FRAME_BYTES:
                break
            frame = following
            size += frame.size
            messages += frame.messages
            self._number += 1
        self._position = frame.end
        if len(messages) == 1 or size > MOST_FRAME_BYTES:
            return messages
        return (b"".join(messages),)

    def _last_checkpoint(self) -> bytes:
        self._ended = True
        return self._checkpoint(CheckpointKind.DRAINING)

    def _checkpoint(self, kind: CheckpointKind) -> bytes:
        return self._channel.encoder.checkpoint(kind, self._position, self._skip_seq)
