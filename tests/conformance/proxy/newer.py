"""What a server of a later version would say: fields, kinds, enum numbers and reasons that this version does not know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status

from threadkeep.v1.subscription_pb2 import Change, Checkpoint
from threadkeep.v1.subscription_service_pb2 import WatchAllResponse, WatchSessionResponse

from ..messages import BY_PATH, is_map, map_value

REASON = "SOMETHING_NEW"
CHECKPOINT_KIND = 99
"""The kind of a checkpoint that this version has no name for."""

_FIELDS = b"\xf8\x7c\x2a" + b"\xf2\x7c\x05later"
"""Field 1999, a number, and field 1998, a text."""
_KIND = b"\xba\x3e\x07\x0a\x05later"
"""Field 999, a message: an arm of the oneof that this version lacks."""
_DETAILS = "grpc-status-details-bin"
Metadata = tuple[tuple[str, str | bytes], ...]


def response(path: str, data: bytes) -> bytes:
    """This response with unknown fields in every message of it; of a watch, with changes of kinds that are unknown, too."""
    message = BY_PATH[path].response.FromString(data)
    if isinstance(message, WatchSessionResponse | WatchAllResponse):
        changes = list(message.changes)
        del message.changes[:]
        message.changes.extend(_among(changes))
    _extend(message)
    return message.SerializeToString()


def _among(changes: Sequence[Change]) -> list[Change]:
    """The changes, and after each that has a token and is whole one of an unknown kind and a checkpoint of an unknown kind."""
    found: list[Change] = []
    for change in changes:
        found.append(change)
        if change.resume_token and not change.batch.continues and not change.compaction.continues:
            unknown = Change(session=change.session, resume_token=change.resume_token)
            unknown.MergeFromString(_KIND)
            checkpoint = Change(checkpoint=Checkpoint(), resume_token=change.resume_token)
            checkpoint.checkpoint.MergeFromString(bytes((8, CHECKPOINT_KIND)))
            found += [unknown, checkpoint]
    return found


def _extend(message: Message) -> None:
    for field, value in message.ListFields():
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            for each in _messages(field, value):
                _extend(each)
    message.MergeFromString(_FIELDS)


def _messages(field: FieldDescriptor, value: Any) -> Sequence[Message]:
    if is_map(field):
        texts = map_value(field).type != FieldDescriptor.TYPE_MESSAGE
        return [] if texts else list(value.values())
    return list(value) if field.is_repeated else [value]


def reason(trailing: Metadata) -> Metadata:
    """The details of an error with a reason that this version does not know."""
    return tuple((key, _unknown(value) if key == _DETAILS else value) for key, value in trailing)


def _unknown(packed: str | bytes) -> bytes:
    assert isinstance(packed, bytes)
    status = Status.FromString(packed)
    for detail in status.details:
        info = ErrorInfo()
        if detail.Unpack(info):
            info.reason = REASON
            detail.Pack(info)
    return status.SerializeToString()
