"""Schema-Guided Dialogue: task dialogues between a user and a system, with the services they are about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...formats.openai import clean, json_text, shown, verbatim
from ...v1 import event_pb2, message_pb2
from .conversations import ReadOptions, event_id, guarded, text_field
from .items import EventItem, FieldError, Item, Malformed
from .records import Record

NATIVE = "sgd.turn/1"
_ROLES = {"USER": message_pb2.ROLE_USER, "SYSTEM": message_pb2.ROLE_ASSISTANT}


def read_sgd(records: Iterable[Record | Malformed], options: ReadOptions) -> Iterator[Item]:
    """A record is one dialogue; each turn is an event, its annotations kept as native content."""
    for record in records:
        if isinstance(record, Malformed):
            yield record
        else:
            yield from guarded(record, _dialogue, options)


def _dialogue(record: Record, options: ReadOptions) -> Iterator[Item]:
    value = record.value
    if not isinstance(value, dict) or not isinstance(value.get("turns"), list):
        raise FieldError("turns", "every record of an SGD file is an object with a list of turns")
    dialogue_id = text_field(value, "dialogue_id")
    if not dialogue_id:
        raise FieldError("dialogue_id", "must name the dialogue")
    services = value.get("services", [])
    if not isinstance(services, list) or not all(isinstance(each, str) for each in services):
        raise FieldError("services", f"must be a list of names; it is {shown(services)}")
    labels = {"dialogue_id": dialogue_id, **{f"service.{clean(each)}": "yes" for each in services}}
    rest = {key: each for key, each in value.items() if key != "turns"}
    session_id = f"{options.prefix}-{dialogue_id}"
    yield options.start(record.origin, session_id, labels=labels, metadata_json=json_text(rest))
    for index, turn in enumerate(value["turns"]):
        yield EventItem(record.origin, _event(turn, index))


def _event(turn: object, index: int) -> event_pb2.SessionEvent:
    field = f"turns[{index}]"
    if not isinstance(turn, dict):
        raise FieldError(field, "a turn is an object with speaker and utterance")
    speaker, utterance = turn.get("speaker"), turn.get("utterance")
    role = _ROLES.get(speaker) if isinstance(speaker, str) else None
    if role is None:
        raise FieldError(f"{field}.speaker", f"must be USER or SYSTEM; it is {shown(speaker)}")
    if not isinstance(utterance, str):
        raise FieldError(f"{field}.utterance", f"must be text; it is {shown(utterance)}")
    part = message_pb2.Part(text=clean(utterance))
    return event_pb2.SessionEvent(
        event_id=event_id(index + 1),
        message=message_pb2.ChatMessage(role=role, parts=[part]),
        native=event_pb2.NativeContent(format=NATIVE, content=verbatim(turn)),
    )
