"""Conversion of state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from threadkeep.v1 import state_pb2, subscription_pb2
from threadkeep.v1 import state_service_pb2 as pb

from ...domain import validation
from ...domain.errors import InvalidField
from ...domain.state.state import (
    MAX_PATCHED_KEYS,
    MAX_VALUE_BYTES,
    StateDelta,
    StateName,
    StatePage,
    StatePatch,
    StateQuery,
    StateRecord,
    StateScope,
)
from .sessions import ref_of

_SCOPE_OF = {"session": StateScope.SESSION, "user": StateScope.USER, "app": StateScope.APP}
"""The fields of StateDelta."""
_SCOPES = {0: StateScope.SESSION} | {int(scope): scope for scope in StateScope}


def name_of(request: pb.GetStateRequest | pb.PatchStateRequest) -> StateName:
    """Returns the name of the state. The service adds what the credential implies, and checks that nothing is missing."""
    scope = scope_of("scope", request.scope)
    ref = ref_of(request.session, creating=scope is not StateScope.SESSION)
    if scope is not StateScope.SESSION and ref.session_id:
        raise InvalidField("session.session_id", "must be empty: the state is not that of a session")
    if scope is StateScope.APP and ref.user_id:
        raise InvalidField("session.user_id", "must be empty: the state is that of an app")
    return StateName(scope, ref)


def query_of(request: pb.GetStateRequest, scope: StateScope, max_bytes: int) -> StateQuery:
    as_of = request.as_of_log_version if request.HasField("as_of_log_version") else None
    if as_of is not None and scope is not StateScope.SESSION:
        raise InvalidField("as_of_log_version", "is for the state of a session only")
    if as_of is not None and as_of < 0:
        raise InvalidField("as_of_log_version", "must not be negative")
    return StateQuery(
        keys=_keys("keys", request.keys),
        prefix=validation.identifier("key_prefix", request.key_prefix),
        after=validation.identifier("after_key", request.after_key),
        limit=validation.page_size("page_size", request.page_size, default=MAX_PATCHED_KEYS, most=MAX_PATCHED_KEYS),
        max_bytes=max_bytes,
        as_of=as_of,
    )


def patch_of(field: str, patch: state_pb2.StatePatch) -> StatePatch:
    """Returns the checked patch, which may be empty."""
    fresh, gone = patch.set, patch.remove
    validation.count(field + ".set", fresh, MAX_PATCHED_KEYS)
    if not gone:
        return StatePatch(values_of(field + ".set", fresh))
    validation.count(field + ".remove", gone, MAX_PATCHED_KEYS)
    if len(fresh) + len(gone) > MAX_PATCHED_KEYS:
        raise InvalidField(field, f"must have at most {MAX_PATCHED_KEYS:,} keys")
    removed = _keys(field + ".remove", gone)
    values = values_of(field + ".set", fresh)
    if twice := values.keys() & set(removed):
        raise InvalidField(field + ".remove", f"must not name a key of set, such as {min(twice)!r}")
    return StatePatch(values, removed)


def values_of(field: str, values: Mapping[str, str]) -> dict[str, str]:
    """Returns checked values by key."""
    validation.count(field, values, MAX_PATCHED_KEYS)
    checked = dict(values.items())
    name_of_keys = field + " key"
    for key, value in checked.items():
        validation.identifier(name_of_keys, key, required=True)
        validation.json_value(field, key, value, MAX_VALUE_BYTES)
    return checked


def delta_of(field: str, delta: state_pb2.StateDelta) -> StateDelta | None:
    """Returns the checked changes by scope; None if there are none."""
    # Only the fields that are present: most appends change one scope or none.
    patches = {_SCOPE_OF[part.name]: patch_of(f"{field}.{part.name}", patch) for part, patch in delta.ListFields()}
    return {scope: patch for scope, patch in patches.items() if patch} or None


def _keys(field: str, keys: Sequence[str]) -> tuple[str, ...]:
    validation.count(field, keys, MAX_PATCHED_KEYS)
    return tuple(dict.fromkeys(validation.identifier(f"{field}[{i}]", key, required=True) for i, key in enumerate(keys)))


def state_to(page: StatePage) -> state_pb2.State:
    return state_pb2.State(values=page.values, version=page.version)


def state_page_to(page: StatePage) -> state_pb2.StatePage:
    last = max(page.values, key=str.encode, default="") if page.more else ""
    return state_pb2.StatePage(values=page.values, version=page.version, more=page.more, next_key=last)


def session_state_to(states: Mapping[StateScope, StatePage]) -> state_pb2.SessionState:
    return state_pb2.SessionState(**{scope.name.lower(): state_page_to(page) for scope, page in states.items()})


def scopes_of(field: str, scopes: Sequence[int]) -> list[StateScope]:
    """Returns the scopes, each once. Raises InvalidField."""
    validation.count(field, scopes, len(StateScope))
    found = [scope_of(f"{field}[{i}]", scope) for i, scope in enumerate(scopes)]
    if len(set(found)) < len(found):
        raise InvalidField(field, "must not have duplicates")
    return found


def scope_of(field: str, value: int) -> StateScope:
    scope = _SCOPES.get(value)
    if scope is None:
        raise InvalidField(field, "must be STATE_SCOPE_SESSION, STATE_SCOPE_USER or STATE_SCOPE_APP")
    return scope


def state_change_to(record: StateRecord) -> subscription_pb2.StateChange:
    return subscription_pb2.StateChange(
        scope=state_pb2.StateScope.ValueType(record.scope),
        version=record.version,
        set=record.patch.set,
        removed=record.patch.remove,
        omitted=record.omitted,
        deleted=record.deleted,
    )
