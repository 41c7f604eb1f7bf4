"""Encodes requests to webhooks and decodes their plans, as JSON of the protos."""

from __future__ import annotations

import hashlib

from threadkeep.v1 import compaction_pb2, event_pb2

from ...domain import validation
from ...service.compaction.webhooks import DecodedPlan, EncodedRequest, PlanRequest
from ..wire.json_codec import from_json, to_json
from .compaction import plan_of
from .events import DraftMaker
from .sessions import counters_to, ref_to
from .strategies import trigger_to

# Room for the fields that are not events: two ids, a session's names and a trigger.
_FIELDS_BYTES = 64 << 10


class WebhookEncoder:
    """Implements service.compaction.webhooks.PlanEncoder."""

    def __init__(self, limits: validation.Limits, make_draft: DraftMaker, max_request_bytes: int) -> None:
        self._limits = limits
        self._make_draft = make_draft
        self._room = max_request_bytes - _FIELDS_BYTES

    def encode(self, request: PlanRequest) -> EncodedRequest:
        events, size = [], 0
        for event in request.read.events:
            text = to_json(event_pb2.SessionEvent.FromString(request.read.bodies[event.event_id]))
            size += len(text) + 1
            if size > self._room:
                break
            events.append(text)
        fields = _fields(request)
        fields.truncated = len(events) < len(request.read.events)
        # The events are encoded once: as long as their text takes, other calls wait.
        rest = to_json(fields)[1:-1] + b',"events":[' + b",".join(events) + b"]}"
        request_id = hashlib.sha256(rest).hexdigest()
        return EncodedRequest(request_id, b'{"requestId":"' + request_id.encode() + b'",' + rest, len(events))

    def decode(self, answer: bytes, branch: str) -> DecodedPlan:
        plan = from_json(answer, compaction_pb2.CompactionPlan, self._limits.max_request_fields)
        return DecodedPlan(*plan_of(plan, branch, self._limits, self._make_draft))


def _fields(request: PlanRequest) -> compaction_pb2.CompactionPlanRequest:
    session = request.read.session
    fields = compaction_pb2.CompactionPlanRequest(
        webhook=request.webhook,
        tenant=request.tenant,
        session=ref_to(session.ref),
        log_version=session.log_version,
        window_version=session.window_version,
        branch=request.branch,
        window=counters_to(session.window),
    )
    if request.trigger is not None:
        fields.trigger.CopyFrom(trigger_to(request.trigger))
    return fields
