"""Roles of credentials: which ones a role includes. The names are those of threadkeep.v1.AccessRole in lower case."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

ANY: Final = "any"
"""The role of every credential."""
READER, WRITER, COMPACTOR, ADMIN, OPS = NAMES = ("reader", "writer", "compactor", "admin", "ops")

_INCLUDED: Final = {
    READER: {READER},
    WRITER: {READER, WRITER},
    COMPACTOR: {READER, COMPACTOR},
    ADMIN: {READER, WRITER, COMPACTOR, ADMIN},
    OPS: {OPS},
}


def granted(roles: Iterable[str]) -> frozenset[str]:
    """Returns the roles with all that they include. Raises ValueError for an unknown name."""
    given = set(roles)
    if unknown := sorted(given - set(NAMES)):
        raise ValueError(f"{unknown[0][:64]!r} is not a role; the roles are {', '.join(NAMES)}")
    return frozenset({ANY}.union(*(_INCLUDED[role] for role in given)))


DATA: Final = granted([ADMIN])
"""All roles over data: of a static token that names none."""
EVERY: Final = granted(NAMES)
"""All roles: of every caller without authentication."""
