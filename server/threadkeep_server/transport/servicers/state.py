"""threadkeep.v1.StateService."""

from __future__ import annotations

from threadkeep.v1 import state_service_pb2 as pb

from ...domain import validation
from ...domain.model import Caller
from ...service.state import StateService
from ..convert.state import name_of, patch_of, query_of, state_to


class StateServicer:
    def __init__(self, states: StateService, limits: validation.Limits) -> None:
        self._states = states
        self._limits = limits

    async def GetState(self, request: pb.GetStateRequest, caller: Caller) -> pb.GetStateResponse:
        name = name_of(request)
        page = await self._states.get(caller, name, query_of(request, name.scope, self._limits.max_response_bytes))
        return pb.GetStateResponse(state=state_to(page), next_key=max(page.values, key=str.encode) if page.more else "")

    async def PatchState(self, request: pb.PatchStateRequest, caller: Caller) -> pb.PatchStateResponse:
        expected = request.expected_version if request.HasField("expected_version") else None
        patch = patch_of("patch", request.patch)
        return pb.PatchStateResponse(version=await self._states.patch(caller, name_of(request), patch, expected))
