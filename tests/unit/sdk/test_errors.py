from __future__ import annotations

import pickle
from typing import Any

import grpc
import pytest
from google.protobuf.any_pb2 import Any as AnyProto
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status

from threadkeep import ErrorReason, ThreadkeepError, errors
from threadkeep._rpc_errors import from_rpc_error, readable
from threadkeep.v1.event_service_pb2 import AppendError, AppendStreamResult


class Raised(grpc.RpcError):
    """The error that a call of either client raises."""

    def __init__(self, code: grpc.StatusCode, details: str, trailers: list[tuple[str, bytes]] | None = None) -> None:
        self._code, self._details, self._trailers = code, details, trailers

    def code(self) -> grpc.StatusCode:
        return self._code

    def details(self) -> str:
        return self._details

    def trailing_metadata(self) -> Any:
        return self._trailers


def test_there_is_a_class_for_each_reason_and_no_other() -> None:
    names = {name.removeprefix("ERROR_REASON_") for name in ErrorReason.keys()} - {"UNSPECIFIED"}  # noqa: SIM118
    assert set(errors.BY_REASON) == names
    for reason, cls in errors.BY_REASON.items():
        assert cls.__name__ == "".join(word.capitalize() for word in reason.split("_"))
        assert cls.reason == reason


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (grpc.StatusCode.UNAVAILABLE, errors.Unavailable),
        (grpc.StatusCode.DEADLINE_EXCEEDED, errors.DeadlineExceeded),
        (grpc.StatusCode.UNAUTHENTICATED, errors.Unauthenticated),
        (grpc.StatusCode.PERMISSION_DENIED, errors.PermissionDenied),
        (grpc.StatusCode.INTERNAL, errors.Internal),
        (grpc.StatusCode.UNIMPLEMENTED, ThreadkeepError),
    ],
)
def test_without_error_info_the_code_decides(code: grpc.StatusCode, kind: type[ThreadkeepError]) -> None:
    error = from_rpc_error(Raised(code, "why"), "host:1")
    assert type(error) is kind
    assert error.code is code
    assert "why" in str(error)


def test_details_that_cannot_be_read_do_not_hide_the_error() -> None:
    trailers = [("grpc-status-details-bin", b"\xff\xff\xff")]
    error = from_rpc_error(Raised(grpc.StatusCode.INTERNAL, "why", trailers), "host:1")
    assert type(error) is errors.Internal


def test_an_unreadable_response_raises_an_sdk_error() -> None:
    assert readable(0) == 0
    with pytest.raises(ThreadkeepError, match="could not be read") as raised:
        readable(None)
    assert raised.value.code is grpc.StatusCode.INTERNAL


def test_a_reason_of_a_newer_server_is_kept() -> None:
    result = AppendStreamResult(error=AppendError(code=9, message="m", reason="FROM_THE_FUTURE", metadata={"a": "b"}))
    error = errors.error_of(result)
    assert type(error) is ThreadkeepError
    assert error.reason == "FROM_THE_FUTURE"
    assert error.code is grpc.StatusCode.FAILED_PRECONDITION
    assert error.metadata == {"a": "b"}


def test_metadata_is_read_as_attributes() -> None:
    error = errors.EventIdConflict("m", metadata={"event_id": "e", "seq": "7", "field": "events[0].event_id"})
    assert (error.event_id, error.seq, error.field) == ("e", 7, "events[0].event_id")
    assert (errors.EventTooLarge("m").size, errors.EventTooLarge("m").field) == (0, "")
    assert errors.WatchTooSlow("m", metadata={"ack_timeout_s": "1.5"}).ack_timeout_s == 1.5


def test_draining_and_a_lost_store_are_unavailable() -> None:
    assert issubclass(errors.ServerDraining, errors.Unavailable)
    assert issubclass(errors.StoreUnavailable, errors.Unavailable)


def test_errors_survive_pickling() -> None:
    error = errors.VersionMismatch("m", code=grpc.StatusCode.ABORTED, metadata={"actual": "9"}, retry_after=1.0)
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), vars(copy)) == (type(error), vars(error))


