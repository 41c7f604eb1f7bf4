"""Tables of the OpenAI Agents SDK for Python, as its SQLite and SQLAlchemy sessions write them, with or without branches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...formats.openai import clean
from ...formats.responses import event_of
from ...v1.session_pb2 import TokenUsage
from ..formats import EventItem, Item, Malformed, Origin, ReadOptions
from ..formats.items import FieldError
from .database import Database, Row, following, json_object, one, quoted, time_of

FORMAT = "openai-agents"
MAIN = "main"
"""The branch that every conversation has."""
_MESSAGES = frozenset(("id", "session_id", "message_data", "created_at"))
_SESSIONS = frozenset(("session_id", "created_at", "updated_at"))
_STRUCTURE = "message_structure"
_BRANCHES = f"SELECT branch_id FROM {_STRUCTURE} WHERE session_id = ? GROUP BY branch_id ORDER BY min(id)"  # noqa: S608
_BRANCHED = f"SELECT 1 FROM {_STRUCTURE} WHERE session_id = ? LIMIT 1"  # noqa: S608
_OWNER = f"SELECT \"table\" FROM pragma_foreign_key_list('{_STRUCTURE}') WHERE \"from\" = 'message_id'"  # noqa: S608
_TURNS = (
    "SELECT user_turn_number, input_tokens, output_tokens, total_tokens, input_tokens_details, output_tokens_details"
    " FROM turn_usage WHERE session_id = ? AND branch_id = ?"
)


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of one kind of session; their names can be chosen. `branched`: those of `AdvancedSQLiteSession` are there.
    `order`: the columns by which the SDK orders the items."""

    messages: str
    sessions: str | None
    order: str
    branched: bool = False


def found(database: Database) -> list[Tables]:
    """The tables that a database has."""
    tables = database.tables()
    keepers = [name for name, columns in tables.items() if columns >= _SESSIONS and "message_data" not in columns]
    own = "sqlite_sequence" in tables  # of SQLiteSession and those derived from it, whose ids count up
    pairs = []
    for name in sorted(each for each, columns in tables.items() if columns >= _MESSAGES):
        owner = database.referenced(name)
        sessions = owner if owner in keepers else keepers[0] if len(keepers) == 1 else None
        branched = own and _STRUCTURE in tables and one(database, _OWNER) == name
        pairs.append(Tables(name, sessions, "id" if own else "created_at, id", branched))
    return pairs


def read(tables: Tables, database: Database, options: ReadOptions) -> Iterator[Item]:
    """A conversation is a session, and so is each of its branches but the main one. An item is an event."""
    named = (tables.messages,) if tables.sessions is None else (tables.sessions, tables.messages)
    for session_id in following(database, "session_id", named):
        branches = []
        if tables.branched and one(database, _BRANCHED, session_id):
            branches = [row[0] for row in database.rows(_BRANCHES, session_id)]
        yield from _conversation(database, tables, session_id, MAIN, bool(branches), options)
        for branch in branches:
            if branch != MAIN:
                yield from _conversation(database, tables, session_id, branch, True, options)


def _conversation(
    database: Database, tables: Tables, session_id: str, branch: str, branched: bool, options: ReadOptions
) -> Iterator[Item]:
    origin = Origin(database.name, 1, table=tables.sessions or tables.messages, row=session_id)
    labels = {"openai_agents.session": clean(session_id), "openai_agents.branch": clean(branch)} if branch != MAIN else {}
    name = options.prefix + (session_id if branch == MAIN else f"{session_id}.{branch}")
    created = None
    if tables.sessions is not None:
        created = one(database, f"SELECT created_at FROM {quoted(tables.sessions)} WHERE session_id = ?", session_id)  # noqa: S608
    try:
        yield options.start(origin, name, labels=labels, create_time=time_of(created, "created_at"))
    except FieldError as error:
        yield Malformed(origin, error.field, error.problem, unrelated=True)
        return
    if branched:
        yield from _branch(database, tables, session_id, branch)
        return
    columns = f"SELECT id, message_data, created_at FROM {quoted(tables.messages)}"  # noqa: S608
    for row in database.rows(f"{columns} WHERE session_id = ? ORDER BY {tables.order}", session_id):
        yield _item(database, tables, row)


def _branch(database: Database, tables: Tables, session_id: str, branch: str) -> Iterator[Item]:
    """The items of a branch. The last event of a turn has the tokens that the turn used."""
    statement = (
        "SELECT m.id, m.message_data, m.created_at, s.user_turn_number"  # noqa: S608
        f" FROM {_STRUCTURE} s JOIN {quoted(tables.messages)} m ON m.id = s.message_id"
        " WHERE s.session_id = ? AND s.branch_id = ? ORDER BY s.sequence_number"
    )
    usage = {turn: counts for turn, *counts in database.rows(_TURNS, session_id, branch)}
    last: EventItem | None = None
    of = None
    for *row, turn in database.rows(statement, session_id, branch):
        item = _item(database, tables, tuple(row))
        if isinstance(item, Malformed):
            yield item
            continue
        if last is not None:
            yield _used(last, usage.get(of) if turn != of else None)
        last, of = item, turn
    if last is not None:
        yield _used(last, usage.get(of))


def _used(item: EventItem, counts: list[Any] | None) -> EventItem:
    if counts is not None:
        numbers = [each or 0 for each in counts[:3]]
        numbers += [_detail(counts[3], "cached_tokens"), _detail(counts[4], "reasoning_tokens")]
        names = ("input_tokens", "output_tokens", "total_tokens", "cached_tokens", "reasoning_tokens")
        item.event.usage.CopyFrom(TokenUsage(**dict(zip(names, numbers, strict=True))))
    return item


def _detail(text: object, name: str) -> int:
    try:
        found = json_object(text, name).get(name)
    except FieldError:
        return 0
    return found if isinstance(found, int) else 0


def _item(database: Database, tables: Tables, row: Row) -> EventItem | Malformed:
    number, data, created = row
    origin = Origin(database.name, 1, table=tables.messages, row=str(number))
    try:
        event = event_of(json_object(data, "message_data"), f"item-{number}")
        if time := time_of(created, "created_at"):
            event.event_time.CopyFrom(time)
    except FieldError as error:
        return Malformed(origin, error.field, error.problem)
    return EventItem(origin, event)
