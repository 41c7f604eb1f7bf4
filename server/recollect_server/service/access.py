"""What a caller may name. A caller bound to a user acts for that user alone, and learns of no other."""

from __future__ import annotations

from ..domain.errors import PermissionDenied
from ..domain.model import Caller, SessionRef


def own_ref(caller: Caller, ref: SessionRef) -> SessionRef:
    """The ref as the caller may use it: a bound caller's empty user_id means its own."""
    if caller.user_id is None:
        return ref
    return ref._replace(user_id=own_user(caller, ref.user_id, "session.user_id") or "")


def own_user(caller: Caller, user_id: str | None, field: str) -> str | None:
    """Raises PermissionDenied for another user's id."""
    if caller.user_id is None:
        return user_id
    if user_id and user_id != caller.user_id:
        raise PermissionDenied(field)
    return caller.user_id
