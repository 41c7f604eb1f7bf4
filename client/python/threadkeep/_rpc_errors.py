"""The typed errors of what gRPC raises."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeVar, cast

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.message import DecodeError
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status

from .errors import (
    BY_REASON,
    DeadlineExceeded,
    FieldViolation,
    Internal,
    PermissionDenied,
    ThreadkeepError,
    Unauthenticated,
    Unavailable,
)

Answer = TypeVar("Answer")

DOMAIN = "threadkeep.dev"
"""The domain of a Threadkeep server's ErrorInfo; proxies use others."""
_BY_CODE: Mapping[grpc.StatusCode, type[ThreadkeepError]] = {
    grpc.StatusCode.UNAVAILABLE: Unavailable,
    grpc.StatusCode.DEADLINE_EXCEEDED: DeadlineExceeded,
    grpc.StatusCode.UNAUTHENTICATED: Unauthenticated,
    grpc.StatusCode.PERMISSION_DENIED: PermissionDenied,
    grpc.StatusCode.INTERNAL: Internal,
}
_BROKEN = ("from Core", "RST_STREAM", "Stream removed")
_OWN = ("Channel closed", "Locally cancel")
"""gRPC's messages for a call that this side canceled."""
_TOO_LARGE = re.compile(r"Sent message larger than max \((\d+) vs\. (\d+)\)")
"""gRPC's message for a request that this side does not send."""


class _Details(NamedTuple):
    """The details of a status. `info`: only a Threadkeep server's."""

    info: ErrorInfo | None = None
    retry_after: float | None = None
    violations: tuple[FieldViolation, ...] = ()


def from_rpc_error(error: grpc.RpcError, address: str) -> ThreadkeepError:
    """The typed error of an error that gRPC raised."""
    call = cast("grpc.Call", error)
    code, message = call.code(), call.details() or ""
    info, retry_after, violations = _details(call)
    if info is not None:
        return BY_REASON.get(info.reason, ThreadkeepError)(
            message,
            reason=info.reason,
            code=code,
            metadata=info.metadata,
            violations=violations,
            retry_after=retry_after,
        )
    if code in (grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN) and any(words in message for words in _BROKEN):
        # gRPC's messages for a broken connection; errors of the server have an ErrorInfo.
        code = grpc.StatusCode.UNAVAILABLE
    if code is grpc.StatusCode.CANCELLED and not any(words in message for words in _OWN):
        message = f"{address} canceled the call ({message})"
        return Unavailable(message, code=grpc.StatusCode.UNAVAILABLE, retry_after=retry_after)
    message = _unavailable(address, message) if code is grpc.StatusCode.UNAVAILABLE else message
    if too_large := _TOO_LARGE.search(message):
        size, most = map(int, too_large.groups())
        message = f"the request has {size:,} bytes, and a call may send {most:,}; send fewer or smaller events"
    kind = _BY_CODE.get(code, ThreadkeepError)
    return kind(message or code.name, code=code, violations=violations, retry_after=retry_after)


def readable(answer: Answer | None) -> Answer:
    """The response. For invalid bytes grpc.aio returns None; the synchronous client raises INTERNAL."""
    if answer is None:
        raise ThreadkeepError("the server's answer could not be read", code=grpc.StatusCode.INTERNAL)
    return answer


def _unavailable(address: str, message: str) -> str:
    """The message for an unreachable server, with the cause that gRPC reports."""
    if "http1.x server" in message:
        return f"{address} speaks HTTP, not gRPC: give the server's gRPC port, by default 7443, as the address"
    why = message.rpartition(": ")[2].strip("[]() ")
    return f"no server at {address} ({why}); start one with `threadkeep serve`"


def _details(call: grpc.Call) -> _Details:
    packed = next((value for key, value in call.trailing_metadata() or () if key == "grpc-status-details-bin"), b"")
    try:
        return _unpacked(Status.FromString(cast("bytes", packed)).details)
    except DecodeError:
        return _Details()


def _unpacked(details: Iterable[AnyMessage]) -> _Details:
    found = _Details()
    info, retry, bad = ErrorInfo(), RetryInfo(), BadRequest()
    for detail in details:
        if detail.Unpack(info) and info.domain == DOMAIN:
            found = found._replace(info=info)
            info = ErrorInfo()
        elif detail.Unpack(retry):
            found = found._replace(retry_after=retry.retry_delay.ToTimedelta().total_seconds())
        elif detail.Unpack(bad):
            violations = tuple(FieldViolation(each.field, each.description) for each in bad.field_violations)
            found = found._replace(violations=violations)
    return found
