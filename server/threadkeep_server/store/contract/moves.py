"""Changes of the owner of a session: part of the Store contract."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from ...domain.model import Session, SessionRef
from ...domain.removals import Operation


@dataclass(frozen=True, slots=True)
class MoveRequest:
    """A session and its new owner. Times are in nanoseconds."""

    tenant: str
    ref: SessionRef
    user_id: str
    now: int
    operation: Operation


class Moved(NamedTuple):
    """The session after the call. `replayed`: an earlier call with the same operation moved it."""

    session: Session
    replayed: bool = False


class MoveStore(Protocol):
    """Moves sessions to other users."""

    async def move_session(self, request: MoveRequest) -> Moved:
        """Gives the session to another user of its app, in one step: a write under the old name is in the log before it, or
        finds no session. Its events, versions, ids, state, labels, compactions, operation ids and policy stay with it;
        memories that came from it stay with the former owner. Nothing is changed if the user owns it already.

        The feed reports it as DELETED, with `moved`, under the old name and as MOVED under the new one. Searches of the new
        owner find its events at once (by vectors: soon), those of the former one no more.

        A known operation is a replay, also under a name that the session had, as long as the feed has the move from it. Raises
        SessionNotFound, AmbiguousSession, SessionAlreadyExists for a session of that user with the id, OperationConflict.
        """
        ...


# --- rules that all stores share


def moved(session: Session, request: MoveRequest) -> Session:
    """Returns the session of its new owner."""
    ref = session.ref._replace(user_id=request.user_id)
    return replace(session, ref=ref, update_time=max(session.update_time, request.now), moved=True)
