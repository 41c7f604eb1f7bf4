"""The Store contract. Every implementation passes tests/store/suite.py; `inmemory.InMemoryStore` is the reference.

Rules of every method:
- `tenant` comes from the credential and bounds everything that is read or written.
- A bare ref (neither app nor user_id) is looked up by session_id alone: SessionNotFound if none, AmbiguousSession if several.
- Errors are those of `domain.errors`. StoreUnavailable: nothing was changed, or (append) a retry with the same ids is safe.
- Canceling a call that has not started stops it; a commit that has started is completed and its result dropped.
"""

from __future__ import annotations

from typing import Protocol

from .breakdowns import BreakdownStore
from .compaction import CompactionStore
from .consumers import ConsumerStore
from .erasure import ErasureStore, UserStore
from .events import EventStore
from .feed import FeedStore
from .forks import ForkStore
from .loading import LoadStore
from .maintenance import MaintenanceStore
from .memories import MemoriesStore
from .moves import MoveStore
from .removals import RemovalStore
from .search import SearchStore
from .sessions import SessionStore
from .state import StateStore
from .vectors import VectorStore


class Store(
    SessionStore,
    EventStore,
    StateStore,
    LoadStore,
    BreakdownStore,
    CompactionStore,
    RemovalStore,
    ForkStore,
    MoveStore,
    FeedStore,
    ConsumerStore,
    SearchStore,
    VectorStore,
    MemoriesStore,
    ErasureStore,
    UserStore,
    MaintenanceStore,
    Protocol,
):
    """Durable, ordered, atomic storage of sessions and their logs, with the feed of their changes, its consumers, the data of
    searches, long-term memory, erasures, and the users that have any of this."""
