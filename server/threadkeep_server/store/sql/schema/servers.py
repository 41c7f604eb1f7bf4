"""The table of the servers that share the database."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Table, Text

from .tables import metadata

# A row per running server. Its clock writes the start_time, that of the database the seen_time. A server that stops deletes its
# row, others those of crashed ones.
servers = Table(
    "servers",
    metadata,
    Column("id", Text, primary_key=True),
    Column("version", Text, nullable=False),
    Column("start_time", BigInteger, nullable=False),
    Column("seen_time", BigInteger, nullable=False),
    Column("metrics_address", Text, nullable=False),
)
