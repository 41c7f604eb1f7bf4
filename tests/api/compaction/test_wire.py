"""CompactionService over gRPC and JSON on both engines."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from threadkeep import assistant, system, text_of, user
from threadkeep.v1 import event_pb2, session_pb2

from ..bad_input.requests import Wire, eventually, wire_on
from ..conftest import ServerFactory

SLIDING = {"sliding_window": {"max_events": 2}}


@pytest.fixture(scope="module", params=["sqlite", "memory", pytest.param("postgresql", marks=pytest.mark.postgres)])
def wire(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    with wire_on(request.param, request, tmp_path_factory.mktemp("data")) as opened:
        yield opened


@pytest.fixture
def four(wire: Wire) -> session_pb2.SessionRef:
    """A session of two turns."""
    ref = wire.new_session()
    wire.append(ref, user("u1", event_id="U1"), assistant("a1", event_id="A1"))
    wire.append(ref, user("u2", event_id="U2"), assistant("a2", event_id="A2"))
    return ref


def summary(event_id: str, text: str = "They met.") -> event_pb2.SessionEvent:
    event = assistant(text, event_id=event_id)
    event.synthetic, event.compaction_source = True, "mine"
    return event


def active(wire: Wire, ref: session_pb2.SessionRef) -> list[str]:
    return [event.event_id for event in wire.call("ListEvents", session=ref, filter={"view": "LOG_VIEW_ACTIVE"}).events]


def test_a_caller_applies_its_plan(wire: Wire, four: session_pb2.SessionRef) -> None:
    strategy = {"recursive_summary": {"max_events_to_keep": 2, "overlap": 1}}
    with wire.unchanged(four):
        planned = wire.call("PlanCompaction", session=four, strategy=strategy)
    plan = planned.plan
    assert list(plan.archive_event_ids) == ["U1", "A1"]
    assert "u1" in plan.summary_prompt.prompt
    assert len(plan.summary_prompt.digest) == 64
    assert (planned.window_version, planned.log_version, planned.last_seq) == (0, 2, 4)
    [insert] = plan.inserts
    insert.events[1].message.parts[0].text = "They met."
    wire.append(four, user("u3", event_id="U3"))
    answer = wire.call(
        "ApplyCompaction",
        session=four,
        compaction_id="c1",
        expected_window_version=planned.window_version,
        event_ids={"ids": plan.archive_event_ids},
        inserts=plan.inserts,
        strategy=plan.strategy,
    )
    assert answer.applied
    assert (answer.log_version, answer.window_version) == (4, 1)
    context = wire.call("GetContext", session=four)
    assert [text_of(event) for event in context.events] == [
        "Summarize the conversation we had so far.",
        "They met.",
        "u2",
        "a2",
        "u3",
    ]
    again = wire.call("ApplyCompaction", session=four, compaction_id="c1", through_seq=1)
    assert (again.applied, again.replayed, again.compaction) == (True, True, answer.compaction)
    [listed] = wire.call("ListCompactions", session=four).compactions
    assert listed == answer.compaction


def test_a_truncated_context_compacts_only_its_events(wire: Wire, four: session_pb2.SessionRef) -> None:
    context = wire.call("GetContext", session=four, spec={"last_n": 2})
    wire.append(four, user("u3", event_id="U3"))
    assert (context.truncated, context.first_seq, context.compactable_through_seq) == (True, 3, 4)
    answer = wire.call(
        "ApplyCompaction",
        session=four,
        from_seq=context.first_seq,
        through_seq=context.compactable_through_seq,
        inserts=[{"events": [summary("s")]}],
    )
    assert (answer.applied, answer.compaction.archived_events, answer.compaction.first_seq) == (True, 2, 3)
    assert active(wire, four) == ["U1", "A1", "s", "U3"]


def test_a_context_without_conversation_is_not_compactable(wire: Wire) -> None:
    ref = wire.new_session()
    assert wire.call("GetContext", session=ref).compactable_through_seq == 0
    wire.append(ref, system("be brief"))
    assert wire.call("GetContext", session=ref).compactable_through_seq == 0
    refusal = wire.refused("ApplyCompaction", session=ref, from_seq=1, through_seq=1, inserts=[{"events": [summary("s")]}])
    assert refusal.reason == "NOTHING_TO_COMPACT"


def test_inserts_alone_archive_nothing(wire: Wire, four: session_pb2.SessionRef) -> None:
    inserts = [{"before_event_id": "U2", "events": [summary("s")]}]
    answer = wire.call("ApplyCompaction", session=four, compaction_id="c1", inserts=inserts)
    assert (answer.applied, answer.compaction.archived_events, answer.window_version) == (True, 0, 1)
    assert list(answer.compaction.inserted_event_ids) == ["s"]
    assert active(wire, four) == ["U1", "A1", "s", "U2", "A2"]
    assert wire.call("ApplyCompaction", session=four, compaction_id="c1", inserts=inserts).replayed


def test_compact_session_returns_its_result(wire: Wire, four: session_pb2.SessionRef) -> None:
    with wire.unchanged(four):
        dry = wire.call("CompactSession", session=four, strategy=SLIDING, dry_run=True)
    assert (dry.compacted, dry.triggered, dry.HasField("compaction")) == (False, True, False)
    done = wire.call("CompactSession", session=four, strategy=SLIDING, actor="tester")
    assert (done.compacted, done.triggered, done.lost_races) == (True, True, 0)
    assert done.plan == dry.plan
    assert (done.compaction.actor, done.compaction.archived_events) == ("tester", 2)
    assert done.compaction.after == wire.call("GetSession", session=four).session.window
    nothing = wire.call("CompactSession", session=four, strategy=SLIDING)
    assert (nothing.compacted, nothing.triggered) == (False, True)
    quiet = wire.call("CompactSession", session=four, strategy=SLIDING, trigger={"events": 3})
    assert (quiet.compacted, quiet.triggered, quiet.HasField("plan")) == (False, False, False)


def test_a_stale_version_is_an_error_or_reported(wire: Wire, four: session_pb2.SessionRef) -> None:
    wire.call("CompactSession", session=four, strategy=SLIDING)
    with wire.unchanged(four):
        refusal = wire.refused("ApplyCompaction", session=four, through_seq=4)
        assert (refusal.code.name, refusal.reason) == ("ABORTED", "VERSION_MISMATCH")
        assert refusal.metadata == {"session_id": four.session_id, "expected": "0", "actual": "1"}
        strict = wire.refused("ApplyCompaction", session=four, through_seq=4, expected_window_version=1, expected_log_version=2)
        assert (strict.metadata["expected"], strict.metadata["actual"]) == ("2", "3")
        stale = wire.call("ApplyCompaction", session=four, through_seq=4, report_mismatch=True)
        assert (stale.applied, stale.window_version, stale.log_version, stale.HasField("compaction")) == (
            False,
            1,
            3,
            False,
        )
        replaced = wire.call("ReplaceEvents", session=four, expected_log_version=2)
        assert (replaced.replaced, replaced.window_version, replaced.log_version) == (False, 1, 3)


def test_replacement_keeps_unchanged_events_and_inserts_others(wire: Wire, four: session_pb2.SessionRef) -> None:
    """Events may be sent back as read, with the fields that the server added."""
    read = wire.log(four)
    answer = wire.call("ReplaceEvents", session=four, events=[summary("s"), *read[2:]], expected_log_version=2)
    assert answer.replaced
    assert active(wire, four) == ["s", "U2", "A2"]
    again = wire.log(four)
    assert [event for event in again if event.event_id in {"U2", "A2"}] == read[2:]
    same = wire.call("ReplaceEvents", session=four, events=[e for e in again if not e.archived], expected_log_version=3)
    assert (same.replaced, same.HasField("compaction"), same.log_version) == (True, False, 3)
    emptied = wire.call("ReplaceEvents", session=four, expected_log_version=3)
    assert emptied.replaced
    assert active(wire, four) == []
    assert len(wire.log(four)) == 5


def test_policies_are_set_read_and_removed(wire: Wire, four: session_pb2.SessionRef) -> None:
    scope = {"session": {"session_id": four.session_id}}
    policy = {"trigger": {"tokens": 1 << 62}, "strategy": {"turn_window": {}}}
    wire.call("SetCompactionPolicy", scope=scope, policy=policy)
    found = wire.call("GetCompactionPolicy", scope=scope)
    assert found.policy == found.effective_policy
    assert found.policy.trigger.tokens == 1 << 62
    assert found.effective_scope.session == four
    assert found.update_time.seconds > 1_700_000_000
    assert wire.call("CompactSession", session=four, dry_run=True).plan.strategy == "turn_window"
    wire.call("SetCompactionPolicy", scope=scope)
    assert not wire.call("GetCompactionPolicy", scope=scope).ListFields()


def test_a_policy_compacts_in_the_background(wire: Wire) -> None:
    ref = wire.new_session()
    wire.call("SetCompactionPolicy", scope={"session": ref}, policy={"trigger": {"events": 5}, "strategy": SLIDING})
    for number in range(4):
        wire.append(ref, user(f"u{number}", event_id=f"U{number}"))
    assert not wire.call("ListCompactions", session=ref).compactions
    wire.append(ref, user("u4", event_id="U4"))
    eventually(lambda: active(wire, ref) == ["U3", "U4"])
    [done] = wire.call("ListCompactions", session=ref).compactions
    assert (done.actor, done.archived_events) == ("policy", 3)


def test_concurrent_compactions_archive_each_event_once(wire: Wire) -> None:
    ref = wire.new_session()
    for number in range(30):
        wire.append(ref, user(f"u{number}", event_id=f"U{number}"))
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: wire.call("CompactSession", session=ref, strategy=SLIDING), range(8)))
    assert sum(answer.compaction.archived_events for answer in answers) == 28
    assert active(wire, ref) == ["U28", "U29"]


def test_compactions_are_listed_in_pages(wire: Wire) -> None:
    ref = wire.new_session()
    for number in range(5):
        wire.append(ref, user(f"u{number}"), user("next"))
        wire.call(
            "ApplyCompaction",
            session=ref,
            compaction_id=f"c{number}",
            through_seq=2 * number + 1,
            expected_window_version=number,
        )
    first = wire.call("ListCompactions", session=ref, page_size=3)
    rest = wire.call("ListCompactions", session=ref, page_size=3, page_token=first.next_page_token)
    assert [each.compaction_id for each in (*first.compactions, *rest.compactions)] == ["c4", "c3", "c2", "c1", "c0"]
    assert rest.next_page_token == ""
    other = wire.new_session()
    assert wire.refused("ListCompactions", session=other, page_token=first.next_page_token).reason == "INVALID_PAGE_TOKEN"


def test_the_context_contains_the_latest_system_event(wire: Wire) -> None:
    ref = wire.new_session()
    wire.append(ref, system("old"), user("u1"), system("new"), user("u2"))
    context = wire.call("GetContext", session=ref)
    assert [text_of(event) for event in context.events] == ["new", "u1", "u2"]
    wire.call("CompactSession", session=ref, strategy={"sliding_window": {"max_events": 100}})
    listed = wire.call("ListEvents", session=ref, filter={"view": "LOG_VIEW_ACTIVE"}).events
    assert [text_of(event) for event in listed] == ["u1", "new", "u2"]


# --- JSON


def test_each_call_accepts_and_returns_json(start_server: ServerFactory) -> None:
    port = start_server().http_port

    def post(name: str, service: str = "CompactionService", **body: Any) -> tuple[int, Any]:
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/threadkeep.v1.{service}/{name}",
            json.dumps(body).encode(),
            {"content-type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    session: dict[str, Any] = {"session": {"app": "a", "userId": "u", "sessionId": "s"}}
    part = {"text": "hello"}
    events = [{"eventId": f"U{n}", "message": {"role": "ROLE_USER", "parts": [part]}} for n in range(5)]
    assert post("AppendEvents", "EventService", **session, events=events, createIfMissing={})[0] == 200
    sliding = {"slidingWindow": {"maxEvents": 3}}
    status, plan = post("PlanCompaction", **session, strategy=sliding)
    assert (status, plan["plan"]["archiveEventIds"], plan["lastSeq"]) == (200, ["U0", "U1"], "5")
    status, done = post("CompactSession", **session, strategy=sliding)
    assert (status, done["compacted"], done["compaction"]["archivedEvents"]) == (200, True, "2")
    status, applied = post("ApplyCompaction", **session, expectedWindowVersion="1", eventIds={"ids": ["U2"]})
    assert (status, applied["applied"], applied["windowVersion"]) == (200, True, "2")
    status, replaced = post("ReplaceEvents", **session, expectedLogVersion="3", events=events[4:])
    assert (status, replaced["replaced"]) == (200, True)
    assert len(post("ListCompactions", **session)[1]["compactions"]) == 3
    policy = {"trigger": {"anyOf": {"triggers": [{"tokens": "5"}]}}, "strategy": sliding}
    assert post("SetCompactionPolicy", scope={"app": "a"}, policy=policy) == (200, {})
    found = post("GetCompactionPolicy", scope=session)[1]
    assert (found["effectivePolicy"], found["effectiveScope"]) == (policy, {"app": "a"})
    assert post("GetContext", "EventService", **session)[1]["lastSeq"] == "5"
    for name, body, reason in (
        ("CompactSession", {}, "INVALID_FIELD"),
        ("ApplyCompaction", {**session, "throughSeq": "1"}, "VERSION_MISMATCH"),
        ("ApplyCompaction", {**session, "expectedWindowVersion": "3", "throughSeq": "1"}, "NOTHING_TO_COMPACT"),
        ("PlanCompaction", {"session": {"sessionId": "nobody"}, "strategy": sliding}, "SESSION_NOT_FOUND"),
        ("SetCompactionPolicy", {"scope": {"app": "a"}, "policy": {"trigger": {"tokes": 1}}}, "INVALID_FIELD"),
    ):
        status, answer = post(name, **body)
        assert status >= 400
        assert answer["details"][0]["debug"]["reason"] == reason, answer
