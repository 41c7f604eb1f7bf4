"""Loading a session with its state and its log, as of one moment: part of the Store contract."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from ...domain.context import ContextSpec
from ...domain.model import Session, SessionRef, StoredEvent
from ...domain.state.state import StatePage, StateScope, size_of
from .events import ContextPage, EventPage, EventQuery


@dataclass(frozen=True, slots=True)
class LoadQuery:
    """What to return of a session. `log`: a page of events, a context, or nothing. `newest`: the newest event. `max_bytes`: of
    everything together; `context_bytes`: the size of contexts of a session without its own."""

    log: EventQuery | ContextSpec | None = None
    scopes: Sequence[StateScope] = tuple(StateScope)
    newest: bool = False
    max_bytes: int = 1 << 62
    context_bytes: int = 1 << 62

    @property
    def state_bytes(self) -> int:
        return self.max_bytes // 2


@dataclass(frozen=True, slots=True)
class Loaded:
    """A session as of one moment. `newest`: the last event in window order; None if there is none, or if it does not fit."""

    session: Session
    states: Mapping[StateScope, StatePage] = field(default_factory=dict)
    newest: StoredEvent | None = None
    log: EventPage | ContextPage | None = None


class LoadStore(Protocol):
    """Reads sessions with what belongs to them."""

    async def load_session(self, tenant: str, ref: SessionRef, query: LoadQuery) -> Loaded:
        """Returns what get_session, get_state, and list_events or get_context return if nothing happens between them.

        The states have at most half of `max_bytes`, in the order of the scopes, the newest event half of what is left, and the
        log the rest, by the rules of its calls. Raises SessionNotFound, AmbiguousSession."""
        ...


# --- rules that all stores share


def fitting_state(page: StatePage, left: int) -> tuple[StatePage, int]:
    """Returns what fits of a page that was read with `max_bytes` = `left`, which has a value even if none fits; and the bytes
    left after it."""
    size = size_of(page.values.items())
    return (StatePage({}, page.version, more=True), left) if size > left else (page, left - size)


def limited(log: EventQuery | ContextSpec, left: int) -> EventQuery | ContextSpec:
    """Returns the query of the log within the bytes that are left for it."""
    left = max(left, 1)
    if isinstance(log, EventQuery):
        return replace(log, max_bytes=min(log.max_bytes, left))
    return replace(log, max_size=left if log.max_size is None else min(log.max_size, left))
