"""The table of the keys that encrypt what tenants store."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, Table, Text

from .tables import metadata

# In memories.analyzer of an encrypted entry, whose terms no index may have: above all versions.
ENCRYPTED = 1 << 30
# In its memories.vector_model: no model may embed it.
NO_MODEL = -1

# The newest key of a tenant encrypts, each decrypts what it has encrypted. `wrapped` is the key, encrypted by the master key
# with the id `master`; destroyed keys have none.
tenant_keys = Table(
    "tenant_keys",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("tenant", Text, nullable=False),
    Column("create_time", BigInteger, nullable=False),
    Column("destroy_time", BigInteger),
    Column("master", Text, nullable=False),
    Column("wrapped", LargeBinary),
    Index("tenant_keys_tenant", "tenant"),
    sqlite_autoincrement=True,
)
