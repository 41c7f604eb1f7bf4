"""State for programs and for people: values as they were set, and changes of them."""

from __future__ import annotations

import json
from typing import Any

from rich.text import Text

from ...v1.state_pb2 import STATE_SCOPE_APP, STATE_SCOPE_SESSION, STATE_SCOPE_USER
from ...v1.subscription_pb2 import StateChange
from ...values.state import State
from .output import as_json, excerpt, utf8

_SCOPES = {STATE_SCOPE_SESSION: "session", STATE_SCOPE_USER: "user", STATE_SCOPE_APP: "app"}
_OWNERS = {STATE_SCOPE_USER: " of the user", STATE_SCOPE_APP: " of the app"}
_VALUE = 60
"""Characters of a value in a line."""


def state_json(scope: str, state: State) -> str:
    """Returns the JSON of a state in one line. Values have their own text: numbers of any size and the order of members."""
    members = ",".join(f"{json.dumps(key, ensure_ascii=not utf8())}:{_in_one_line(text)}" for key, text in state.texts.items())
    return f'{{"scope":{json.dumps(scope)},"version":{state.version},"values":{{{members}}}}}'


def _in_one_line(text: str) -> str:
    """JSON without line breaks, which are between its tokens only; ASCII where standard output has no other characters."""
    line = text.replace("\r", " ").replace("\n", " ")
    return line if utf8() else "".join(each if each.isascii() else json.dumps(each)[1:-1] for each in line)


def state_change_json(change: StateChange) -> dict[str, Any]:
    """Returns a change of state for programs: the fields that are set, values as JSON text."""
    return as_json(change) | {"scope": _SCOPES.get(change.scope, "")}


def state_line(change: StateChange, *, owned: bool) -> Text:
    """Returns a change of state in a line. `owned`: with whose it is, where it is not a session's."""
    whose = _OWNERS.get(change.scope, "") if owned else ""
    head = Text.assemble(("state", "bold cyan"), f"{whose}  version {change.version:,}")
    if change.deleted:
        return head.append("  deleted", "bold red")
    if change.omitted:
        return head.append("  values of more than 16 KiB", "dim")
    for key in sorted(change.set):
        head.append(f"  {excerpt(key).plain}=").append_text(excerpt(change.set[key], width=_VALUE))
    for key in change.removed:
        head.append(f"  removed {excerpt(key).plain}", "dim")
    return head
