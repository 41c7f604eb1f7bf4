"""Which sessions a retention policy selects."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support.clock import NOW
from threadkeep_server.domain.model import Session, SessionRef
from threadkeep_server.domain.retention.policies import Action, Form, RetentionPolicy, policy_for
from threadkeep_server.domain.retention.receipts import Archived, Outcome, Receipt

SESSION = Session(SessionRef("shop", "ann", "s1"), "u1", NOW - 100, NOW - 10, None, "", {"kind": "chat"})


def policy(**conditions: Any) -> RetentionPolicy:
    return RetentionPolicy("p", Action.DELETE, **conditions)


@pytest.mark.parametrize(
    ("conditions", "takes"),
    [
        ({"idle": 10}, True),
        ({"idle": 11}, False),
        ({"age": 100}, True),
        ({"age": 101}, False),
        ({"idle": 10, "age": 101}, False),
        ({"idle": 1, "apps": frozenset({"desk", "shop"}), "users": frozenset({"ann"})}, True),
        ({"idle": 1, "apps": frozenset({"desk"})}, False),
        ({"idle": 1, "users": frozenset({"bob"})}, False),
        ({"idle": 1, "labels": {"kind": "chat"}}, True),
        ({"idle": 1, "labels": {"kind": "*"}}, True),
        ({"idle": 1, "labels": {"kind": "draft"}}, False),
        ({"idle": 1, "labels": {"kind": "chat", "more": "*"}}, False),
        ({"idle": 1, "keep": {"kind": "*"}}, False),
        ({"idle": 1, "keep": {"kind": "draft", "hold": "*"}}, True),
    ],
)
def test_a_policy_selects_by_time_name_and_label(conditions: dict[str, Any], takes: bool) -> None:
    assert policy(**conditions).takes(SESSION, NOW) is takes


def test_the_first_policy_takes_a_session_and_any_policy_of_its_tenant_holds_it() -> None:
    first, second = policy(idle=1), policy(idle=1, labels={"kind": "chat"})
    assert policy_for([policy(idle=11), first, second], "acme", SESSION, NOW) is first
    holds = policy(age=1000, keep={"kind": "*"})
    assert policy_for([first, holds], "acme", SESSION, NOW) is None
    elsewhere = replace(holds, tenants=frozenset({"other"}))
    assert policy_for([elsewhere, first], "acme", SESSION, NOW) is first


def test_a_receipt_is_read_as_it_was_stored() -> None:
    archive = Archived("a/b.jsonl", Form.JSON_LINES, "00", 5, "11", 2)
    receipt = Receipt("id", "run", "p", Action.ARCHIVE, "acme", SESSION.ref, "u1", 3, 2, 9, 1, 2, NOW, Outcome.DELETED, archive)
    assert Receipt.from_json(receipt.to_json()) == receipt
    assert Receipt.from_json(replace(receipt, archive=None).to_json()).archive is None
    for raw in (b"", b"[]", b"{}", b'{"version": 1}', receipt.to_json().replace(b'"version": 1', b'"version": 2')):
        with pytest.raises(ValueError, match=r"receipt|Expecting"):
            Receipt.from_json(raw)
