"""Reads of the audit log: what each caller sees of the file, and how much of the file a read looks at."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from threadkeep_server.domain.audit import AuditFilter, AuditPlace, AuditQuery
from threadkeep_server.domain.errors import AuditLogUnavailable, InvalidPageToken, PermissionDenied
from threadkeep_server.domain.model import Caller
from threadkeep_server.transport.audit import reader
from threadkeep_server.transport.audit.file import audit_file
from threadkeep_server.transport.audit.reader import AuditReader

ACME, OTHER = Caller("acme"), Caller("other")
SECOND = 1_000_000_000


def record(tenant: str, session: str, at: int = 0, **more: Any) -> dict[str, Any]:
    """A record as the server writes it. `at`: seconds since the epoch."""
    return {
        "time_ns": at * SECOND,
        "method": "threadkeep.v1.SessionService/DeleteSession",
        "tenant": tenant,
        "caller_user_id": None,
        "caller_app": None,
        "peer": None,
        "target": {"session_id": session},
        "outcome": "OK",
        "duration_ms": 1.5,
    } | more


def written(path: Path, *records: dict[str, Any]) -> AuditReader:
    with audit_file(str(path)) as file:
        for each in records:
            file.write(each)
    return AuditReader(path)


def all_of(log: AuditReader, caller: Caller, limit: int = 100, **conditions: Any) -> tuple[list[str], int]:
    """Returns the ids of the sessions on all pages, and the number of pages."""
    found: list[str] = []
    place, pages = None, 0
    while pages == 0 or place is not None:
        page = log.read(AuditQuery(caller, AuditFilter(**conditions), limit, place))
        assert len(page.records) <= limit
        found += [each.session_id for each in page.records]
        place, pages = page.next, pages + 1
    return found, pages


def test_records_of_the_tenant_come_newest_first_on_pages(tmp_path: Path) -> None:
    log = written(tmp_path / "a", *(record("other" if n % 3 else "acme", f"s{n}", at=n) for n in range(30)))
    own = [f"s{n}" for n in range(27, -1, -3)]
    for limit in (1, 3, 100):
        assert all_of(log, ACME, limit)[0] == own
    assert all_of(log, Caller("third"))[0] == []
    [first, *_] = log.read(AuditQuery(ACME, AuditFilter(), 1)).records
    assert (first.time_ns, first.peer, first.duration_ms, json.loads(first.target_json)) == (
        27 * SECOND,
        "",
        1.5,
        {"session_id": "s27"},
    )


def test_a_read_looks_at_a_bounded_part_and_skips_no_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "_MOST_BYTES", 1000)
    monkeypatch.setattr(reader, "_BLOCK", 300)
    log = written(tmp_path / "a", record("acme", "oldest"), *(record("other", f"s{n}") for n in range(40)))
    found, pages = all_of(log, ACME)
    assert found == ["oldest"]
    assert pages >= 8, "a page that is not the last may be empty"
    assert len(all_of(log, OTHER)[0]) == 40


@pytest.mark.parametrize(
    ("caller", "seen"),
    [
        (Caller("acme"), ["both", "app", "ann", "none"]),
        (Caller("acme", "ann"), ["both", "ann"]),
        (Caller("acme", "bob"), []),
        (Caller("acme", app="shop"), ["both", "app"]),
        (Caller("acme", "ann", app="shop"), ["both"]),
        (Caller("other", "ann"), []),
        (Caller(""), []),
    ],
)
def test_a_bound_caller_reads_what_credentials_of_its_binding_did(tmp_path: Path, caller: Caller, seen: list[str]) -> None:
    log = written(
        tmp_path / "a",
        record("", "nobody"),
        record("acme", "none"),
        record("acme", "ann", caller_user_id="ann"),
        record("acme", "app", caller_app="shop"),
        record("acme", "both", caller_user_id="ann", caller_app="shop"),
    )
    assert all_of(log, caller)[0] == seen


def test_names_cannot_make_a_line_of_another_tenant(tmp_path: Path) -> None:
    forged = json.dumps(record("acme", "forged"))
    hostile = [f"x\n{forged}\n", '"}, "tenant": "acme", "x": {"', '", "tenant": "acme']
    log = written(tmp_path / "a", *(record("other", name, caller_user_id=name) for name in hostile))
    assert all_of(log, ACME)[0] == []
    assert all_of(log, OTHER)[0] == hostile[::-1]
    strange = 'te"nant\n\u00e9'
    assert all_of(written(tmp_path / "b", record(strange, "own")), Caller(strange))[0] == ["own"]


def test_conditions_select_records(tmp_path: Path) -> None:
    log = written(
        tmp_path / "a",
        record("acme", "s1", at=10),
        record("acme", "s2", at=20, outcome="SESSION_NOT_FOUND", method="PATCH /apps/{app}/users/{user}/memory"),
        record("acme", "s3", at=30, caller_user_id="ann"),
    )
    wanted: list[tuple[dict[str, Any], list[str]]] = [
        ({"method": "DeleteSession"}, ["s3", "s1"]),
        ({"method": "threadkeep.v1.SessionService/DeleteSession"}, ["s3", "s1"]),
        ({"method": "Delete"}, []),
        ({"caller_user_id": "ann"}, ["s3"]),
        ({"caller_user_id": ""}, ["s2", "s1"]),
        ({"session_id": "s2"}, ["s2"]),
        ({"outcome": "OK", "to_ns": 30 * SECOND}, ["s1"]),
        ({"from_ns": 20 * SECOND}, ["s3", "s2"]),
    ]
    assert [all_of(log, ACME, **conditions)[0] for conditions, _ in wanted] == [seen for _, seen in wanted]


def test_a_read_ends_at_calls_that_were_over_before_the_wanted_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "_MOST_BYTES", 1000)
    old = [record("acme", f"old{n}", at=n) for n in range(50)]
    log = written(tmp_path / "a", *old, record("acme", "new", at=1_000))
    assert all_of(log, ACME, from_ns=500 * SECOND) == (["new"], 1)


def test_lines_that_are_no_records_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "a"
    log = written(path, record("acme", "s1"))
    junk = b'{"time": "2026\n\n[]\n{"tenant": "acme"}\n{"tenant": "acme", "time": 1}\nnot json "tenant": "acme"\n\xff\n'
    path.write_bytes(junk + path.read_bytes() + junk + b'{"tenant": "acme", "ti')
    assert all_of(log, ACME)[0] == ["s1"]


def test_a_page_of_a_file_that_was_rotated_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a"
    log = written(path, record("acme", "s1"), record("acme", "s2"))
    place = log.read(AuditQuery(ACME, AuditFilter(), 1)).next
    assert place is not None
    path.rename(tmp_path / "a.1")
    assert log.read(AuditQuery(ACME, AuditFilter(), 1)).records == (), "nothing was written since"
    written(path, *(record("acme", "s3") for _ in range(5)))
    for before in (place, AuditPlace(path.stat().st_ino, 1 << 40)):
        with pytest.raises(InvalidPageToken, match="rotated"):
            log.read(AuditQuery(ACME, AuditFilter(), 1, before))


def test_a_log_that_cannot_be_read_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(AuditLogUnavailable) as error:
        AuditReader(tmp_path).read(AuditQuery(ACME, AuditFilter(), 1))
    assert error.value.metadata == {"problem": "Is a directory"}


def test_a_bound_caller_may_not_ask_for_another_user() -> None:
    AuditQuery(Caller("acme", "ann"), AuditFilter(caller_user_id="ann"), 1).check()
    for name in ("bob", ""):
        with pytest.raises(PermissionDenied):
            AuditQuery(Caller("acme", "ann"), AuditFilter(caller_user_id=name), 1).check()
