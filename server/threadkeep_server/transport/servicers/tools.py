"""threadkeep.v1.ToolService."""

from __future__ import annotations

from threadkeep.v1 import tool_service_pb2 as pb

from ...domain import validation
from ...domain.errors import InvalidField
from ...domain.model import Caller
from ...service.tools.tools import RecallTools
from ..convert.search import tool_ref_of


class ToolServicer:
    def __init__(self, tools: RecallTools) -> None:
        self._tools = tools

    async def ListTools(self, _: pb.ListToolsRequest, __: Caller) -> pb.ListToolsResponse:
        return pb.ListToolsResponse(
            tools=[
                pb.ToolDefinition(
                    name=each.name,
                    description=each.description,
                    parameters_json_schema=each.parameters_json_schema,
                    declared=each.declared,
                )
                for each in self._tools.definitions()
            ]
        )

    async def CallTool(self, request: pb.CallToolRequest, caller: Caller) -> pb.CallToolResponse:
        name = validation.identifier("name", request.name, required=True)
        if len(request.arguments_json.encode()) > validation.MAX_JSON_BYTES:
            raise InvalidField("arguments_json", f"must have at most {validation.MAX_JSON_BYTES} bytes")
        result = await self._tools.call(caller, tool_ref_of(request.session), name, request.arguments_json)
        return pb.CallToolResponse(result_json=result.result_json, is_error=result.is_error)
