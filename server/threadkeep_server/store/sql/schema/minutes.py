"""Columns with the minute of a time, which the database derives: an index of one changes only once a minute."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Column, Computed
from sqlalchemy.ext.compiler import compiles

MINUTE = 60_000_000_000


class _Derived(Computed):
    """SQLite, which cannot add a stored column, has it in indexes only."""

    inherit_cache = True


@compiles(_Derived, "sqlite")
def _virtual(column: _Derived, *_: Any, **__: Any) -> str:
    return f"GENERATED ALWAYS AS ({column.sqltext})"


def minute_of(name: str, time: str) -> Column[Any]:
    return Column(name, BigInteger, _Derived(f"{time} / {MINUTE}", persisted=True))
