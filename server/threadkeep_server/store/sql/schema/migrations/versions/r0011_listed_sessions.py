"""Lists of sessions in the order of their updates."""

from __future__ import annotations

from alembic import op

revision = "0011"
down_revision = "0010"

_INDEXES = {"sessions_active": "tenant", "sessions_active_user": "tenant, user_id", "sessions_active_app": "tenant, app"}


def upgrade() -> None:
    # SQLite cannot add a stored column; there it is in the indexes only.
    stored = " STORED" if op.get_bind().dialect.name == "postgresql" else ""
    op.execute(f"ALTER TABLE sessions ADD COLUMN active_minute BIGINT GENERATED ALWAYS AS (update_time / 60000000000){stored}")
    for name, columns in _INDEXES.items():
        op.execute(f"CREATE INDEX {name} ON sessions ({columns}, active_minute, id)")
