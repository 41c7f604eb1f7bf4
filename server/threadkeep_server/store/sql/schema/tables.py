"""The tables. Times are integer nanoseconds; JSON and payloads are bytes, because text columns cannot hold every string.

`events.position` is the order of the window: seq * POSITION_STEP for appended events, values in between for events that a
compaction inserted. seq needs no index of its own (see `log.conditions`).
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from ....domain.feed import ChangeKind
from ....domain.model import POSITION_STEP
from .minutes import minute_of

# The schema of a database, and the oldest schema number whose code can still run on it.
SCHEMA_VERSION = 20
# 18: older code would append to a session under the name of its former owner.
OLDEST_CODE_THAT_CAN_RUN = 18

COUNTED = ("events", "turns", "bytes", "tokens")  # the names of the fields of Counters and Usage, in columns
USED = ("input", "output", "total", "cached", "reasoning")

metadata = MetaData()
# SQLite makes rowids only of INTEGER PRIMARY KEY; AUTOINCREMENT prevents the reuse of a deleted session's ids.
_Id = BigInteger().with_variant(Integer, "sqlite")

meta = Table("threadkeep_meta", metadata, Column("key", String(64), primary_key=True), Column("value", Text, nullable=False))
INCARNATIONS = "incarnations"  # their key

EXPIRING = "expire_time IS NOT NULL"
FORKED = "parent_session_id IS NOT NULL"

sessions = Table(
    "sessions",
    metadata,
    Column("id", _Id, primary_key=True, autoincrement=True),
    Column("tenant", Text, nullable=False),
    Column("app", Text, nullable=False),
    Column("user_id", Text, nullable=False),
    Column("session_id", Text, nullable=False),
    Column("uid", Text, nullable=False),
    Column("create_time", BigInteger, nullable=False),
    Column("update_time", BigInteger, nullable=False),
    Column("expire_time", BigInteger),
    Column("metadata_json", LargeBinary, nullable=False),
    Column("labels_json", LargeBinary, nullable=False),
    Column("log_version", BigInteger, nullable=False),
    Column("window_version", BigInteger, nullable=False),
    Column("last_seq", BigInteger, nullable=False),
    *(Column(f"window_{what}", BigInteger, nullable=False) for what in COUNTED),
    *(Column(f"usage_{kind}", BigInteger, nullable=False) for kind in USED),
    # Bytes; 0 is the server's default.
    Column("context_bytes", BigInteger, nullable=False, server_default=text("0")),
    # Bytes of the content of the active window, in the measure of context_bytes.
    Column("window_content", BigInteger, nullable=False, server_default=text("0")),
    # Of forks: domain.model.Parent.
    *(Column(f"parent_{name}", Text) for name in ("session_id", "uid")),
    *(Column(f"parent_{name}", BigInteger) for name in ("seq", "log_version")),
    # The position of the change that gave it its present owner; NULL: it was created with it.
    Column("moved_xid", BigInteger),
    Column("moved_change", BigInteger),
    minute_of("active_minute", "update_time"),
    UniqueConstraint("tenant", "app", "user_id", "session_id", name="sessions_ref"),
    Index("sessions_session_id", "tenant", "session_id"),
    Index("sessions_created", "tenant", "create_time", "id"),
    Index("sessions_user", "tenant", "user_id", "create_time", "id"),
    Index("sessions_app", "tenant", "app", "create_time", "id"),
    Index("sessions_active", "tenant", "active_minute", "id"),
    Index("sessions_active_user", "tenant", "user_id", "active_minute", "id"),
    Index("sessions_active_app", "tenant", "app", "active_minute", "id"),
    Index(
        "sessions_forks",
        "tenant",
        "parent_session_id",
        "create_time",
        "id",
        sqlite_where=text(FORKED),
        postgresql_where=text(FORKED),
    ),
    Index("sessions_expiry", "expire_time", sqlite_where=text(EXPIRING), postgresql_where=text(EXPIRING)),
    sqlite_autoincrement=True,
)

session_labels = Table(
    "session_labels",
    metadata,
    Column("session", _Id, ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
    Column("key", Text, primary_key=True),
    Column("value", Text, nullable=False),
    Index("session_labels_value", "key", "value", "session"),
)

INSERTED = f"position % {POSITION_STEP} <> 0"
# The beginning of a context: SYSTEM events and summaries. Not stubs, which replace tool results in their turns.
LEAD = "role = 3 OR (synthetic AND role <> 4)"

ACTIVE_LEAD = f"NOT archived AND ({LEAD})"

ON_BRANCH = "branch <> ''"

# Ordered by code point, as on SQLite: names of branches are listed in this order.
_Path = Text().with_variant(Text(collation="C"), "postgresql")

events = Table(
    "events",
    metadata,
    Column("id", _Id, primary_key=True, autoincrement=True),
    Column("session", _Id, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("event_id", Text, nullable=False),
    Column("time", BigInteger, nullable=False),
    Column("role", SmallInteger, nullable=False),
    Column("author", Text, nullable=False),
    Column("author_role", Text, nullable=False),
    Column("branch", _Path, nullable=False),
    Column("synthetic", Boolean, nullable=False),
    Column("turn_start", Boolean, nullable=False),
    Column("archived", Boolean, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("tokens", BigInteger, nullable=False),
    Column("body", LargeBinary, nullable=False),
    # UTF-8 bytes of the text for a model; -1 in rows older than the column.
    Column("content_bytes", BigInteger, nullable=False, server_default=text("-1")),
    # domain.model.Tools.
    Column("tools", SmallInteger, nullable=False, server_default=text("4")),
    # These three: see history.
    *(Column(f"{what}_version", BigInteger, nullable=False, server_default=text("0")) for what in ("added", "archived")),
    Column("counters", Text),
    UniqueConstraint("session", "position", name="events_position"),
    UniqueConstraint("session", "event_id", name="events_event_id"),
    Index("events_turn_start", "session", "position", sqlite_where=text("turn_start"), postgresql_where=text("turn_start")),
    # Events that compactions inserted: few rows, so that appends pay nothing for finding them by seq.
    Index("events_inserted", "session", "seq", sqlite_where=text(INSERTED), postgresql_where=text(INSERTED)),
    # The window, read from its end, independent of archived events.
    Index("events_active", "session", "position", sqlite_where=text("NOT archived"), postgresql_where=text("NOT archived")),
    Index("events_lead", "session", "position", sqlite_where=text(ACTIVE_LEAD), postgresql_where=text(ACTIVE_LEAD)),
    # Events that are not on the root: appends to the root pay nothing for it.
    Index("events_branch", "session", "branch", "position", sqlite_where=text(ON_BRANCH), postgresql_where=text(ON_BRANCH)),
    sqlite_autoincrement=True,
)

_KINDS = "APPENDED DELETED COMPACTED CREATED UPDATED STATE REMOVED COPIED MOVED"
_NUMBERS = (int(ChangeKind[name]) for name in _KINDS.split())
APPENDED, DELETED, COMPACTED, CREATED, UPDATED, STATE, REMOVED, COPIED, MOVED = _NUMBERS
INSERTING = (COMPACTED, REMOVED, COPIED)  # their events are found by row ids
ADDING = (APPENDED, *INSERTING)
_IS_DELETED = f"kind = {DELETED}"


def _change_columns() -> list[Column[Any]]:
    """Returns the columns of a change. `first` and `last` are the seqs of appended events, or the row ids (events.id) of others
    that were inserted or deleted; 0 if there are none. Versions and counters are the session's after the change. `detail` and
    `state` are JSON: see change_details and state.records. The name is set for DELETED, where no other row has it any more, and
    for the state of users and apps, where `session` is negative."""
    numbers = ("size", "log_version", "window_version", "last_seq", *(f"window_{what}" for what in COUNTED))
    return [
        Column("kind", SmallInteger, nullable=False),
        Column("session", _Id, nullable=False),
        Column("time", BigInteger, nullable=False),
        Column("first", BigInteger, nullable=False),
        Column("last", BigInteger, nullable=False),
        *(Column(name, BigInteger, nullable=False, server_default=text("0")) for name in numbers),
        *(Column(name, Text) for name in ("tenant", "app", "user_id", "session_id")),
        Column("detail", LargeBinary),
        Column("state", LargeBinary),
    ]


# The feed: one row per committed change of a session. `xid` orders them safely on PostgreSQL (see Dialect.visible).
changes = Table(
    "changes",
    metadata,
    Column("id", _Id, primary_key=True, autoincrement=True),
    Column("xid", BigInteger, nullable=False, server_default=text("0")),
    *_change_columns(),
    Index("changes_order", "xid", "id"),
    Index("changes_session", "session", "xid", "id"),
    # Names of deleted sessions.
    Index("changes_deleted", "tenant", "session_id", sqlite_where=text(_IS_DELETED), postgresql_where=text(_IS_DELETED)),
    sqlite_autoincrement=True,
)

# Retention has trimmed the feed up to this change. One row.
feed_floor = Table(
    "feed_floor",
    metadata,
    Column("one", SmallInteger, primary_key=True, autoincrement=False),
    Column("xid", BigInteger, nullable=False),
    Column("change", BigInteger, nullable=False),
)

# Named consumers; see store.contract.consumers.
consumers = Table(
    "consumers",
    metadata,
    Column("id", _Id, primary_key=True, autoincrement=True),
    Column("tenant", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("scope_json", LargeBinary, nullable=False),
    Column("filter", LargeBinary, nullable=False),
    Column("partitions", Integer, nullable=False),
    Column("max_attempts", Integer, nullable=False),
    Column("ack_timeout", BigInteger, nullable=False),
    Column("create_time", BigInteger, nullable=False),
    UniqueConstraint("tenant", "owner", "name", name="consumers_name"),
    sqlite_autoincrement=True,
)

consumer_members = Table(
    "consumer_members",
    metadata,
    Column("consumer", _Id, ForeignKey("consumers.id", ondelete="CASCADE"), primary_key=True),
    Column("member_id", Text, primary_key=True),
    Column("join_time", BigInteger, nullable=False),
    Column("until", BigInteger, nullable=False),
)

# `owner` is the member that holds the lease until `until`; empty: none.
consumer_partitions = Table(
    "consumer_partitions",
    metadata,
    Column("consumer", _Id, ForeignKey("consumers.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("xid", BigInteger, nullable=False),
    Column("change", BigInteger, nullable=False),
    Column("owner", Text, nullable=False),
    Column("until", BigInteger, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("reason", Text, nullable=False),
)

# Changes that failed too often, as they were in the feed, which may have trimmed them since.
parked_changes = Table(
    "parked_changes",
    metadata,
    Column("id", _Id, primary_key=True, autoincrement=True),
    Column("consumer", _Id, ForeignKey("consumers.id", ondelete="CASCADE"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("reason", Text, nullable=False),
    Column("park_time", BigInteger, nullable=False),
    Column("replaying", Boolean, nullable=False),
    Column("change_xid", BigInteger, nullable=False),
    Column("change_id", BigInteger, nullable=False),
    *_change_columns(),
    Index("parked_changes_consumer", "consumer", "id"),
    sqlite_autoincrement=True,
)

compactions = Table(
    "compactions",
    metadata,
    Column("id", _Id, primary_key=True, autoincrement=True),
    Column("session", _Id, nullable=False),
    Column("compaction_id", Text, nullable=False),
    Column("time", BigInteger, nullable=False),
    Column("strategy", Text, nullable=False),
    Column("actor", Text, nullable=False),
    Column("branch", Text, nullable=False),
    Column("archived", BigInteger, nullable=False),
    Column("first_seq", BigInteger, nullable=False),
    Column("last_seq", BigInteger, nullable=False),
    Column("inserted_json", LargeBinary, nullable=False),
    *(Column(f"{when}_{what}", BigInteger, nullable=False) for when in ("before", "after") for what in COUNTED),
    Column("log_version", BigInteger, nullable=False),
    Column("window_version", BigInteger, nullable=False),
    *(Column(f"usage_{kind}", BigInteger, nullable=False) for kind in USED),
    UniqueConstraint("session", "compaction_id", name="compactions_compaction_id"),
    Index("compactions_session", "session", "id"),
    sqlite_autoincrement=True,
)

# Policies by scope; unused parts of the name are empty. A removed policy stays as a row without a body, so that other servers
# notice the removal.
policies = Table(
    "policies",
    metadata,
    Column("id", _Id, primary_key=True, autoincrement=True),
    Column("tenant", Text, nullable=False),
    Column("scope", SmallInteger, nullable=False),
    Column("app", Text, nullable=False),
    Column("user_id", Text, nullable=False),
    Column("session_id", Text, nullable=False),
    Column("body", LargeBinary),
    Column("time", BigInteger, nullable=False),
    UniqueConstraint("tenant", "scope", "app", "user_id", "session_id", name="policies_scope"),
    Index("policies_time", "time"),
    sqlite_autoincrement=True,
)

# Leases on compacting a session, so that two servers never do the same work. An expired lease is free.
leases = Table(
    "leases",
    metadata,
    Column("session", _Id, primary_key=True, autoincrement=False),
    Column("owner", Text, nullable=False),
    Column("until", BigInteger, nullable=False),
)

# --- derived tables: created and rebuilt by text_index, never migrated. On SQLite they are in a file of their own, so that
# indexing never holds the log's write lock.
DERIVED = "search"
derived = MetaData(schema=DERIVED)

# Folded text by event, written by the indexer after the commit. `scope` represents (tenant, user): see text_index.scope_of.
event_text = Table(
    "event_text",
    derived,
    Column("id", _Id, primary_key=True, autoincrement=False),
    Column("scope", Text, nullable=False),
    Column("text", Text, nullable=False),
    Index("event_text_scope", "scope", "id"),
)

# The terms of events (contract.terms), written with their text; `markers` of their scopes: see log.markers.
event_words = Table(
    "event_words",
    derived,
    Column("id", _Id, primary_key=True, autoincrement=False),
    Column("markers", Text, nullable=False),
    Column("words", Text, nullable=False),
)

# The position of the indexer in the order of `changes`, and that change: the file may belong to another database, or to a later
# state of this one. Before it follows changes it reads the stored events by id: it has read up to `filled` and will read up to
# `fill`. One row.
index_progress = Table(
    "index_progress",
    derived,
    Column("one", SmallInteger, primary_key=True, autoincrement=False),
    Column("version", Integer, nullable=False),
    Column("words_version", Integer, nullable=False),
    Column("xid", BigInteger, nullable=False),
    Column("change", BigInteger, nullable=False),
    Column("session", BigInteger, nullable=False),
    Column("time", BigInteger, nullable=False),
    Column("filled", BigInteger, nullable=False),
    Column("fill", BigInteger, nullable=False),
)

# How far the terms of events are renewed after a change of the analyzer: of the events that were indexed before, up to the id
# `upto`, those up to `renewed` are. `seen`: when a server of this version last gave a sign, in nanoseconds by the clock of the
# database; 0 on SQLite. One row, or none before the first step.
words_renewal = Table(
    "words_renewal",
    derived,
    Column("one", SmallInteger, primary_key=True, autoincrement=False),
    Column("renewed", BigInteger, nullable=False),
    Column("upto", BigInteger, nullable=False),
    Column("seen", BigInteger, nullable=False),
)
