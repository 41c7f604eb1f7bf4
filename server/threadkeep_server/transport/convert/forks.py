"""Conversion of forks, and of points in the history of a session."""

from __future__ import annotations

from threadkeep.v1 import event_removal_pb2 as removal_pb
from threadkeep.v1 import session_service_pb2 as pb

from ...domain import validation
from ...domain.errors import InvalidField
from ...service.forks import ForkDraft
from ...service.points import Point
from ...store.contract.history import AsOf
from .sessions import expiry_of


def point_of(request: pb.ForkSessionRequest | removal_pb.RewindSessionRequest) -> Point:
    kind = request.WhichOneof("point")
    if kind == "at_seq":
        return Point(AsOf(seq=request.at_seq, prefix="at_"))
    if kind == "at_log_version":
        return Point(AsOf(log_version=request.at_log_version, prefix="at_"))
    if kind == "at_event_id":
        return Point(event_id=validation.identifier(kind, request.at_event_id, required=True))
    if kind == "at_invocation_id":
        return Point(invocation_id=validation.identifier(kind, request.at_invocation_id, required=True))
    return Point()


def fork_draft(request: pb.ForkSessionRequest) -> ForkDraft:
    context_bytes = request.context_bytes if request.HasField("context_bytes") else None
    if context_bytes is not None and context_bytes < 0:
        raise InvalidField("context_bytes", "must not be negative")
    metadata = validation.json_object("metadata_json", request.metadata_json)
    return ForkDraft(
        session_id=validation.identifier("new_session_id", request.new_session_id),
        expiry=expiry_of(request.expiry),
        metadata_json=metadata if request.HasField("metadata_json") else None,
        labels=validation.labels("labels", request.labels),
        without_labels=request.without_parent_labels,
        context_bytes=context_bytes,
    )
