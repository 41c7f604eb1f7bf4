"""Tables of LangGraph's checkpointers, as langgraph-checkpoint-sqlite and langgraph-checkpoint-postgres write them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from ...formats.langgraph import Record, Typed, Write, event_of_checkpoint, event_of_write
from ..formats import EventItem, Item, Malformed, Origin, ReadOptions
from ..formats.items import FieldError
from .database import Database, following, json_object, quoted
from .langgraph_messages import CHANNEL, Messages
from .msgpack import Raw, encoded

FORMAT = "langgraph"
_KEY = frozenset(("thread_id", "checkpoint_ns", "checkpoint_id"))
_OF = "thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?"
_KEYS = "SELECT checkpoint_id, checkpoint_ns FROM checkpoints WHERE thread_id = ? ORDER BY checkpoint_id, checkpoint_ns"
_INLINE = f"SELECT parent_checkpoint_id, type, checkpoint, CAST(metadata AS TEXT) FROM checkpoints WHERE {_OF}"  # noqa: S608
_SPLIT = (
    "SELECT parent_checkpoint_id, CAST(checkpoint AS TEXT), CAST(metadata AS TEXT) FROM checkpoints"  # noqa: S608
    f" WHERE {_OF}"
)
_VALUES = (
    "SELECT b.channel, b.type, b.blob FROM checkpoints c"
    " CROSS JOIN LATERAL jsonb_each_text(c.checkpoint -> 'channel_versions') AS v (channel, version)"
    " JOIN checkpoint_blobs b ON b.thread_id = c.thread_id AND b.checkpoint_ns = c.checkpoint_ns"
    " AND b.channel = v.channel AND b.version = v.version"
    " WHERE c.thread_id = ? AND c.checkpoint_ns = ? AND c.checkpoint_id = ? AND b.type <> 'empty'"
)
_TASKS = "__pregel_tasks"
_FIRST_WITH_TASKS = 4
"""The version of checkpoints from which on pending tasks are no longer among their parents' writes, in PostgreSQL."""


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of a checkpointer: those of SQLite, or those of PostgreSQL, which keep the values of channels in a table."""

    writes: str
    content: str
    split: bool
    path: str

    @property
    def counted(self) -> tuple[str, ...]:
        return ("checkpoints", self.writes)


@dataclass(slots=True)
class _Thread:
    """A thread that is read. `sent`: its events so far."""

    database: Database
    tables: Tables
    thread_id: str
    messages: Messages = field(default_factory=Messages)
    sent: int = 0


def found(database: Database) -> Tables | None:
    """The tables that a database has."""
    tables = database.tables()
    if not tables.get("checkpoints", frozenset()) >= _KEY:
        return None
    split = "checkpoint_blobs" in tables
    name, content = ("checkpoint_writes", "blob") if split else ("writes", "value")
    if not tables.get(name, frozenset()) >= _KEY:
        return None
    return Tables(name, content, split, "task_path" if "task_path" in tables[name] else "''")


def read(tables: Tables, database: Database, options: ReadOptions) -> Iterator[Item]:
    """A thread is a session. A checkpoint is an event, after the new messages in it and before its writes; oldest first."""
    for thread_id in following(database, "thread_id", ("checkpoints",)):
        origin = Origin(database.name, 1, table="checkpoints", row=thread_id)
        yield options.start(origin, options.prefix + thread_id)
        thread = _Thread(database, tables, thread_id)
        for checkpoint_id, namespace in list(database.rows(_KEYS, thread_id)):
            yield from _checkpoint(thread, namespace, checkpoint_id)


def _checkpoint(thread: _Thread, namespace: str, checkpoint_id: str) -> Iterator[Item]:
    key = (thread.thread_id, namespace, checkpoint_id)
    origin = Origin(thread.database.name, 1, table="checkpoints", row=" / ".join(key))
    try:
        record, about = _record(thread, namespace, checkpoint_id)
        changed = [] if namespace else thread.messages.changed(record, partial(_written, thread, record))
    except FieldError as error:
        yield Malformed(origin, error.field, error.problem)
        return
    for event, edited in changed:
        yield EventItem(origin, event, if_exists="replace" if edited else "ignore")
    # Its writes follow: they have greater seqs than what precedes it.
    floor = thread.sent + len(changed)
    yield EventItem(origin, event_of_checkpoint(replace(record, floor=floor), about), if_exists="ignore")
    thread.sent = floor + 1
    for write in _writes(thread, namespace, checkpoint_id):
        thread.sent += 1
        row = " / ".join((*key, write.task_id, str(write.index)))
        # As the checkpointer does: of an ordinary write the first one stays, a special one is replaced.
        how = "replace" if write.index < 0 else "ignore"
        yield EventItem(Origin(origin.source, 1, table=thread.tables.writes, row=row), event_of_write(write), if_exists=how)


def _record(thread: _Thread, namespace: str, checkpoint_id: str) -> tuple[Record, dict[str, object]]:
    """The checkpoint with the metadata of its event. Raises FieldError."""
    key = (thread.thread_id, namespace, checkpoint_id)
    if thread.tables.split:
        ((parent, text, metadata),) = thread.database.rows(_SPLIT, *key)
        checkpoint = _joined(thread, key, json_object(text, "checkpoint"), parent)
    else:
        ((parent, encoding, content, metadata),) = thread.database.rows(_INLINE, *key)
        checkpoint = (encoding or "msgpack", _bytes(content, "checkpoint"))
    known = json_object(metadata or "{}", "metadata")
    record = Record(
        namespace=namespace,
        checkpoint_id=checkpoint_id,
        parent_id=parent or None,
        run_id=str(known.get("run_id") or ""),
        checkpoint=checkpoint,
        metadata=("json", str(metadata or "{}").encode()),
    )
    about = {"source": str(known.get("source", "")), "step": known.get("step", 0), "parent": parent or None}
    return record, about


def _joined(thread: _Thread, key: tuple[str, str, str], checkpoint: dict[str, Any], parent: str | None) -> Typed:
    """A checkpoint of PostgreSQL in one piece, as other checkpointers write it; the values' bytes are those of the tables."""
    values = {**(checkpoint.get("channel_values") or {})}
    for channel, encoding, content in thread.database.rows(_VALUES, *key):
        values[channel] = _value((encoding, content), f"channel_values.{channel}")
    versions = checkpoint.get("channel_versions") or {}
    if parent and checkpoint.get("v", 0) < _FIRST_WITH_TASKS:
        tasks = [write.value for write in _writes(thread, key[1], parent) if write.channel == _TASKS]
        if tasks:
            values[_TASKS] = [_value(each, f"channel_values.{_TASKS}") for each in tasks]
            versions = {**versions, _TASKS: max(versions.values(), default=1)}
    try:
        return "msgpack", encoded({**checkpoint, "channel_versions": versions, "channel_values": values})
    except ValueError as error:
        raise FieldError("checkpoint", str(error)) from None


