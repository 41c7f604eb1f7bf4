"""State of ADK, whose keys have the prefixes of their scopes, as the state of Threadkeep's scopes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from google.adk.sessions.state import State
from pydantic_core import to_jsonable_python

from ..._convert import PatchFields, json_value


@dataclass(frozen=True, slots=True)
class ScopedState:
    """The values of a state or of a delta, which have a JSON form, by key without prefix. `temp:` keys are in none."""

    session: dict[str, Any] = field(default_factory=dict)
    user: dict[str, Any] = field(default_factory=dict)
    app: dict[str, Any] = field(default_factory=dict)


def scoped(state: Mapping[str, Any] | None) -> ScopedState:
    """The state by scope. A value that has no JSON form becomes its string form."""
    found = ScopedState()
    for key, value in (state or {}).items():
        kept = _jsonable(value)
        if key.startswith(State.APP_PREFIX):
            found.app[key.removeprefix(State.APP_PREFIX)] = kept
        elif key.startswith(State.USER_PREFIX):
            found.user[key.removeprefix(State.USER_PREFIX)] = kept
        elif not key.startswith(State.TEMP_PREFIX):
            found.session[key] = kept
    return found


def merged(session: Mapping[str, Any], user: Mapping[str, Any], app: Mapping[str, Any]) -> dict[str, Any]:
    """The state that a session shows: its own values, and those of its user and its app with their prefixes."""
    return (
        dict(session)
        | {State.APP_PREFIX + key: value for key, value in app.items()}
        | {State.USER_PREFIX + key: value for key, value in user.items()}
    )


def patch(values: Mapping[str, Any]) -> PatchFields | None:
    """The patch that sets these values, with an append; None for none. ADK stores None as null: nothing is removed."""
    return {"set": values} if values else None


def _jsonable(value: Any) -> Any:
    try:
        kept = to_jsonable_python(value, serialize_unknown=True)
        json_value(kept, "state")
    except ValueError:  # such as a float that is no number
        return str(value)
    return kept
