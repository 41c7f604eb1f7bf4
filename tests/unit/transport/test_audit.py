"""The audit log: what a record says of a request, and what becomes of the file."""

from __future__ import annotations

import json
import logging
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.message import Message

import threadkeep
from threadkeep.v1 import (
    compaction_service_pb2,
    consumer_service_pb2,
    event_service_pb2,
    memory_service_pb2,
    search_service_pb2,
    session_service_pb2,
)
from threadkeep_server.transport.audit.file import AuditFile, audit_file
from threadkeep_server.transport.audit.target import target

USER = {"app": "shop", "user_id": "ann"}
NAMED = {**USER, "session_id": "s1"}
OF_SESSION, OF_USER = {"session": NAMED}, {"scope": USER}
RECORD = {"time_ns": 1_700_000_000_123_456_789, "method": "A/B", "target": {"session_id": "é\n"}}


@pytest.mark.parametrize(
    ("request_type", "fields", "named"),
    [
        (session_service_pb2.CreateSessionRequest, {**OF_SESSION, "metadata_json": "hush", "labels": {"k": "hush"}}, NAMED),
        (
            event_service_pb2.AppendEventsRequest,
            {**OF_SESSION, "events": [threadkeep.user("hush")] * 2},
            {**NAMED, "events": 2},
        ),
        (search_service_pb2.SearchEventsRequest, {"user": {"user_id": "ann"}, "query": "hush"}, {"user_id": "ann"}),
        (
            compaction_service_pb2.SetCompactionPolicyRequest,
            {"scope": {"app": "shop"}, "policy": {"disabled": True}},
            {"app": "shop"},
        ),
        (
            consumer_service_pb2.ConsumeRequest,
            {"join": {"name": "c", "scope": {"user_id": "ann", "labels": {"k": "hush"}}}},
            {"name": "c", "user_id": "ann"},
        ),
        (memory_service_pb2.DeleteMemoriesRequest, {**OF_USER, "ids": {"ids": ["m1", "m2"]}}, {**USER, "ids": ["m1", "m2"]}),
        (memory_service_pb2.DeleteMemoriesRequest, {**OF_USER, "all": True}, {**USER, "all": True}),
        (
            memory_service_pb2.DeleteMemoriesRequest,
            {**OF_USER, "names": {"names": [{"namespace": ["a", "b"], "id": "m1"}]}},
            {**USER, "names": [["a", "b", "m1"]]},
        ),
        (
            memory_service_pb2.DeleteMemoriesRequest,
            {**OF_USER, "namespace": {"labels": ["a", "b"]}},
            {**USER, "namespace": ["a", "b"]},
        ),
        (memory_service_pb2.GetMemoriesRequest, {**OF_USER, "names": [{"id": "m1"}]}, {**USER, "names": [["m1"]]}),
        (
            memory_service_pb2.UpsertMemoriesRequest,
            {**OF_USER, "writes": [{"memory": {"id": "m1", "author": "Ann"}}]},
            {**USER, "writes": 1},
        ),
    ],
)
def test_a_target_has_names_and_counts_and_no_text(
    request_type: type[Message], fields: dict[str, Any], named: dict[str, object]
) -> None:
    assert target(request_type(**fields)) == named


def test_a_target_is_bounded() -> None:
    fields: dict[str, Any] = {"scope": {"user_id": "u" * 1_000_000}, "ids": {"ids": ["i" * 1000] * 1000}}
    request = memory_service_pb2.DeleteMemoriesRequest(**fields)
    assert len(json.dumps(target(request))) < 30_000


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def _eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_records_are_lines_of_json_that_only_the_owner_may_read(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    for _ in range(2):  # the second time it exists
        with audit_file(str(path)) as file:
            file.write(dict(RECORD))
    line = {"time": "2023-11-14T22:13:20.123457Z", "method": "A/B", "target": {"session_id": "é\n"}}
    assert _lines(path) == [line, line]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "rotate", [lambda path: path.rename(f"{path}.1"), lambda path: path.unlink()], ids=["moved", "removed"]
)
def test_a_file_that_is_rotated_is_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rotate: Callable[[Path], object]
) -> None:
    monkeypatch.setattr("threadkeep_server.transport.audit.file._LOOKS_EVERY_S", 0.0)
    path = tmp_path / "audit.log"
    with audit_file(str(path)) as file:
        file.write(dict(RECORD))
        _eventually(lambda: len(_lines(path)) == 1)
        rotate(path)
        file.write(dict(RECORD))
    assert len(_lines(path)) == 1


def test_a_truncated_file_is_continued_at_its_beginning(tmp_path: Path) -> None:
    """As by copytruncate of logrotate."""
    path = tmp_path / "audit.log"
    with audit_file(str(path)) as file:
        file.write(dict(RECORD))
        _eventually(lambda: len(_lines(path)) == 1)
        os.truncate(path, 0)
        file.write(dict(RECORD))
    assert len(_lines(path)) == 1


def test_a_failed_write_is_logged_and_counted_and_later_lines_are_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real, left = os.write, [20]

    def full(file: int, data: bytes) -> int:
        if not left[0]:
            raise OSError(28, "No space left on device")
        data, left[0] = data[: left[0]], max(0, left[0] - len(data))
        return real(file, data)

    path = tmp_path / "audit.log"
    with audit_file(str(path)) as file:
        monkeypatch.setattr("threadkeep_server.transport.audit.file.os.write", full)
        file.write(dict(RECORD))
        _eventually(lambda: file.lost() == 1)
        left[0] = 1 << 20
        file.write(dict(RECORD))
    torn, whole = path.read_text(encoding="utf-8").splitlines()
    assert len(torn) == 20
    assert json.loads(whole)["method"] == "A/B"
    [line] = [each for each in caplog.records if each.levelno >= logging.ERROR]
    assert line.getMessage() == "audit records lost so far: 1 (No space left on device); calls are served regardless"


def test_records_beyond_the_limit_are_lost_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("threadkeep_server.transport.audit.file._MOST_WAITING", 0)
    with audit_file(str(tmp_path / "audit.log")) as file:
        file.write(dict(RECORD))
        assert file.lost() == 1
    assert _lines(tmp_path / "audit.log") == []


def test_a_file_that_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        AuditFile(str(tmp_path / "no" / "audit.log"))