def _value(typed: Typed, field: str) -> object:
    """A value of a channel, to be encoded with the others. Raises FieldError."""
    encoding, content = typed
    if encoding == "msgpack":
        return Raw(bytes(content))
    if encoding in ("null", "bytes", "bytearray"):
        return None if encoding == "null" else bytes(content)
    raise FieldError(field, f"is encoded as {encoding}, which only LangGraph can read; its SQLite tables keep it as it is")


def _writes(thread: _Thread, namespace: str, checkpoint_id: str) -> Iterator[Write]:
    """The writes of a checkpoint, in the order in which they apply."""
    tables = thread.tables
    rows = thread.database.rows(
        f"SELECT task_id, {tables.path}, idx, channel, type, {tables.content} FROM {quoted(tables.writes)}"  # noqa: S608
        f" WHERE {_OF} ORDER BY 2, task_id, idx",
        thread.thread_id,
        namespace,
        checkpoint_id,
    )
    for task_id, path, index, channel, encoding, content in rows:
        value = (encoding or "null", bytes(content or b""))
        yield Write(namespace, checkpoint_id, task_id, path, index, channel, value)


def _written(thread: _Thread, record: Record) -> list[Typed]:
    """What the writes of a checkpoint's parent add to the conversation."""
    if record.parent_id is None:
        return []
    writes = _writes(thread, record.namespace, record.parent_id)
    return [write.value for write in writes if write.channel == CHANNEL]


def _bytes(content: object, field: str) -> bytes:
    if isinstance(content, str):
        return content.encode()
    if not isinstance(content, bytes):
        raise FieldError(field, "must be bytes; it is NULL")
    return content
