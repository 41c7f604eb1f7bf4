"""Refuses databases of other programs."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import Connection

from .tables import meta

_SHOWN = 3
_OF_EXTENSIONS = frozenset({"spatial_ref_sys"})
"""Tables that an extension of PostgreSQL (PostGIS) makes where it is installed."""


class ForeignDatabase(RuntimeError):
    """The database has tables, and they are another program's."""


def refuse_foreign(connection: Connection) -> None:
    """Changes nothing. Raises ForeignDatabase."""
    names = sorted({*sa.inspect(connection).get_table_names()} - _OF_EXTENSIONS)
    if not names or meta.name in names:
        return
    shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    own = "give Threadkeep a database of its own (THREADKEEP_DATABASE_URL)"
    raise ForeignDatabase(f"the database holds tables of another program ({shown}); {own}")
