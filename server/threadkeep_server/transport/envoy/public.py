"""Health and reflection, for the ASGI front end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from types import SimpleNamespace
from typing import Any

from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection, reflection_pb2

from ...domain.model import Caller
from ...domain.roles import ANY, OPS
from ..rpc import Service
from .frames import NOT_FOUND, StatusError

_HEALTH = health_pb2.DESCRIPTOR.services_by_name["Health"]
_REFLECTION = reflection_pb2.DESCRIPTOR.services_by_name["ServerReflection"]


class HealthServicer:
    """The health of the server: all services have the same."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = frozenset({"", *names})
        self._status = health_pb2.HealthCheckResponse.SERVING
        self._changed = asyncio.Event()

    def drain(self) -> None:
        self._status = health_pb2.HealthCheckResponse.NOT_SERVING
        self._changed.set()

    async def Check(self, request: Any, _: Caller) -> Any:
        if request.service not in self._names:
            raise StatusError(NOT_FOUND, f"{request.service!r} is not a service of this server")
        return health_pb2.HealthCheckResponse(status=self._status)

    async def List(self, _request: Any, _: Caller) -> Any:
        status = health_pb2.HealthCheckResponse(status=self._status)
        return health_pb2.HealthListResponse(statuses=dict.fromkeys(self._names, status))

    async def Watch(self, request: Any, _: Caller) -> AsyncIterator[Any]:
        if request.service not in self._names:
            yield health_pb2.HealthCheckResponse(status=health_pb2.HealthCheckResponse.SERVICE_UNKNOWN)
        else:
            yield health_pb2.HealthCheckResponse(status=self._status)
            await self._changed.wait()
            yield health_pb2.HealthCheckResponse(status=self._status)
        await asyncio.Event().wait()


def health_service(servicer: HealthServicer) -> Service:
    return Service(_HEALTH, servicer, role=ANY)


def reflection_service(names: Sequence[str]) -> Service:
    servicer = reflection.aio.ReflectionServicer([*names, _HEALTH.full_name, _REFLECTION.full_name])
    return Service(
        _REFLECTION,
        SimpleNamespace(ServerReflectionInfo=lambda requests, _: servicer.ServerReflectionInfo(requests, None)),
        role=OPS,
    )
