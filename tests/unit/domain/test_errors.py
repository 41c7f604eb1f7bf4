"""The errors are the reasons of the protocol, each with the code that the protocol documents."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from threadkeep.v1 import error_reason_pb2
from threadkeep_server.domain import errors
from threadkeep_server.domain.model import SessionRef

REF = SessionRef("shop", "alice", "s1")
PROTO = Path(__file__).parents[3] / "proto" / "threadkeep" / "v1" / "error_reason.proto"
EXAMPLES = [
    errors.InvalidField("filter.last_n", "must be at least 1"),
    errors.InvalidPageToken("was not issued by this server"),
    errors.InvalidResumeToken("was not issued by this server"),
    errors.ResumePositionExpired(oldest_resume_token="AbC", oldest_seq="1200"),
    errors.WatchTooSlow(60),
    errors.QuotaExceeded("subscriptions_per_caller", 10_000),
    errors.ConsumerNotFound("compactor"),
    errors.ConsumerMismatch("compactor", "filter"),
    errors.EventTooLarge("events[3]", 20971520, 16777216),
    errors.BatchTooLarge("events", 1200, 1000, "events"),
    errors.SessionNotFound(REF),
    errors.EventNotFound(REF, "e1"),
    errors.SessionAlreadyExists(REF),
    errors.EventIdConflict("events[0].event_id", "e1", 7),
    errors.OperationConflict("turn-7"),
    errors.VersionMismatch(REF, expected="7", actual="9"),
    errors.AmbiguousSession("s1"),
    errors.NothingToCompact(REF),
    errors.BrokenToolPair(REF, "e7", "e6"),
    errors.SummarizerNotConfigured(),
    errors.SummarizerFailed("timed out"),
    errors.WebhookFailed("summaries", "timed out"),
    errors.MemoryNotConfigured(),
    errors.MemoryIdConflict("m1", "memories[0].id"),
    errors.EmbedderNotConfigured(),
    errors.EmbedderFailed("timed out"),
    errors.EncryptionKeyDestroyed(),
    errors.SearchDisabled(),
    errors.AuditLogUnavailable("audit_log names no file"),
    errors.RetentionNotConfigured(),
    errors.ArchiveFailed("there is no archive a/b.jsonl.gz"),
    errors.HistoryUnknown(SessionRef("shop", "alice", "s1"), 12),
    errors.StateTooLarge("patch", 4194305, 4194304, "bytes"),
    errors.Unauthenticated(),
    errors.PermissionDenied("session.user_id"),
    errors.ServerDraining(),
    errors.StoreUnavailable("disk full"),
    errors.RateLimited("pending_appends"),
    errors.DeadlineExceeded(),
    errors.Internal("0199"),
]


def documented() -> dict[str, tuple[str, dict[str, Any]]]:
    """Each reason of the .proto file with its documented code and example."""
    found = {}
    for comment, name in re.findall(r"((?:  //[^\n]*\n)+)  ERROR_REASON_(\w+) = [1-9]", PROTO.read_text("utf-8")):
        prose = re.sub(r"\s*//\s*", " ", comment)
        code = re.search(r"Code\s+([A-Z_]+)", prose)
        example = re.search(r"\{.*\}", prose)
        assert code, f"{name} documents no code"
        assert example, f"{name} documents no example"
        found[name] = (code[1], json.loads(example[0]))
    return found


def test_every_reason_has_a_class_and_every_class_a_reason() -> None:
    reasons = {name.removeprefix("ERROR_REASON_") for name in error_reason_pb2.ErrorReason.keys()} - {"UNSPECIFIED"}  # noqa: SIM118
    classes = errors.ThreadkeepError.__subclasses__()
    assert sorted(kind.reason for kind in classes) == sorted(reasons)


def test_every_class_is_among_the_examples() -> None:
    assert {type(example) for example in EXAMPLES} == set(errors.ThreadkeepError.__subclasses__())


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: error.reason)
def test_code_and_metadata_are_as_documented(error: errors.ThreadkeepError) -> None:
    code, example = documented()[error.reason]
    assert error.kind.name == code
    assert example["reason"] == error.reason
    assert example["domain"] == "threadkeep.dev"
    assert error.metadata.keys() == example["metadata"].keys()


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: error.reason)
def test_messages_are_for_people_and_metadata_is_text(error: errors.ThreadkeepError) -> None:
    assert str(error) == error.message
    assert len(error.message) > 10
    assert all(isinstance(value, str) for value in error.metadata.values())


def test_the_kinds_are_canonical_codes() -> None:
    from google.rpc import code_pb2

    assert {kind.name: kind.value for kind in errors.Kind}.items() <= dict(code_pb2.Code.items()).items()
