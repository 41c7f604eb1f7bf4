from __future__ import annotations

from typing import Any

import grpc
import pytest

from threadkeep.v1 import server_service_pb2 as ns
from threadkeep.v1 import session_service_pb2 as ss
from threadkeep.v1.retention_pb2 import RetentionReceipt

from .fake import Fail, FakeServer


@pytest.mark.parametrize(
    ("method", "arguments", "rpc", "response"),
    [
        ("delete_user", ("ann",), "DeleteUser", ss.DeleteUserResponse),
        ("delete_app", ("shop",), "DeleteApp", ss.DeleteAppResponse),
        ("delete_by_label", ({"k": "v"},), "DeleteByLabel", ss.DeleteByLabelResponse),
    ],
)
async def test_an_erasure_is_repeated_until_nothing_is_left(
    client: Any, fake: FakeServer, method: str, arguments: tuple[Any, ...], rpc: str, response: Any
) -> None:
    counts = (20, 40, 45)
    fake.answers[rpc] = [response(receipt={"deleted_sessions": count}, more=count < 45) for count in counts]
    seen: list[int] = []
    receipt = await getattr(client, method)(
        *arguments, request_id="r1", progress=lambda each: seen.append(each.deleted_sessions)
    )
    assert (receipt.deleted_sessions, tuple(seen)) == (45, counts)
    assert [request.request_id for request in fake.requests(rpc)] == ["r1"] * 3


async def test_users_are_listed_page_by_page_in_the_clients_app(client: Any, fake: FakeServer) -> None:
    fake.answers["ListUsers"] = [
        ss.ListUsersResponse(users=[ss.UserRef(user_id="a"), ss.UserRef(user_id="b")], next_page_token="more"),
        ss.ListUsersResponse(users=[ss.UserRef(user_id="c")]),
        ss.ListUsersResponse(),
        ss.ListUsersResponse(),
    ]
    assert [user.user_id async for user in client.users(page_size=2)] == ["a", "b", "c"]
    await client.users_page(app="")
    await client.users_page(any_app=True)
    first, second, without, anywhere = fake.requests("ListUsers")
    assert [(each.page_size, each.page_token) for each in (first, second)] == [(2, ""), (2, "more")]
    assert (first.app, without.HasField("app"), without.app, anywhere.HasField("app")) == ("shop", True, "", False)


async def test_audit_records_are_listed_page_by_page(client: Any, fake: FakeServer) -> None:
    fake.answers["ListAuditRecords"] = [
        ns.ListAuditRecordsResponse(records=[ns.AuditRecord(method="a")], next_page_token="more"),
        ns.ListAuditRecordsResponse(next_page_token="more still"),
        ns.ListAuditRecordsResponse(records=[ns.AuditRecord(method="b")]),
    ]
    how: dict[str, Any] = {"method": "DeleteSession", "caller_user_id": "", "session_id": "s1", "outcome": "OK", "from_time": 1}
    assert [record.method async for record in client.audit_records(page_size=1, **how)] == ["a", "b"]
    first, second, third = fake.requests("ListAuditRecords")
    assert [first.page_token, second.page_token, third.page_token] == ["", "more", "more still"]
    assert (first.method, first.HasField("caller_user_id"), first.session_id, first.outcome) == (
        "DeleteSession",
        True,
        "s1",
        "OK",
    )
    assert (first.from_time.nanos, first.HasField("to_time"), first.page_size) == (1, False, 1)


async def test_retention_is_run_listed_page_by_page_and_restored(client: Any, fake: FakeServer) -> None:
    receipts = [RetentionReceipt(id=name) for name in "ba"]
    fake.answers["RunRetention"] = [ns.RunRetentionResponse(run_id="r", receipts=receipts), ns.RunRetentionResponse()]
    assert (await client.run_retention(["old"], max_sessions=2, dry_run=True, ignore_hold=True)).run_id == "r"
    await client.run_retention(run_token="t")
    run, further = fake.requests("RunRetention")
    assert (list(run.policies), run.max_sessions, run.dry_run, run.ignore_hold) == (["old"], 2, True, True)
    assert (run.run_token, further.run_token) == ("", "t")

    fake.answers["ListRetentionReceipts"] = [
        ns.ListRetentionReceiptsResponse(receipts=receipts[:1], next_page_token="more"),
        ns.ListRetentionReceiptsResponse(receipts=receipts[1:]),
        ns.ListRetentionReceiptsResponse(),
    ]
    assert [each.id async for each in client.retention_receipts(app="", user_id="bob", session_id="s1", page_size=1)] == [
        "b",
        "a",
    ]
    await client.retention_receipts_page()
    first, second, anywhere = fake.requests("ListRetentionReceipts")
    assert (first.HasField("app"), first.app, first.user_id, first.session_id, first.page_size) == (True, "", "bob", "s1", 1)
    assert (second.page_token, anywhere.HasField("app")) == ("more", False)

    fake.answers["RestoreSession"] = [ns.RestoreSessionResponse(restored_events=3)]
    assert (await client.restore_session("s1", receipt_id="a")).restored_events == 3
    [restored] = fake.requests("RestoreSession")
    assert (restored.session.app, restored.session.user_id, restored.session.session_id) == ("shop", "alice", "s1")
    assert restored.receipt_id == "a"


@pytest.mark.parametrize(
    ("method", "arguments", "rpc"),
    [
        ("pop", (), "PopEvents"),
        ("clear", (), "ClearEvents"),
        ("erase_events", (["e1"],), "EraseEvents"),
        ("replace_suffix", (["e1"],), "ReplaceSuffix"),
    ],
)
async def test_a_removal_is_retried_with_an_operation_id_of_its_own(
    client: Any, fake: FakeServer, method: str, arguments: tuple[Any, ...], rpc: str
) -> None:
    fake.answers[rpc] = [Fail(grpc.StatusCode.UNAVAILABLE)]
    for _ in range(2):
        await getattr(client, method)("s1", *arguments)
    first, again, other = (request.operation_id for request in fake.requests(rpc))
    assert first == again != other
    assert other
