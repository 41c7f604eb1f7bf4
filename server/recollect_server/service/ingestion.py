"""Remembering sessions by policies that the operator switches on."""

from __future__ import annotations

from collections.abc import Callable

from ..domain.model import Session
from ..store.base import Store
from .memory import MemoryService


class AutoIngestion:
    """Ingests sessions as they are compacted (`on_compaction`), once nothing has been appended for `idle_ns` nanoseconds (None:
    never), and before they expire (`before_delete`, to be given to SessionService)."""

    def __init__(
        self,
        store: Store,
        memory: MemoryService,
        clock: Callable[[], int],
        owner: str,
        *,
        on_compaction: bool = False,
        idle_ns: int | None = None,
    ) -> None:
        self._store = store
        self._memory = memory
        self._clock = clock
        self._owner = owner
        self._on_compaction = on_compaction
        self._idle_ns = idle_ns

    async def run(self) -> None:
        """Follows the feed until cancelled; returns at once if neither policy is switched on."""
        raise NotImplementedError

    async def before_delete(self, tenant: str, session: Session) -> bool:
        """Ingests a session that is about to expire; whether it may be deleted."""
        raise NotImplementedError
