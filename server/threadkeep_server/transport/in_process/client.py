"""A client of the services of this process: the SDK's, on a channel that calls the servicers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, cast

import grpc
import grpc.aio
from google.protobuf.message import Message

from threadkeep import AsyncClient
from threadkeep._async.connection import _Stubs

from ...domain.model import Caller
from ..errors import as_domain_error, status_of
from ..rpc import Method, Service

_CODES = {code.value[0]: code for code in grpc.StatusCode}

Call = Callable[..., Awaitable[Message]]


class InProcessClient(AsyncClient):
    """A client that acts as a caller. Its calls pass neither limits nor quotas, and are not audited."""

    def __init__(self, services: Sequence[Service], caller: Caller) -> None:
        super().__init__("127.0.0.1", token="")
        self._own = _Stubs("in process", cast("grpc.aio.Channel", _Channel(services, caller)))

    async def _stubs(self) -> _Stubs:
        return self._own

    async def close(self) -> None:
        """Does nothing: there is no connection."""


class _Channel:
    """What generated stubs need of a channel. It has unary calls only."""

    def __init__(self, services: Sequence[Service], caller: Caller) -> None:
        self._methods = {method.path: method for service in services for method in service.methods()}
        self._caller = caller

    def unary_unary(self, path: str, **_: Any) -> Call:
        method = self._methods.get(path)
        return _missing if method is None or method.streaming else self._unary(method)

    def unary_stream(self, path: str, **_: Any) -> Call:
        return _missing

    stream_unary = stream_stream = unary_stream

    def _unary(self, method: Method) -> Call:
        async def call(request: Message, **_: Any) -> Message:
            try:
                response = await method.call(request, self._caller)
            except Exception as exc:
                raise _rpc_error(exc) from exc
            return method.response_type.FromString(response) if isinstance(response, bytes) else cast("Message", response)

        return call


async def _missing(*_: Any, **__: Any) -> Message:
    raise NotImplementedError("a client in the process has unary calls only")


def _rpc_error(exc: Exception) -> grpc.aio.AioRpcError:
    status = status_of(as_domain_error(exc))
    trailing = grpc.aio.Metadata(("grpc-status-details-bin", status.SerializeToString()))
    return grpc.aio.AioRpcError(_CODES[status.code], grpc.aio.Metadata(), trailing, status.message)


async def single(item: Any) -> AsyncIterator[Any]:
    """Yields one item."""
    yield item
