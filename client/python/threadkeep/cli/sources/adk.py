"""Google ADK's tables, version 1, as `DatabaseSessionService` and `SqliteSessionService` write them."""

from __future__ import annotations

from collections.abc import Iterator

from ...formats.adk import event_of
from ...formats.openai import clean, json_text
from ...v1.session_pb2 import SessionRef
from ...v1.state_pb2 import STATE_SCOPE_APP, STATE_SCOPE_SESSION, STATE_SCOPE_USER, StateScope
from ..formats import EventItem, Item, Malformed, Origin, ReadOptions, StateItem
from ..formats.items import FieldError
from .database import Database, Row, SourceError, json_object, one, time_of

FORMAT = "adk"
COUNTED = ("events",)
_PAGE = 500
_SESSIONS = "SELECT app_name, user_id, id, create_time FROM sessions WHERE (app_name, user_id, id) > (?, ?, ?)"
_EVENTS = (
    "SELECT id, invocation_id, timestamp, CAST(event_data AS TEXT) FROM events"
    " WHERE app_name = ? AND user_id = ? AND session_id = ? ORDER BY timestamp, {tie}"
)
_STATE = "SELECT CAST(state AS TEXT) FROM sessions WHERE app_name = ? AND user_id = ? AND id = ?"
_VERSION = "SELECT value FROM adk_internal_metadata WHERE key = 'schema_version'"
_METADATA = "adk_internal_metadata"


def found(database: Database) -> bool:
    """Whether a database has the tables. Raises SourceError for those of another version."""
    tables = database.tables()
    columns = tables.get("events", frozenset())
    if not {"app_name", "user_id", "session_id", "invocation_id"} <= columns or "sessions" not in tables:
        return False
    version = one(database, _VERSION) if _METADATA in tables else "1" if "event_data" in columns else "0"
    if version == "0":
        raise SourceError("its tables of Google ADK are of version 0, with pickles; `adk migrate session` converts them")
    if version != "1":
        raise SourceError(f"its tables of Google ADK are of version {version}, which a newer threadkeep may read")
    return True


def read(database: Database, options: ReadOptions) -> Iterator[Item]:
    """A session of ADK is a session, with its state; then the states of users and of apps."""
    # Events of one moment are in the order in which ADK's services return them.
    events = _EVENTS.format(tie="id" if _METADATA in database.tables() else "rowid")
    at: tuple[str, ...] = ("", "", "")
    while page := list(database.rows(f"{_SESSIONS} ORDER BY app_name, user_id, id LIMIT {_PAGE}", *at)):
        for row in page:
            at = row[:3]
            yield from _session(database, events, row, options)
    yield from _states(database, options)


def _session(database: Database, events: str, row: Row, options: ReadOptions) -> Iterator[Item]:
    app, user, session_id, created = row
    key = (app, user, session_id)
    origin = Origin(database.name, 1, table="sessions", row=_named(*key))
    try:
        start = options.start(origin, session_id, app=app, user_id=user, create_time=time_of(created, "create_time"))
    except FieldError as error:
        yield Malformed(origin, error.field, error.problem, unrelated=True)
        return
    yield start
    for event in database.rows(events, *key):
        yield _event(database, key, event)
    for (state,) in database.rows(_STATE, *key):
        yield from _state(origin, STATE_SCOPE_SESSION, start.session.ref, state, options)


def _event(database: Database, session: tuple[str, ...], row: Row) -> Item:
    event_id, invocation_id, timestamp, data = row
    origin = Origin(database.name, 1, table="events", row=_named(*session, event_id))
    try:
        item = json_object(data, "event_data")
        if not isinstance(item.get("timestamp"), (int, float)):
            time = time_of(timestamp, "timestamp")
            item["timestamp"] = time.ToNanoseconds() / 1_000_000_000 if time else 0.0
        # The columns decide, as for ADK.
        return EventItem(origin, event_of({**item, "id": event_id, "invocation_id": invocation_id}))
    except FieldError as error:
        return Malformed(origin, error.field, error.problem)


def _states(database: Database, options: ReadOptions) -> Iterator[Item]:
    for table, columns, scope in (
        ("user_states", "app_name, user_id", STATE_SCOPE_USER),
        ("app_states", "app_name", STATE_SCOPE_APP),
    ):
        if table not in database.tables():
            continue
        for *key, state in database.rows(f"SELECT {columns}, CAST(state AS TEXT) FROM {table} ORDER BY {columns}"):  # noqa: S608
            origin = Origin(database.name, 1, table=table, row=_named(*key))
            app, user = key[0], key[1] if len(key) > 1 else ""
            ref = SessionRef(app=options.app or clean(app), user_id=(options.user_id or clean(user)) if user else "")
            yield from _state(origin, scope, ref, state, options)


def _state(origin: Origin, scope: StateScope.ValueType, ref: SessionRef, text: object, options: ReadOptions) -> Iterator[Item]:
    try:
        found = json_object(text, "state")
    except FieldError as error:
        yield Malformed(origin, error.field, error.problem, unrelated=True)
        return
    values = {clean(key): json_text(value) for key, value in found.items()}
    if values or options.replace_state:
        yield StateItem(origin, scope, ref, values, options.replace_state)


def _named(*key: str) -> str:
    return " / ".join(key)
