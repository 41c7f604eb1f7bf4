"""An index of the events that are not on the root branch, and the content bytes of windows."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from threadkeep_server.store.sql.schema.migrations.versions.r0006_shorter_writes import function

revision = "0016"
down_revision = "0015"

_ON_BRANCH = sa.text("branch <> ''")
_LEAD = "role = 3 OR (synthetic AND role <> 4)"
# Archived, but not marked yet.
_UNMARKED = f"""
CASE WHEN EXISTS (SELECT 1 FROM archivings) THEN NOT ({_LEAD}) AND events.position <= COALESCE(
    (SELECT through FROM archivings WHERE archivings.session = events.session), 0
) OR EXISTS (
    SELECT 1 FROM archivings JOIN listed_events ON listed_events.listing = archivings.listing
    WHERE archivings.session = events.session AND listed_events.event = events.id
) ELSE false END"""  # noqa: S608 - constants
# Events of the first schemas do not say how much content they have.
_COUNT = f"""
UPDATE sessions SET window_content = COALESCE((
    SELECT CAST(SUM(CASE WHEN content_bytes < 0 THEN size ELSE content_bytes END) AS BIGINT) FROM events
    WHERE events.session = sessions.id AND NOT archived AND NOT {_UNMARKED}
), 0) WHERE window_events > 0"""  # noqa: S608 - constants


def upgrade() -> None:
    postgres = op.get_bind().dialect.name == "postgresql"
    if postgres:
        # Does not rewrite the table.
        op.execute('ALTER TABLE events ALTER COLUMN branch TYPE text COLLATE "C"')
    columns = ["session", "branch", "position"]
    op.create_index("events_branch", "events", columns, sqlite_where=_ON_BRANCH, postgresql_where=_ON_BRANCH)
    op.add_column("sessions", sa.Column("window_content", sa.BigInteger(), nullable=False, server_default=sa.text("0")))
    op.execute(_COUNT)
    if postgres:
        # With other parameters it is another function. Code that calls the old one must not run any more.
        op.execute("DROP FUNCTION threadkeep_append")
        op.execute(function({"added_version": "bigint", "counters": "text"}, ("window_content",)))
