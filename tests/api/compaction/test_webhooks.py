"""Plans of a webhook over HTTP: what it is sent, what is applied, and what changes nothing."""

from __future__ import annotations

import asyncio
import base64
import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support.models.model_endpoint import Behaviour, ModelEndpoint, breaks_off, hangs, never_ends, replies
from tests.support.models.webhooks import SUMMARY, is_signed, keep_last, plans, summary, webhook, webhooks_file
from threadkeep import assistant, text_of, tool_call, tool_result, user
from threadkeep.v1 import session_pb2
from threadkeep_server.config.settings import ConfigError

from ..bad_input.requests import Wire, eventually, wire, wire_on
from ..bad_input.test_isolation import ACME, OTHER, TOKENS

PLANNED = {"webhook": {"name": "summaries"}}
PRIVATE = "the safe opens with 4711"
HISTORY = {"view": "LOG_VIEW_HISTORY"}
QUICK = {"compaction_webhook_attempts": 1}


@pytest.fixture
def hook() -> Iterator[ModelEndpoint]:
    with webhook() as running:
        running.does(plans(running, keep_last(2)))
        yield running


def settings(folder: Path, hook: ModelEndpoint, **changes: Any) -> dict[str, Any]:
    return {"compaction_webhooks_file": webhooks_file(folder, summaries=hook.url + "/plan")} | changes


@pytest.fixture(params=["sqlite", "memory", pytest.param("postgresql", marks=pytest.mark.postgres)])
def anywhere(request: pytest.FixtureRequest, hook: ModelEndpoint, tmp_path: Path) -> Iterator[Wire]:
    with wire_on(request.param, request, tmp_path, **settings(tmp_path, hook)) as each:
        yield each


@pytest.fixture
def opened(request: pytest.FixtureRequest, hook: ModelEndpoint, tmp_path: Path) -> Iterator[Wire]:
    never_done = "trouble" in request.fixturenames and request.getfixturevalue("trouble") in {"slow", "dripping"}
    timeouts = {"compaction_webhook_timeout": "3s"} if never_done else {}
    with wire(tmp_path, **settings(tmp_path, hook, **QUICK, **timeouts)) as each:
        yield each


def conversation(wire: Wire) -> session_pb2.SessionRef:
    ref = wire.new_session()
    first = (user(PRIVATE, event_id="U1"), assistant("noted", event_id="A1"))
    wire.append(ref, *first, user("u2", event_id="U2"), assistant("a2", event_id="A2"))
    return ref


def window(wire: Wire, ref: session_pb2.SessionRef) -> list[str]:
    return [text_of(event) for event in wire.call("GetContext", session=ref).events]


def test_a_policy_applies_the_plan_of_a_webhook(anywhere: Wire, hook: ModelEndpoint) -> None:
    policy = {"trigger": {"events": 4}, "strategy": PLANNED}
    anywhere.call("SetCompactionPolicy", scope={"app": "app"}, policy=policy)
    ref = conversation(anywhere)
    eventually(lambda: len(anywhere.call("ListCompactions", session=ref).compactions) == 1)
    assert window(anywhere, ref) == [SUMMARY, "u2", "a2"]
    [done] = anywhere.call("ListCompactions", session=ref).compactions
    assert (done.strategy, done.actor, done.archived_events, done.before.events, done.after.events) == (
        "webhook:summaries",
        "policy",
        2,
        4,
        3,
    )
    stored = {event.event_id: event.archived for event in anywhere.call("ListEvents", session=ref, filter=HISTORY).events}
    assert [stored[event_id] for event_id in ("U1", "A1", "U2", "A2")] == [True, True, False, False]
    [sent] = hook.requests
    assert sent.path == "/plan"
    assert is_signed(sent)
    assert sent.json["requestId"] == sent.headers["webhook-id"]
    assert abs(int(sent.headers["webhook-timestamp"]) - time.time()) < 300
    assert sent.json["session"] == {"app": "app", "userId": "alice", "sessionId": ref.session_id}
    assert (sent.json["tenant"], sent.json["webhook"], sent.json["trigger"]) == ("default", "summaries", {"events": "4"})
    assert (sent.json["logVersion"], sent.json.get("windowVersion", "0")) == ("1", "0")
    assert sent.json["window"]["events"] == "4"
    assert [event["eventId"] for event in sent.json["events"]] == ["U1", "A1", "U2", "A2"]
    assert sent.json["events"][0]["message"]["parts"] == [{"text": PRIVATE}]
    assert not sent.json.get("truncated")


