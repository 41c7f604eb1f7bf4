"""The methods of threadkeep.v1.EventService that remove events."""

from __future__ import annotations

from threadkeep.v1 import event_removal_pb2 as pb
from threadkeep.v1 import event_service_pb2

from ...domain import validation
from ...domain.model import Caller
from ...service.removals import RemovalOptions, RemovalService
from ..convert.events import DraftMaker, drafts_of
from ..convert.forks import point_of
from ..convert.removals import (
    branch_of,
    erased_filter,
    erases,
    event_ids_of,
    finished,
    operation_of,
    pop_response,
    required_operation,
    version_of,
    window_to,
)
from ..convert.sessions import ref_of


class RemovalMethods:
    def __init__(self, removals: RemovalService, limits: validation.Limits, make_draft: DraftMaker) -> None:
        self._removals = removals
        self._limits = limits
        self._make_draft = make_draft

    async def PopEvents(self, request: pb.PopEventsRequest, caller: Caller) -> bytes:
        operation = required_operation(request, request.operation_id)
        options = RemovalOptions(erases("mode", request.mode), version_of(request), operation)
        ref = ref_of(request.session)
        return pop_response(await self._removals.pop(caller, ref, request.count, branch_of(request), options))

    async def ClearEvents(self, request: pb.ClearEventsRequest, caller: Caller) -> pb.ClearEventsResponse:
        operation = required_operation(request, request.operation_id)
        options = RemovalOptions(erases("mode", request.mode), version_of(request), operation)
        done = await self._removals.clear(caller, ref_of(request.session), options)
        outcome = done.removed.outcome
        return finished(pb.ClearEventsResponse(removed=outcome.removed, last_seq=outcome.versions.last_seq), done)

    async def RewindSession(self, request: pb.RewindSessionRequest, caller: Caller) -> pb.RewindSessionResponse:
        operation = required_operation(request, request.operation_id)
        options = RemovalOptions(erases("mode", request.mode), version_of(request), operation)
        ref, point = ref_of(request.session), point_of(request)
        done = await self._removals.rewind(caller, ref, point, options, always=request.always)
        outcome = done.removed.outcome
        response = pb.RewindSessionResponse(
            removed=outcome.removed,
            restored=outcome.restored,
            last_seq=outcome.versions.last_seq,
            window=window_to(done),
        )
        return finished(response, done)

    async def EraseEvents(self, request: pb.EraseEventsRequest, caller: Caller) -> pb.EraseEventsResponse:
        options = RemovalOptions(True, version_of(request), operation_of(request, request.operation_id))
        event_ids, wanted = event_ids_of("event_ids", request.event_ids), erased_filter(request)
        if wanted is None:
            done = await self._removals.erase(caller, ref_of(request.session), event_ids, options)
        else:
            done = await self._removals.erase_matching(caller, ref_of(request.session), wanted, options)
        response = pb.EraseEventsResponse(erased=done.removed.outcome.removed, window=window_to(done), more=done.more)
        return finished(response, done)

    async def ReplaceSuffix(
        self, request: event_service_pb2.ReplaceSuffixRequest, caller: Caller
    ) -> event_service_pb2.ReplaceSuffixResponse:
        operation = required_operation(request, request.operation_id)
        options = RemovalOptions(erases("mode", request.mode), operation=operation)
        expected = event_ids_of("expected_event_ids", request.expected_event_ids)
        drafts = drafts_of(request.events, self._limits, self._make_draft)
        ref = ref_of(request.session)
        done = await self._removals.replace_suffix(caller, ref, expected, drafts, branch_of(request), options)
        outcome = done.removed.outcome
        response = event_service_pb2.ReplaceSuffixResponse(
            removed=outcome.removed, last_seq=outcome.versions.last_seq, window=window_to(done)
        )
        for event_id, seq, replayed in outcome.added:
            response.events.add(event_id=event_id, seq=seq, replayed=replayed or done.removed.replayed)
        return finished(response, done)
