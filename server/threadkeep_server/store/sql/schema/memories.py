"""The tables of long-term memory."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, Table, Text, UniqueConstraint, text

from .tables import metadata

_Id = BigInteger().with_variant(Integer, "sqlite")
# Compared by code point, so that a prefix of a namespace is a range.
_Path = Text().with_variant(Text(collation="C"), "postgresql")

# `text` is verbatim UTF-8, `folded` is searched for substrings. `words` has the form of domain.search.Candidate.words;
# `analyzer` is the version of the terms that the index has of the row, 0 if it has none (see memories.search). `vector_model`
# is the number of the model that embedded it, 0 while it waits. `memory_id` is the name (MemoryDraft.name), which is the id in
# the root namespace; `namespace` is a path. `ttl` in nanoseconds.
memories = Table(
    "memories",
    metadata,
    Column("id", _Id, primary_key=True, autoincrement=True),
    Column("tenant", Text, nullable=False),
    Column("app", Text, nullable=False),
    Column("user_id", Text, nullable=False),
    Column("memory_id", Text, nullable=False),
    Column("content", LargeBinary, nullable=False),
    Column("text", LargeBinary, nullable=False),
    Column("folded", Text, nullable=False),
    Column("author", Text, nullable=False),
    Column("event_time", BigInteger),
    Column("time", BigInteger, nullable=False),
    Column("record_time", BigInteger, nullable=False),
    Column("session_id", Text, nullable=False),
    Column("event_id", Text, nullable=False),
    Column("metadata_json", LargeBinary, nullable=False),
    Column("words", Text, nullable=False),
    Column("analyzer", Integer, nullable=False),
    Column("vector_model", Integer, nullable=False, server_default=text("0")),
    Column("namespace", _Path, nullable=False, server_default=text("''")),
    # NULL in rows that are older than the column: record_time.
    Column("update_time", BigInteger),
    Column("ttl", BigInteger),
    Column("expire_time", BigInteger),
    UniqueConstraint("tenant", "app", "user_id", "memory_id", name="memories_memory_id"),
    Index("memories_scope", "tenant", "app", "user_id", "id"),
    Index("memories_namespace", "tenant", "app", "user_id", "namespace", "expire_time"),
    Index(
        "memories_expiry",
        "expire_time",
        sqlite_where=text("expire_time IS NOT NULL"),
        postgresql_where=text("expire_time IS NOT NULL"),
    ),
    Index("memories_session", "tenant", "app", "user_id", "session_id"),
    Index("memories_analyzer", "analyzer", "id"),
    Index("memories_vector_model", "vector_model", "id"),
    sqlite_autoincrement=True,
)

# The entries of each namespace and of those below it, so that the newest ones of a prefix are read without sorting. Entries of
# the root have no row.
memory_prefixes = Table(
    "memory_prefixes",
    metadata,
    Column("tenant", Text, primary_key=True),
    Column("app", Text, primary_key=True),
    Column("user_id", Text, primary_key=True),
    Column("prefix", _Path, primary_key=True),
    Column("memory", BigInteger, primary_key=True, autoincrement=False),
    Index("memory_prefixes_memory", "memory"),
    sqlite_with_rowid=False,
)

# Ids of deleted entries that came from events, so that they are not ingested again.
memory_tombstones = Table(
    "memory_tombstones",
    metadata,
    Column("tenant", Text, primary_key=True),
    Column("app", Text, primary_key=True),
    Column("user_id", Text, primary_key=True),
    Column("memory_id", Text, primary_key=True),
    Column("time", BigInteger, nullable=False),
)

# Embeddings by memories.id: float32, little-endian. `scope` represents (tenant, app, user).
memory_vectors = Table(
    "memory_vectors",
    metadata,
    Column("id", _Id, primary_key=True, autoincrement=False),
    Column("scope", Text, nullable=False),
    Column("session", BigInteger, nullable=False, server_default=text("0")),
    Column("model", Integer, nullable=False),
    Column("vector", LargeBinary, nullable=False),
    Index("memory_vectors_scope", "scope", "model", "id"),
)

# Embedding models by name; the one with the highest `called` is the current one. Numbers start at 1.
vector_models = Table(
    "vector_models",
    metadata,
    Column("number", _Id, primary_key=True, autoincrement=True),
    Column("name", Text, nullable=False),
    Column("dimension", Integer, nullable=False),
    Column("called", BigInteger, nullable=False),
    UniqueConstraint("name", name="vector_models_name"),
    sqlite_autoincrement=True,
)
