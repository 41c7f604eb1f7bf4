"""The table of forks that are being copied."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Table

from .tables import metadata

# By the id that the session will have. Its events and values are there already, but no row of `sessions`, so nobody finds them.
# Past the time `until`, its server is gone, and they are removed.
unfinished_forks = Table(
    "unfinished_forks",
    metadata,
    Column("session", BigInteger, primary_key=True, autoincrement=False),
    Column("until", BigInteger, nullable=False),
)