@pytest.mark.parametrize("engine", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def test_a_webhook_plans_for_an_encrypted_tenant(
    request: pytest.FixtureRequest, engine: str, hook: ModelEndpoint, tmp_path: Path
) -> None:
    """What is inserted is encrypted like what was appended, and readable to whom it may be."""
    key = {"encryption_key": base64.b64encode(bytes(32)).decode(), "encrypted_tenants": "default"}
    with wire_on(engine, request, tmp_path, **settings(tmp_path, hook, **key)) as opened:
        ref = conversation(opened)
        assert opened.call("CompactSession", session=ref, strategy=PLANNED).compacted
        assert window(opened, ref) == [SUMMARY, "u2", "a2"]
        assert hook.requests[0].json["events"][0]["message"]["parts"] == [{"text": PRIVATE}]
    files = list(tmp_path.glob("*.db*"))
    assert bool(files) is (engine == "sqlite")
    for file in files:
        assert PRIVATE.encode() not in file.read_bytes()
        assert SUMMARY.encode() not in file.read_bytes()


def test_a_call_names_the_webhook_and_returns_its_plan(anywhere: Wire) -> None:
    ref = conversation(anywhere)
    with anywhere.unchanged(ref):
        planned = anywhere.call("PlanCompaction", session=ref, strategy=PLANNED)
        tried = anywhere.call("CompactSession", session=ref, strategy=PLANNED, dry_run=True)
    assert list(planned.plan.archive_event_ids) == list(tried.plan.archive_event_ids) == ["U1", "A1"]
    done = anywhere.call("CompactSession", session=ref, strategy=PLANNED, actor="me")
    assert done.compacted
    assert (done.compaction.actor, done.plan.after) == ("me", done.compaction.after)
    assert done.compaction.after == tried.plan.after
    [inserted] = [event for each in done.plan.inserts for event in each.events]
    assert list(done.compaction.inserted_event_ids) == [inserted.event_id]
    again = anywhere.call("CompactSession", session=ref, strategy=PLANNED, trigger={"events": 100})
    assert not again.triggered


def test_an_equal_request_has_the_same_id(opened: Wire, hook: ModelEndpoint) -> None:
    ref = conversation(opened)
    for _ in range(2):
        opened.call("PlanCompaction", session=ref, strategy=PLANNED)
    opened.append(ref, user("u3"))
    opened.call("PlanCompaction", session=ref, strategy=PLANNED)
    first, second, other = (request.headers["webhook-id"] for request in hook.requests)
    assert first == second != other


def test_an_empty_plan_changes_nothing(opened: Wire, hook: ModelEndpoint) -> None:
    ref = conversation(opened)
    hook.does(replies({}))
    with opened.unchanged(ref):
        done = opened.call("CompactSession", session=ref, strategy=PLANNED)
    assert (done.compacted, done.triggered) == (False, True)


def _answer(plan: object) -> Callable[[ModelEndpoint], Behaviour]:
    return lambda _: replies(plan)


def _archive(*ids: str, **fields: Any) -> dict[str, Any]:
    return {"archiveEventIds": list(ids), **fields}


BODY = {"role": "ROLE_USER", "parts": [{"text": "x"}]}
TROUBLE: dict[str, tuple[Callable[[ModelEndpoint], Behaviour], str]] = {
    "slow": (lambda _: hangs, "timed out"),
    "dripping": (lambda _: never_ends(b" ", every=0.05), "timed out"),
    "endless": (lambda _: never_ends(), "too long"),
    "huge": (_answer(_archive("U1", inserts=[summary(text="x" * (5 << 20))])), "too long"),
    "error": (lambda _: replies({"error": PRIVATE}, status=500), "answered with an error (500)"),
    "refused": (lambda _: replies({"error": PRIVATE}, status=403), "refused (403)"),
    "busy": (lambda _: replies({}, status=429), "refused (429)"),
    "redirect": (lambda _: replies({}, status=307, headers={"location": "http://127.0.0.1:1/"}), "refused (307)"),
    "breaking off": (lambda _: breaks_off(_archive("U1")), "broke off its answer"),
    "no JSON": (lambda _: replies("<html>"), "must be a JSON object"),
    "unknown field": (_answer({"archive": ["U1"]}), "is not a field"),
    "unknown event": (_answer(_archive("nobody")), "did not contain"),
    "the same event twice": (_answer(_archive("U1", "U1")), "occurs twice"),
    "before an unknown event": (_answer(_archive("U1", inserts=[summary("nobody")])), "did not contain"),
    "before an archived event": (_answer(_archive("U1", inserts=[summary("U1")])), "the plan archives"),
    "an insert that is not synthetic": (_answer({"inserts": [{"events": [{"message": BODY}]}]}), "synthetic"),
    "an id in use": (_answer(_archive("U1", inserts=[summary(event_id="A2")])), "A2"),
    "half of a tool call": (_answer(_archive("C1")), "C1"),
}


@pytest.mark.parametrize("trouble", TROUBLE)
def test_a_failing_webhook_leaves_the_session_unchanged(
    opened: Wire, hook: ModelEndpoint, trouble: str, caplog: pytest.LogCaptureFixture
) -> None:
    behave, problem = TROUBLE[trouble]
    ref = conversation(opened)
    opened.append(ref, assistant(tool_calls=[tool_call("c1", "lookup", {})], event_id="C1"), tool_result("c1", "found"))
    hook.does(behave(hook))
    with caplog.at_level(logging.DEBUG), opened.unchanged(ref):
        refusal = opened.refused("CompactSession", session=ref, strategy=PLANNED)
    assert (refusal.code.name, refusal.reason) == ("UNAVAILABLE", "WEBHOOK_FAILED")
    assert refusal.metadata["webhook"] == "summaries"
    assert problem in refusal.metadata["problem"]
    assert not opened.call("ListCompactions", session=ref).compactions
    said = "\n".join([refusal.message, *refusal.metadata.values(), *(record.getMessage() for record in caplog.records)])
    for secret in (str(hook.port), PRIVATE, "whsec_"):
        assert secret not in said
    hook.does(plans(hook, keep_last(4)))
    assert opened.call("CompactSession", session=ref, strategy=PLANNED).compacted


def test_an_unreachable_webhook_leaves_the_session_unchanged(tmp_path: Path) -> None:
    nowhere = webhooks_file(tmp_path, summaries="http://127.0.0.1:1/plan")
    with wire(tmp_path, compaction_webhooks_file=nowhere, **QUICK) as opened:
        ref = conversation(opened)
        with opened.unchanged(ref):
            refusal = opened.refused("CompactSession", session=ref, strategy=PLANNED)
    assert refusal.metadata == {"webhook": "summaries", "problem": "could not be reached"}


def test_a_large_window_is_sent_from_its_oldest_event(tmp_path: Path, hook: ModelEndpoint) -> None:
    """The summary without a place goes where the request ended, not to the end of the window."""
    hook.does(plans(hook, lambda sent: _archive(*(event["eventId"] for event in sent["events"]), inserts=[summary()])))
    with wire(tmp_path, **settings(tmp_path, hook, compaction_webhook_request_bytes="512KiB")) as opened:
        ref = opened.new_session()
        for number in range(8):
            opened.append(ref, user("x" * (100 << 10), event_id=f"U{number}"))
        assert opened.call("CompactSession", session=ref, strategy=PLANNED).compacted
        [sent] = hook.requests
        assert len(sent.body) <= 512 << 10
        assert sent.json["truncated"]
        assert [event["eventId"] for event in sent.json["events"]] == ["U0", "U1", "U2", "U3"]
        left = opened.call("ListEvents", session=ref, filter={"view": "LOG_VIEW_ACTIVE"}).events
        assert text_of(left[0]) == SUMMARY
        assert [event.event_id for event in left[1:]] == ["U4", "U5", "U6", "U7"]
        opened.append(ref, user("x" * (100 << 10), event_id="U8"))
        hook.does(plans(hook, lambda _: _archive("U8")))
        assert "did not contain" in opened.refused("CompactSession", session=ref, strategy=PLANNED).metadata["problem"]


def test_a_stale_plan_is_not_applied_and_the_webhook_plans_again(tmp_path: Path, hook: ModelEndpoint) -> None:
    released = threading.Event()
    hook.does(_held(released, plans(hook, keep_last(2))))
    with wire(tmp_path, **settings(tmp_path, hook)) as opened, ThreadPoolExecutor(1) as pool:
        ref = conversation(opened)
        compacting = pool.submit(opened.call, "CompactSession", session=ref, strategy=PLANNED)
        eventually(lambda: len(hook.requests) == 1)
        opened.append(ref, user("u3", event_id="U3"))
        assert opened.call("ApplyCompaction", session=ref, event_ids={"ids": ["U1"]}).applied
        released.set()
        done = compacting.result()
        assert (done.compacted, done.lost_races, len(hook.requests)) == (True, 1, 2)
        assert [event["eventId"] for event in hook.requests[1].json["events"]] == ["A1", "U2", "A2", "U3"]
        assert window(opened, ref) == [SUMMARY, "a2", "u3"]


def _held(released: threading.Event, then: Behaviour) -> Behaviour:
    async def behave(writer: Any) -> None:
        while not released.is_set():  # noqa: ASYNC110 - an event of threads
            await asyncio.sleep(0.01)
        await then(writer)

    return behave


def test_a_policy_retries_after_a_failed_plan_and_stays_quiet_after_an_empty_one(tmp_path: Path, hook: ModelEndpoint) -> None:
    hook.does(replies({}, status=500), replies({}))
    with wire(tmp_path, **settings(tmp_path, hook, **QUICK)) as opened:
        policy = {"trigger": {"events": 4}, "strategy": PLANNED}
        opened.call("SetCompactionPolicy", scope={"server": True}, policy=policy)
        ref = conversation(opened)
        eventually(lambda: len(hook.requests) == 2)
        time.sleep(1.5)  # longer than the delay before a second retry
        assert len(hook.requests) == 2
        hook.does(plans(hook, keep_last(2)))
        opened.append(ref, user("u3"))
        eventually(lambda: len(opened.call("ListCompactions", session=ref).compactions) == 1)


def _replacing_the_newest(request: Any) -> Any:
    *_, newest = (event["eventId"] for event in request["events"])
    return _archive(newest, inserts=[summary(text="as long as what it replaces")])


@pytest.mark.parametrize("make", [lambda _: {"inserts": [summary()]}, _replacing_the_newest])
def test_plans_that_do_not_reduce_the_window_are_not_repeated(
    tmp_path: Path, hook: ModelEndpoint, make: Callable[[Any], Any]
) -> None:
    hook.does(plans(hook, make))
    with wire(tmp_path, **settings(tmp_path, hook)) as opened:
        policy = {"trigger": {"events": 4}, "strategy": PLANNED}
        opened.call("SetCompactionPolicy", scope={"server": True}, policy=policy)
        ref = conversation(opened)
        eventually(lambda: len(opened.call("ListCompactions", session=ref).compactions) == 1)
        time.sleep(0.5)
        assert len(hook.requests) == 1
        opened.append(ref, user("u3"))
        eventually(lambda: len(hook.requests) == 2)


@pytest.mark.parametrize("call", ["CompactSession", "PlanCompaction"])
def test_a_webhook_that_is_not_configured_is_rejected(opened: Wire, call: str) -> None:
    ref = conversation(opened)
    opened.invalid("strategy.webhook.name", call, session=ref, strategy={"webhook": {"name": "http://127.0.0.1/"}})
    opened.invalid("strategy.webhook.name", call, session=ref, strategy={"webhook": {}})
    policy = {"trigger": {"events": 4}, "strategy": {"webhook": {"name": "other"}}}
    opened.invalid("policy.strategy.webhook.name", "SetCompactionPolicy", scope={"server": True}, policy=policy)


def test_a_webhook_of_other_tenants_is_rejected(tmp_path: Path, hook: ModelEndpoint) -> None:
    path = webhooks_file(tmp_path, summaries=hook.url)
    path.write_text(path.read_text() + 'tenants = ["acme"]\n')
    with wire(tmp_path, compaction_webhooks_file=path, auth_tokens=TOKENS) as opened:
        policy = {"trigger": {"events": 4}, "strategy": PLANNED}
        opened.call("SetCompactionPolicy", scope={"server": True}, policy=policy, token=ACME)
        refusal = opened.refused("SetCompactionPolicy", scope={"server": True}, policy=policy, token=OTHER)
        assert refusal.metadata["field"] == "policy.strategy.webhook.name"
    assert not hook.requests


@pytest.mark.parametrize(
    ("text", "mode", "problem"),
    [
        ('[a]\nurl = "https://h/"\n', 0o600, "a.secret"),
        ('[a]\nurl = "https://h/"\nsecret = "whsec_c2hvcnQ="\n', 0o600, "24 to 64 random bytes"),
        ('[a]\nurl = "ftp://h/"\nsecret = "whsec_%s"\n', 0o600, "a.url"),
        ('["A b"]\nurl = "https://h/"\nsecret = "whsec_%s"\n', 0o600, "not a name"),
        ('[a]\nurl = "https://h/"\nsecret = "whsec_%s"\nurls = 1\n', 0o600, "a.urls"),
        ('[a]\nurl = "https://h/"\nsecret = "whsec_%s"\n', 0o644, "other users"),
    ],
)
def test_a_bad_file_of_webhooks_stops_the_start(tmp_path: Path, text: str, mode: int, problem: str) -> None:
    path = tmp_path / "hooks.toml"
    path.write_text(text.replace("%s", "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE="))
    path.chmod(mode)
    with pytest.raises(ConfigError) as error, wire(tmp_path, compaction_webhooks_file=path):
        pass
    assert problem in str(error.value)
    assert "QUFB" not in str(error.value)


def test_a_configured_policy_must_name_a_configured_webhook(tmp_path: Path) -> None:
    policy = '{"trigger": {"tokens": 100}, "strategy": {"webhook": {"name": "nobody"}}}'
    with pytest.raises(ConfigError, match="there is no webhook 'nobody'"), wire(tmp_path, compaction_policy=policy):
        pass
