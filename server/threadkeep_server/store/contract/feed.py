"""The feed: part of the Store contract."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from ...domain.feed import Change, ChangePage, FeedEvent, FeedScope, FeedState, Incarnations, Position
from ...domain.model import Session, SessionRef

MOST_METADATA_BYTES = 16 << 10
"""Largest metadata of a session, in bytes, that a change contains. Metadata may have 256 KiB and readers read 512 changes at
once, so they hold at most 8 MiB of it."""


def change_snapshot(session: Session) -> Session:
    """Returns the session as changes contain it: without metadata that is larger than MOST_METADATA_BYTES."""
    large = len(session.metadata_json.encode()) > MOST_METADATA_BYTES
    return replace(session, metadata_json="") if large else session


class FeedStore(Protocol):
    """Reads the feed.

    Each committed creation, update, append, compaction and deletion records one change in its transaction; an append of
    replays only and a dry run record none. Readers see changes in one order, in which those of a session ascend in the order
    of its log; no change is ever added before a position that a reader has passed. Of a deleted session, only the deletion is
    still read. Changes contain sessions as `change_snapshot` returns them.
    """

    async def changes(
        self, after: Position, limit: int, scope: FeedScope | None = None, upto: Position | None = None
    ) -> ChangePage:
        """Returns up to `limit` changes after `after`, up to `upto`, that the scope admits (None: all). A page may hold fewer,
        or none, and not be the last. Raises FeedTrimmed if the feed was trimmed beyond `after`."""
        ...

    async def change_events(self, changes: Sequence[Change], *, with_text: bool) -> Sequence[Sequence[FeedEvent]]:
        """Returns, for each change, the events that it added, by seq, with their BodyFacts if `with_text`; none for kinds
        other than APPENDED and COMPACTED, or if the session was deleted."""
        ...

    async def feed_head(self) -> Position:
        """Returns the position of the last visible change. Changes committed after this call come after it."""
        ...

    async def feed_floor(self) -> Position:
        """Returns the first position that `changes` can start after; the feed is trimmed up to it."""
        ...

    async def locate(self, tenant: str, ref: SessionRef, after_seq: int) -> Position:
        """Returns the position to start from for the session's events after a seq: all of them, and earlier ones only if they
        share a change with them; for after_seq 0, from its creation. The head for an unknown session. Raises FeedTrimmed with
        `oldest_seq`, InvalidField("after_seq") beyond its last seq, AmbiguousSession."""
        ...

    async def trim_feed(self, before: int, limit: int) -> int:
        """Deletes up to `limit` of the oldest changes that are older than the time `before` and that the store itself does not
        need any more. Returns their number."""
        ...

    @property
    def feed_stalled_s(self) -> float:
        """For how long committed changes have not been delivered because of another transaction, in seconds; 0 if they are."""
        ...

    async def feed_state(self) -> FeedState:
        """Returns facts for operators; costs a few index look-ups."""
        ...

    def incarnations(self) -> Incarnations:
        """Returns the incarnations of the database when this server last read changes or the state of the feed, or later."""
        ...

    def on_incarnation(self, listener: Callable[[], None]) -> None:
        """Subscribes to new incarnations: what a reader knows of the feed may be of a lost one. The listener is called before
        anything of it is returned. It must be quick and must not raise."""
        ...

    def on_change(self, listener: Callable[[], None]) -> None:
        """Subscribes to commits, of this server and of others on the same database. A hint: the listener may be called without
        a change, late, or (for another server's commit) not at all. It must be quick and must not raise."""
        ...
