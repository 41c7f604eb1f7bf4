"""The channel of `raw`; `raw_aio` does the same for the asynchronous client, whose interceptors have another interface."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import grpc

from .credential_threads import Credential

Channel = grpc.Channel


class _Details(NamedTuple):
    """What gRPC reads of a call."""

    method: str
    timeout: float | None
    metadata: Sequence[tuple[str, str | bytes]] | None
    credentials: grpc.CallCredentials | None
    wait_for_ready: bool | None
    compression: grpc.Compression | None


class _Sender(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor, grpc.StreamStreamClientInterceptor):
    """Completes a call with the client's token and, if it is no stream, with its deadline."""

    def __init__(self, credential: Credential, seconds: float) -> None:
        self._credential = credential
        self._timeout = None if seconds == math.inf else seconds

    def _completed(self, details: Any, *, deadline: bool = False) -> _Details:
        metadata = (*(details.metadata or ()), *self._credential.metadata())
        timeout = self._timeout if deadline and details.timeout is None else details.timeout
        rest = details.credentials, details.wait_for_ready, details.compression
        return _Details(details.method, timeout, metadata, *rest)

    def intercept_unary_unary(self, continuation: Callable[..., Any], client_call_details: Any, request: Any) -> Any:
        return continuation(self._completed(client_call_details, deadline=True), request)

    def intercept_unary_stream(self, continuation: Callable[..., Any], client_call_details: Any, request: Any) -> Any:
        return continuation(self._completed(client_call_details), request)

    def intercept_stream_stream(self, continuation: Callable[..., Any], client_call_details: Any, request_iterator: Any) -> Any:
        return continuation(self._completed(client_call_details), request_iterator)


def raw_channel(
    target: str,
    credentials: grpc.ChannelCredentials | None,
    options: Sequence[tuple[str, Any]],
    credential: Credential,
    seconds: float,
) -> Channel:
    """Returns a channel whose calls send the token, and have a deadline unless they are streams. The API has no stream of
    requests with one response."""
    if credentials is None:
        channel = grpc.insecure_channel(target, options)
    else:
        channel = grpc.secure_channel(target, credentials, options)
    return grpc.intercept_channel(channel, _Sender(credential, seconds))
