"""The status of an error: its reason and details."""

from __future__ import annotations

from typing import TypeVar

import pytest
from google.protobuf.message import Message
from google.rpc import error_details_pb2

from threadkeep_server.domain import errors
from threadkeep_server.domain.model import SessionRef
from threadkeep_server.transport.errors import status_of

REF = SessionRef("shop", "ann", "s1")
M = TypeVar("M", bound=Message)


def _details(error: errors.ThreadkeepError, kind: type[M]) -> list[M]:
    found = []
    for each in status_of(error).details:
        if each.Is(kind.DESCRIPTOR):
            detail = kind()
            each.Unpack(detail)
            found.append(detail)
    return found


@pytest.mark.parametrize(
    ("error", "field"),
    [
        (errors.InvalidField("after_seq", "must not be negative"), "after_seq"),
        (errors.InvalidPageToken("is not a page token"), "page_token"),
        (errors.InvalidResumeToken("is not a resume token"), "resume_token"),
        (errors.EventTooLarge("events[3]", 2, 1), "events[3]"),
    ],
)
def test_an_invalid_field_has_a_field_violation(error: errors.ThreadkeepError, field: str) -> None:
    (bad,) = _details(error, error_details_pb2.BadRequest)
    assert [(each.field, each.description) for each in bad.field_violations] == [(field, error.message)]


@pytest.mark.parametrize(
    ("error", "kind", "name"),
    [
        (errors.ConsumerNotFound("indexer"), "threadkeep.v1.Consumer", "indexer"),
        (errors.EventNotFound(REF, "e1"), "threadkeep.v1.SessionEvent", "e1"),
        (errors.SessionAlreadyExists(REF), "threadkeep.v1.Session", "s1"),
        (errors.SessionNotFound(REF), "threadkeep.v1.Session", "s1"),
    ],
)
def test_a_missing_or_existing_resource_has_resource_info(error: errors.ThreadkeepError, kind: str, name: str) -> None:
    (resource,) = _details(error, error_details_pb2.ResourceInfo)
    assert (resource.resource_type, resource.resource_name) == (kind, name)


@pytest.mark.parametrize(
    "error", [errors.WatchTooSlow(60), errors.ServerDraining(), errors.StoreUnavailable("x"), errors.RateLimited("appends")]
)
def test_a_transient_error_has_retry_info(error: errors.ThreadkeepError) -> None:
    (retry,) = _details(error, error_details_pb2.RetryInfo)
    assert retry.retry_delay.seconds > 0


@pytest.mark.parametrize(
    "error", [errors.ResumePositionExpired(oldest_resume_token="t"), errors.ConsumerMismatch("n", "filter")]
)
def test_every_error_has_one_reason_and_its_metadata(error: errors.ThreadkeepError) -> None:
    (info,) = _details(error, error_details_pb2.ErrorInfo)
    assert (info.reason, dict(info.metadata)) == (error.reason, error.metadata)
    assert len(status_of(error).details) == 1
