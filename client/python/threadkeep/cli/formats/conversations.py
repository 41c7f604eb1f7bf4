"""Conversations in OpenAI's chat form: one to a record, or one to a file, and tau-bench's runs, which hold one each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ...formats.openai import clean, event_of, json_text, shown
from ...v1 import event_pb2, session_pb2
from .items import EventItem, FieldError, Item, Malformed, Origin, SessionStart
from .records import Record


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Values that the files lack. An empty `user_id`: that of the file, or `default_user`. `replace_state`: see StateItem."""

    prefix: str = ""
    user_id: str = ""
    app: str = ""
    never_expires: bool = False
    default_user: str = "import"
    replace_state: bool = False

    def start(self, origin: Origin, session_id: str, **fields: Any) -> SessionStart:
        """A session of this import; `fields` are the session's, and `user_id` and `app` if the file contains them."""
        ref = session_pb2.SessionRef(
            app=self.app or clean(fields.pop("app", "")),
            user_id=self.user_id or clean(fields.pop("user_id", "")) or self.default_user,
            session_id=clean(session_id),
        )
        fields.pop("user_id", None)
        fields.pop("app", None)
        return SessionStart(origin, session_pb2.Session(ref=ref, **fields), never_expires=self.never_expires)


def event_id(position: int) -> str:
    """Returns the id of the event at this position of its conversation, from 1: the same in every import."""
    return f"message-{position:05d}"


def read_openai(records: Iterable[Record | Malformed], options: ReadOptions) -> Iterator[Item]:
    """A record is a conversation (a list of messages, or an object with `messages`) or a message of the file's only one."""
    position = 0
    for record in records:
        if isinstance(record, Malformed):
            yield record
        elif isinstance(record.value, dict) and "messages" not in record.value:
            if not position:
                yield options.start(record.origin, options.prefix)
            position += 1
            yield from guarded(record, _message, position)
        elif position:
            yield Malformed(record.origin, "", "a conversation among the messages of one; a file holds either")
        else:
            yield from guarded(record, _conversation, options)


def read_tau_bench(records: Iterable[Record | Malformed], options: ReadOptions) -> Iterator[Item]:
    """A record is one run: `traj` holds its messages; task, trial and reward become labels, the rest metadata."""
    for record in records:
        if isinstance(record, Malformed):
            yield record
        else:
            yield from guarded(record, _run, options)


def guarded(record: Record, make: Callable[..., Iterable[Item]], *arguments: object) -> list[Item]:
    """Returns the items of a record, or only the problem if a field is invalid."""
    try:
        return list(make(record, *arguments))
    except FieldError as error:
        return [Malformed(record.origin, error.field, error.problem)]


def text_field(value: dict[str, Any], key: str) -> str:
    """Returns a field that is text, a number or absent, as text."""
    found = value.get(key)
    if found is None:
        return ""
    if isinstance(found, bool) or not isinstance(found, (str, int, float)):
        raise FieldError(key, f"must be text or a number; it is {shown(found)}")
    return str(found)


def _message(record: Record, position: int) -> Iterator[Item]:
    yield EventItem(record.origin, event_of(record.value, event_id(position)))


def _conversation(record: Record, options: ReadOptions) -> Iterator[Item]:
    value, field = record.value, ""
    fields: dict[str, Any] = {}
    session_id = f"{options.prefix}-{record.origin.record}"
    if isinstance(value, dict):
        session_id = text_field(value, "session_id") or session_id
        fields = {"user_id": text_field(value, "user_id") or text_field(value, "user"), "app": text_field(value, "app")}
        fields["labels"] = _labels(value.get("labels"))
        kept = {"session_id", "user_id", "user", "app", "labels", "metadata_json", "messages"}
        rest = {key: each for key, each in value.items() if key not in kept}
        fields["metadata_json"] = text_field(value, "metadata_json") or (json_text(rest) if rest else "")
        value, field = value["messages"], "messages"
    yield options.start(record.origin, session_id, **fields)
    yield from _events(record, value, field)


def _run(record: Record, options: ReadOptions) -> Iterator[Item]:
    value = record.value
    if not isinstance(value, dict) or "traj" not in value:
        raise FieldError("traj", "every record of a tau-bench file is an object with the messages under traj")
    labels = {key: text_field(value, key) for key in ("task_id", "trial", "reward") if value.get(key) is not None}
    info = value.get("info")
    task = info.get("task") if isinstance(info, dict) else None
    user_id = text_field(task, "user_id") if isinstance(task, dict) else ""
    run = f"-task{labels['task_id']}" if "task_id" in labels else f"-{record.origin.record}"
    trial = f"-trial{labels['trial']}" if "trial" in labels else ""
    rest = {key: each for key, each in value.items() if key != "traj"}
    yield options.start(
        record.origin, f"{options.prefix}{run}{trial}", user_id=user_id, labels=labels, metadata_json=json_text(rest)
    )
    yield from _events(record, value["traj"], "traj")


def _events(record: Record, messages: object, field: str) -> Iterator[EventItem]:
    if not isinstance(messages, list):
        raise FieldError(field, f"must be a list of messages; it is {shown(messages)}")
    for index, message in enumerate(messages):
        yield EventItem(record.origin, _event(message, index, f"{field}[{index}]"))


def _event(message: object, index: int, field: str) -> event_pb2.SessionEvent:
    return event_of(message, event_id(index + 1), field)


def _labels(value: object) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
        raise FieldError("labels", f"must be an object of texts; it is {shown(value)}")
    return {clean(key): clean(each) for key, each in value.items()}
