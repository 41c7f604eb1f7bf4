"""Converts domain errors to google.rpc.Status. Clients receive only the content of a domain error."""

from __future__ import annotations

import logging
import math

from google.protobuf import any_pb2, duration_pb2
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2

from ..domain.errors import (
    ConsumerNotFound,
    EventNotFound,
    Internal,
    Kind,
    RateLimited,
    ServerDraining,
    SessionAlreadyExists,
    SessionNotFound,
    StoreUnavailable,
    ThreadkeepError,
    WatchTooSlow,
)
from ..telemetry.rpcs import request_id

DOMAIN = "threadkeep.dev"
_RETRY_AFTER_S = 1
# By error: the resource type, and the key of the metadata that holds the resource name.
_RESOURCES = {
    ConsumerNotFound: ("threadkeep.v1.Consumer", "name"),
    EventNotFound: ("threadkeep.v1.SessionEvent", "event_id"),
    SessionAlreadyExists: ("threadkeep.v1.Session", "session_id"),
    SessionNotFound: ("threadkeep.v1.Session", "session_id"),
}
_log = logging.getLogger(__name__)


def as_domain_error(exc: Exception) -> ThreadkeepError:
    """Returns the error itself, or Internal with a request id. The log has the original error under this id."""
    if isinstance(exc, ThreadkeepError):
        return exc
    error = Internal(request_id())
    _log.error("unhandled error", exc_info=exc, extra=error.metadata)
    return error


def release(error: BaseException) -> None:
    """Drops the tracebacks of a reported error and of the errors behind it. Their frames hold the request; where a frame also
    holds the error, all of it would stay in memory until the garbage collector runs."""
    left: list[BaseException | None] = [error]
    seen: set[int] = set()
    while left:
        each = left.pop()
        if each is not None and id(each) not in seen:
            seen.add(id(each))
            each.__traceback__ = None
            left += (each.__cause__, each.__context__)


def status_of(error: ThreadkeepError) -> status_pb2.Status:
    """Returns a status with exactly one ErrorInfo, and BadRequest, RetryInfo or ResourceInfo where applicable."""
    info = error_details_pb2.ErrorInfo(reason=error.reason, domain=DOMAIN, metadata=error.metadata)
    details: list[Message] = [info]
    if error.kind is Kind.INVALID_ARGUMENT and "field" in error.metadata:
        violation = error_details_pb2.BadRequest.FieldViolation(field=error.metadata["field"], description=error.message)
        details.append(error_details_pb2.BadRequest(field_violations=[violation]))
    elif resource := _RESOURCES.get(type(error)):
        kind, name = resource
        details.append(error_details_pb2.ResourceInfo(resource_type=kind, resource_name=error.metadata[name]))
    elif isinstance(error, ServerDraining | StoreUnavailable | RateLimited | WatchTooSlow):
        delay = math.ceil(error.retry_after_s) if isinstance(error, RateLimited) else _RETRY_AFTER_S
        details.append(error_details_pb2.RetryInfo(retry_delay=duration_pb2.Duration(seconds=delay)))
    return status_pb2.Status(code=error.kind.value, message=error.message, details=[_packed(each) for each in details])


def _packed(message: Message) -> any_pb2.Any:
    packed = any_pb2.Any()
    packed.Pack(message)
    return packed
