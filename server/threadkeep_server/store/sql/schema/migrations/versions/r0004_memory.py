"""Long-term memory: entries, the ids of deleted ones, and embeddings."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_SCOPE = ("tenant", "app", "user_id")


def _id() -> sa.types.TypeEngine[int]:
    return sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _texts(*names: str, key: bool = False) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text(), nullable=False, primary_key=key) for name in names]


def _number(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), nullable=False)


def _bytes(*names: str) -> list[sa.Column[bytes]]:
    return [sa.Column(name, sa.LargeBinary(), nullable=False) for name in names]


def upgrade() -> None:
    op.create_table(
        "memories",
        sa.Column("id", _id(), primary_key=True, autoincrement=True),
        *_texts(*_SCOPE, "memory_id"),
        *_bytes("content", "text"),
        *_texts("folded", "author"),
        sa.Column("event_time", sa.BigInteger()),
        _number("time"),
        _number("record_time"),
        *_texts("session_id", "event_id"),
        *_bytes("metadata_json"),
        *_texts("words"),
        sa.Column("analyzer", sa.Integer(), nullable=False),
        sa.Column("vector_model", sa.Integer(), nullable=False, server_default=sa.text("0")),
        sa.UniqueConstraint(*_SCOPE, "memory_id", name="memories_memory_id"),
        sqlite_autoincrement=True,
    )
    op.create_index("memories_scope", "memories", [*_SCOPE, "id"])
    op.create_index("memories_session", "memories", [*_SCOPE, "session_id"])
    op.create_index("memories_analyzer", "memories", ["analyzer", "id"])
    op.create_index("memories_vector_model", "memories", ["vector_model", "id"])
    op.create_table("memory_tombstones", *_texts(*_SCOPE, "memory_id", key=True), _number("time"))
    op.create_table(
        "memory_vectors",
        sa.Column("id", _id(), primary_key=True, autoincrement=False),
        *_texts("scope"),
        sa.Column("session", sa.BigInteger(), nullable=False, server_default=sa.text("0")),
        sa.Column("model", sa.Integer(), nullable=False),
        *_bytes("vector"),
    )
    op.create_index("memory_vectors_scope", "memory_vectors", ["scope", "model", "id"])
    op.create_table(
        "vector_models",
        sa.Column("number", _id(), primary_key=True, autoincrement=True),
        *_texts("name"),
        sa.Column("dimension", sa.Integer(), nullable=False),
        _number("called"),
        sa.UniqueConstraint("name", name="vector_models_name"),
        sqlite_autoincrement=True,
    )