def test_a_connection_that_breaks_during_a_stream_raises_unavailable() -> None:
    """grpc.aio hides the status behind words of its own; a fault of the server would carry an ErrorInfo."""
    error = from_rpc_error(Raised(grpc.StatusCode.INTERNAL, "Internal error from Core"), "host:1")
    assert type(error) is errors.Unavailable
    assert error.code is grpc.StatusCode.UNAVAILABLE
    for code, words in (
        (grpc.StatusCode.INTERNAL, "Received RST_STREAM with error code 2"),
        (grpc.StatusCode.UNKNOWN, "Stream removed"),
    ):
        assert type(from_rpc_error(Raised(code, words), "host:1")) is errors.Unavailable
    fault = from_rpc_error(Raised(grpc.StatusCode.INTERNAL, "something else"), "host:1")
    assert type(fault) is errors.Internal


def status(code: grpc.StatusCode, *details: Message) -> Raised:
    packed = [AnyProto() for _ in details]
    for each, detail in zip(packed, details, strict=True):
        each.Pack(detail)
    trailer = Status(code=code.value[0], details=packed).SerializeToString()
    return Raised(code, "the text", [("grpc-status-details-bin", trailer)])


def test_an_error_has_all_that_the_server_sent() -> None:
    info = ErrorInfo(reason="INVALID_FIELD", domain="threadkeep.dev", metadata={"field": "a", "request_id": "r1"})
    bad = BadRequest(field_violations=[BadRequest.FieldViolation(field="a", description="is wrong")])
    retry = RetryInfo(retry_delay=Duration(seconds=1, nanos=500_000_000))
    error = from_rpc_error(status(grpc.StatusCode.INVALID_ARGUMENT, bad, retry, info), "host:1")
    assert (type(error), error.reason, error.code) == (errors.InvalidField, "INVALID_FIELD", grpc.StatusCode.INVALID_ARGUMENT)
    assert error.violations == (errors.FieldViolation("a", "is wrong"),)
    assert (error.retry_after, error.is_transient, error.request_id, error.message) == (1.5, True, "r1", "the text")
    assert pickle.loads(pickle.dumps(error)).violations == error.violations


def test_the_error_info_of_a_proxy_is_not_the_servers() -> None:
    proxys = ErrorInfo(reason="INVALID_FIELD", domain="proxy.example")
    error = from_rpc_error(status(grpc.StatusCode.INTERNAL, proxys), "host:1")
    assert (type(error), error.reason, error.violations) == (errors.Internal, "INTERNAL", ())
    servers = ErrorInfo(reason="SESSION_NOT_FOUND", domain="threadkeep.dev")
    assert type(from_rpc_error(status(grpc.StatusCode.NOT_FOUND, servers, proxys), "host:1")) is errors.SessionNotFound


def test_the_text_of_an_error_has_reason_code_message_and_request_id() -> None:
    plain = errors.SessionNotFound("no session s", code=grpc.StatusCode.NOT_FOUND)
    assert str(plain) == "SESSION_NOT_FOUND (NOT_FOUND): no session s"
    fault = errors.Internal("a fault", code=grpc.StatusCode.INTERNAL, metadata={"request_id": "r1"})
    assert str(fault) == "INTERNAL (INTERNAL): a fault [request r1]"
    assert str(errors.Unavailable("no server", code=grpc.StatusCode.UNAVAILABLE)) == "UNAVAILABLE: no server"


def test_request_that_is_too_large_to_send_says_so() -> None:
    refused = Raised(grpc.StatusCode.RESOURCE_EXHAUSTED, "CLIENT: Sent message larger than max (80000196 vs. 67108864)", [])
    text = "the request has 80,000,196 bytes, and a call may send 67,108,864; send fewer or smaller events"
    assert from_rpc_error(refused, "host:1").message == text


def test_an_error_is_transient_if_a_retry_may_succeed() -> None:
    assert errors.ServerDraining("m").is_transient
    assert ThreadkeepError("m", code=grpc.StatusCode.UNAVAILABLE).is_transient
    assert errors.RateLimited("m", retry_after=0.1).is_transient
    assert not errors.SessionNotFound("m", code=grpc.StatusCode.NOT_FOUND).is_transient
