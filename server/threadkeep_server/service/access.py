"""Authorization: a caller bound to a user acts for that user only, and one bound to an app in that app only."""

from __future__ import annotations

from dataclasses import replace

from ..domain.errors import InvalidField, PermissionDenied
from ..domain.memories import MemoryScope
from ..domain.model import Caller, SessionRef
from ..domain.scopes import AppScope, EventScope
from ..domain.state.state import StateName, StateScope


def own_ref(caller: Caller, ref: SessionRef) -> SessionRef:
    """Returns the ref with the caller's own app and user_id in place of empty ones."""
    if not caller.is_bound:
        return ref
    app = own_app(caller, ref.app, "session.app") or ""
    return ref._replace(app=app, user_id=own_user(caller, ref.user_id, "session.user_id") or "")


def own_app(caller: Caller, app: str | None, field: str) -> str | None:
    """Returns the app of a bound caller, otherwise `app`. Raises PermissionDenied for another app."""
    if caller.app is None:
        return app
    if app and app != caller.app:
        raise PermissionDenied(field, bound="app")
    return caller.app


def own_user(caller: Caller, user_id: str | None, field: str) -> str | None:
    """Returns the user id of a bound caller, otherwise `user_id`. Raises PermissionDenied for another user's id."""
    if caller.user_id is None:
        return user_id
    if user_id and user_id != caller.user_id:
        raise PermissionDenied(field)
    return caller.user_id


def own_scope(caller: Caller, scope: EventScope) -> EventScope:
    """Returns the scope of a search for the caller. Raises PermissionDenied for a whole app if the caller is bound to a
    user."""
    if isinstance(scope, SessionRef):
        return own_ref(caller, scope)
    if isinstance(scope, AppScope):
        if caller.user_id is not None:
            raise PermissionDenied("app", "search by user")
        return AppScope(own_app(caller, scope.app, "app") or "")
    app = own_app(caller, scope.app, "user.app")
    return replace(scope, app=app, user_id=_required(own_user(caller, scope.user_id, "user.user_id"), "user.user_id"))


def own_state(caller: Caller, name: StateName) -> StateName:
    """Returns the name of state for the caller. Raises PermissionDenied; InvalidField for a user's state without a user."""
    scope, ref = name
    if scope is StateScope.SESSION:
        return StateName(scope, own_ref(caller, ref))
    if scope is StateScope.APP:
        return StateName(scope, SessionRef(own_shared_app(caller, ref.app, "scope", app_field="session.app"), "", ""))
    app = own_app(caller, ref.app, "session.app") or ""
    user_id = _required(own_user(caller, ref.user_id, "session.user_id"), "session.user_id")
    return StateName(scope, SessionRef(app, user_id, ""))


def own_shared_app(caller: Caller, app: str, field: str, *, app_field: str | None = None) -> str:
    """Returns the app whose data all its users share. Raises PermissionDenied: with `field` if the caller is bound to a user,
    with `app_field` for another app."""
    if caller.user_id is not None:
        raise PermissionDenied(field, "use the state of the user")
    return own_app(caller, app, app_field or field) or ""


def own_memories(caller: Caller, scope: MemoryScope) -> MemoryScope:
    """Returns the scope of memories for the caller. Raises PermissionDenied, InvalidField."""
    app = own_app(caller, scope.app, "scope.app") or ""
    return scope._replace(app=app, user_id=_required(own_user(caller, scope.user_id, "scope.user_id"), "scope.user_id"))


def _required(user_id: str | None, field: str) -> str:
    if not user_id:
        raise InvalidField(field, "is required")
    return user_id
