"""Conversion of removals of events."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

from google.protobuf.message import Message

from threadkeep.v1 import event_removal_pb2 as pb
from threadkeep.v1 import event_service_pb2, session_pb2

from ...domain import validation
from ...domain.errors import InvalidField
from ...domain.filters import EventFilter
from ...domain.removals import MOST_REMOVED, Operation, Removal
from ...service.removals import Removing
from ..wire.codec import published
from ..wire.wire_format import delimited, repeated
from .erasure import receipt_to
from .sessions import counters_to

_MODES = frozenset(pb.RemovalMode.values())
_EVENTS = delimited(1)
R = TypeVar(
    "R",
    pb.ClearEventsResponse,
    pb.EraseEventsResponse,
    pb.PopEventsResponse,
    pb.RewindSessionResponse,
    event_service_pb2.ReplaceSuffixResponse,
)


def removal_to(removal: Removal) -> pb.RemovalNotice:
    """Without the events that it added."""
    return pb.RemovalNotice(
        kind=pb.RemovalKind.ValueType(removal.kind),
        erased=removal.erased,
        removed=removal.count,
        event_ids=removal.event_ids,
        seqs=removal.seqs,
        through_seq=removal.through_seq,
        restored=removal.restored,
    )


def erases(field: str, mode: int) -> bool:
    """Whether the mode erases."""
    if mode not in _MODES:
        raise InvalidField(field, "must be REMOVAL_MODE_ARCHIVE or REMOVAL_MODE_ERASE")
    return mode == pb.REMOVAL_MODE_ERASE


def required_operation(request: Message, operation_id: str) -> Operation:
    """Like operation_of, for a request that must have an operation_id."""
    operation = operation_of(request, operation_id)
    if operation is None:
        raise InvalidField("operation_id", "is required")
    return operation


def operation_of(request: Message, operation_id: str) -> Operation | None:
    """Returns the operation of a request that has an operation_id, before anything in it is changed.

    The fingerprint covers what the caller sent, without the session, in which it is compared, and without the ids of new
    events, which clients generate.
    """
    if not operation_id:
        return None
    validation.identifier("operation_id", operation_id, required=True)
    sent = type(request)()
    sent.CopyFrom(request)
    sent.ClearField("session")
    sent.ClearField("operation_id")
    for event in getattr(sent, "events", ()):
        event.ClearField("event_id")
    name = request.DESCRIPTOR.full_name.encode()
    return Operation(operation_id, hashlib.sha256(name + b"\0" + sent.SerializeToString(deterministic=True)).digest())


def event_ids_of(field: str, ids: Sequence[str]) -> list[str]:
    """Checks a list of ids, at most MOST_REMOVED and without duplicates."""
    validation.count(field, ids, MOST_REMOVED)
    for index, event_id in enumerate(ids):
        validation.identifier(f"{field}[{index}]", event_id, required=True)
    if len(set(ids)) < len(ids):
        raise InvalidField(field, "must not have duplicates")
    return list(ids)


def erased_filter(request: pb.EraseEventsRequest) -> EventFilter | None:
    """Returns the events to erase; None if the request names them. Raises InvalidField unless there is one selection."""
    chosen = [name for name in ("event_ids", "invocation_ids", "branch") if getattr(request, name)]
    if len(chosen) > 1:
        raise InvalidField(chosen[1], f"and {chosen[0]} are mutually exclusive")
    if request.branch:
        return EventFilter(branch=validation.branch("branch", request.branch), exact_branch=True)
    if not request.invocation_ids:
        return None
    validation.count("invocation_ids", request.invocation_ids, validation.MAX_INVOCATIONS)
    names = (
        validation.identifier(f"invocation_ids[{i}]", each, required=True) for i, each in enumerate(request.invocation_ids)
    )
    return EventFilter(invocation_ids=frozenset(names))


def branch_of(request: pb.PopEventsRequest | event_service_pb2.ReplaceSuffixRequest) -> str | None:
    return validation.branch("branch", request.branch) if request.HasField("branch") else None


def version_of(
    request: pb.PopEventsRequest | pb.ClearEventsRequest | pb.EraseEventsRequest | pb.RewindSessionRequest,
) -> int | None:
    return request.expected_log_version if request.HasField("expected_log_version") else None


def finished(response: R, done: Removing) -> R:
    """Sets what all responses have."""
    versions = done.removed.outcome.versions
    response.log_version = versions.log_version
    response.window_version = versions.window_version
    response.replayed = done.removed.replayed
    if done.receipt is not None:
        response.receipt.CopyFrom(receipt_to(done.receipt))
    return response


def window_to(done: Removing) -> session_pb2.WindowCounters:
    return counters_to(done.removed.outcome.versions.window)


def pop_response(done: Removing) -> bytes:
    """Encodes the response from stored bytes."""
    rest = finished(pb.PopEventsResponse(window=window_to(done)), done)
    return repeated(_EVENTS, map(published, done.removed.events)) + rest.SerializeToString()
