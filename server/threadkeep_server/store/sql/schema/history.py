"""The history of windows: when events were added and archived, and what else reads as of a moment need.

`events.added_version` and `archived_version` are the log versions of the changes that did. 0: before the versions that are
known; in an event that is not archived, none. `events.counters` is JSON of the window's Counters after an append had got to
this event; one event in COUNTED_EVERY has it.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, Table, text

from .tables import COUNTED, LEAD, events, metadata

COUNTED_EVERY = 64
"""So many that appends pay nothing, and few enough to add up those after the last one on each read."""

# Of the conversation, of summaries, and of SYSTEM events.
FLOORS = ("conversation_floor", "summaries_floor", "prompts_floor")

# One row per change that archived or inserted events, with the versions and counters of the session after it, and floors: the
# positions of its active events are above. `migrated`: no change, but the session as a migration found it, whose earlier
# history is unknown.
window_changes = Table(
    "window_changes",
    metadata,
    Column("session", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("log_version", BigInteger, primary_key=True, autoincrement=False),
    Column("window_version", BigInteger, nullable=False),
    Column("last_seq", BigInteger, nullable=False),
    *(Column(f"window_{what}", BigInteger, nullable=False) for what in COUNTED),
    *(Column(name, BigInteger, nullable=False) for name in FLOORS),
    Column("migrated", Boolean, nullable=False),
    sqlite_with_rowid=False,
)

# Events that a rewind made active again: from which log version on, and up to which, they were archived before.
past_archivings = Table(
    "past_archivings",
    metadata,
    Column("event", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("until", BigInteger, primary_key=True, autoincrement=False),
    Column("since", BigInteger, nullable=False),
    Column("session", BigInteger().with_variant(Integer, "sqlite"), nullable=False),
    Index("past_archivings_session", "session"),
)

COUNTS = "counters IS NOT NULL"
# Also leads that were archived since. Reads of the present lack the first condition, or SQLite would use the wrong index.
ALL_LEADS = f"position > 0 AND ({LEAD})"
Index("events_all_leads", events.c.session, events.c.position, sqlite_where=text(ALL_LEADS), postgresql_where=text(ALL_LEADS))
Index(
    "events_counted",
    events.c.session,
    events.c.added_version,
    events.c.seq,
    sqlite_where=text(COUNTS),
    postgresql_where=text(COUNTS),
)
