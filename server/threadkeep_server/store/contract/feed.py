"""What a store promises of the feed: part of the Store contract."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from ...domain.feed import Change, ChangePage, FeedEvent, FeedScope, FeedState, Position
from ...domain.model import Session, SessionRef

MOST_METADATA_BYTES = 16 << 10
"""Of a session's metadata, in a change. It may have 256 KiB, and readers take 512 changes at once: so they hold 8 MiB of it at
most."""


def as_told(session: Session) -> Session:
    """The session as changes tell of it: without metadata that is larger than MOST_METADATA_BYTES."""
    large = len(session.metadata_json.encode()) > MOST_METADATA_BYTES
    return replace(session, metadata_json="") if large else session


class FeedStore(Protocol):
    """Reading the feed.

    One change is recorded with each committed creation, update, append, compaction and deletion, in the transaction that
    makes it; an append that was a replay as a whole and a dry run record none. Readers see changes in one order, in which
    those of a session ascend in the order of its log; a position that a reader has passed never gets a change before it.
    Changes of a session that has been deleted are no longer read, but for its deletion. Of a session they tell what `as_told`
    leaves.
    """

    async def changes(
        self, after: Position, limit: int, scope: FeedScope | None = None, upto: Position | None = None
    ) -> ChangePage:
        """Up to `limit` changes beyond `after`, and not beyond `upto`, that the scope admits (None: everybody's). A page may
        hold fewer, or none, and still not be the last. Raises FeedTrimmed if `after` is before what the feed still has."""
        ...

    async def change_events(self, changes: Sequence[Change], *, with_text: bool) -> Sequence[Sequence[FeedEvent]]:
        """The events that each of these APPENDED or COMPACTED changes added, in the order of their seqs; none for other kinds,
        nor where the session is gone."""
        ...

    async def feed_head(self) -> Position:
        """The last settled change: whatever is committed after this call is beyond it."""
        ...

    async def feed_floor(self) -> Position:
        """What has been trimmed: the first position that `changes` can start after."""
        ...

    async def locate(self, tenant: str, ref: SessionRef, after_seq: int) -> Position:
        """Where to start for the session's events after a seq: all of them and nothing of before but what shares their change;
        for after_seq 0, with its creation. The head for a session that does not exist. Raises FeedTrimmed with `oldest_seq`,
        InvalidField("after_seq") beyond its last seq, AmbiguousSession."""
        ...

    async def trim_feed(self, before: int, limit: int) -> int:
        """Forgets up to `limit` of the oldest changes, as long as they are older than the time `before` and nothing of the
        store's own still needs them; how many."""
        ...

    async def feed_state(self) -> FeedState:
        """Facts for operators; costs a few index look-ups."""
        ...

    def on_change(self, heard: Callable[[], None]) -> None:
        """From now on `heard` is called whenever changes may have been committed, by this server or by another on the
        same database. A hint: it may be called for nothing, late, or (from another server) not at all. It must be quick
        and must not raise."""
        ...
