"""Guards services of gRPC's own libraries, channelz and reflection: only callers that are admitted reach them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import grpc

# Any: the messages are those of the library.
Admit = Callable[[str, grpc.aio.ServicerContext[Any, Any]], Awaitable[None]]
"""Ends the call of a method, given by its path, unless its caller may make it."""


class ForOperators:
    """Registers services of the libraries at a server, each behind `admit`. The libraries take it for the server."""

    def __init__(self, server: grpc.aio.Server, admit: Admit) -> None:
        self._server = server
        self._admit = admit

    def add_generic_rpc_handlers(self, handlers: Sequence[Any]) -> None:
        guarded: tuple[Any, ...] = tuple(_Guarded(each, self._admit) for each in handlers)
        self._server.add_generic_rpc_handlers(guarded)

    def add_registered_method_handlers(self, *_: object) -> None:
        """Ignores them: they would pass by the guard."""


class _Guarded:
    def __init__(self, inner: Any, admit: Admit) -> None:
        self._inner = inner
        self._admit = admit

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        handler = self._inner.service(handler_call_details)
        if handler is None:
            return None
        path = handler_call_details.method
        if handler.stream_stream is not None:
            return handler._replace(stream_stream=self._stream(path, handler.stream_stream))
        return handler._replace(unary_unary=self._unary(path, handler.unary_unary))

    def _unary(self, path: str, call: Any) -> Any:
        async def unary(request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> Any:
            await self._admit(path, context)
            return await call(request, context)

        return unary

    def _stream(self, path: str, call: Any) -> Any:
        async def stream(requests: Any, context: grpc.aio.ServicerContext[Any, Any]) -> AsyncIterator[Any]:
            await self._admit(path, context)
            async for response in call(requests, context):
                yield response

        return stream
