"""The channel of `raw`; `raw_threads` does the same for the synchronous client, whose interceptors have another interface."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import grpc
import grpc.aio

from .credential_aio import Credential

Channel = grpc.aio.Channel


class _Sender:
    """Completes a call with the client's token and, if it is no stream, with its deadline."""

    def __init__(self, credential: Credential, seconds: float) -> None:
        self._credential = credential
        self._timeout = None if seconds == math.inf else seconds

    async def _completed(self, details: Any, *, deadline: bool = False) -> grpc.aio.ClientCallDetails:
        metadata = grpc.aio.Metadata(*(details.metadata or ()), *await self._credential.metadata())
        timeout = self._timeout if deadline and details.timeout is None else details.timeout
        return grpc.aio.ClientCallDetails(details.method, timeout, metadata, details.credentials, details.wait_for_ready)


class _UnaryUnary(_Sender, grpc.aio.UnaryUnaryClientInterceptor):
    async def intercept_unary_unary(self, continuation: Callable[..., Any], client_call_details: Any, request: Any) -> Any:
        return await continuation(await self._completed(client_call_details, deadline=True), request)


class _UnaryStream(_Sender, grpc.aio.UnaryStreamClientInterceptor):
    async def intercept_unary_stream(self, continuation: Callable[..., Any], client_call_details: Any, request: Any) -> Any:
        return await continuation(await self._completed(client_call_details), request)


class _StreamStream(_Sender, grpc.aio.StreamStreamClientInterceptor):
    async def intercept_stream_stream(
        self, continuation: Callable[..., Any], client_call_details: Any, request_iterator: Any
    ) -> Any:
        return await continuation(await self._completed(client_call_details), request_iterator)


def raw_channel(
    target: str,
    credentials: grpc.ChannelCredentials | None,
    options: Sequence[tuple[str, Any]],
    credential: Credential,
    seconds: float,
) -> Channel:
    """Returns a channel whose calls send the token, and have a deadline unless they are streams. The API has no stream of
    requests with one response."""
    kinds = (_UnaryUnary, _UnaryStream, _StreamStream)
    interceptors: list[Any] = [kind(credential, seconds) for kind in kinds]
    if credentials is None:
        return grpc.aio.insecure_channel(target, options, interceptors=interceptors)
    return grpc.aio.secure_channel(target, credentials, options, interceptors=interceptors)
