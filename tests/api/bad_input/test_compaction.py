"""Invalid compactions, policies and contexts are rejected with the exact field, quickly, and change nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from threadkeep import assistant, tool_result, user
from threadkeep.v1 import compaction_pb2, compaction_service_pb2, event_pb2, session_pb2

from .requests import Wire, wire

MAX = (1 << 63) - 1
BIG = "x" * 256
STRATEGY: dict[str, Any] = {"sliding_window": {"max_events": 2}}
_QUICK_S = 25.0  # less than the deadline of a call, and more than requests of 24 MB take on a busy machine


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    with wire(tmp_path_factory.mktemp("data")) as each:
        yield each


@pytest.fixture(scope="module")
def ref(opened: Wire) -> session_pb2.SessionRef:
    ref = opened.new_session()
    call = assistant("", event_id="A1")
    call.message.parts.add().tool_call.id = "c"
    opened.append(ref, user("u1", event_id="U1"), call, tool_result("c", "found", event_id="T1"), user("u2", event_id="U2"))
    return ref


def summary(event_id: str = "", **changes: Any) -> event_pb2.SessionEvent:
    event = assistant("They met.", event_id=event_id)
    event.synthetic, event.compaction_source = True, "mine"
    for name, value in changes.items():
        setattr(event, name, value)
    return event


def nested(depth: int) -> compaction_pb2.CompactionTrigger:
    trigger = compaction_pb2.CompactionTrigger(tokens=1)
    for _ in range(depth):
        trigger = compaction_pb2.CompactionTrigger(any_of=compaction_pb2.TriggerList(triggers=[trigger]))
    return trigger


STRATEGIES: list[tuple[dict[str, Any], str]] = [
    ({}, ""),
    ({"sliding_window": {"max_events": -1}}, ".sliding_window.max_events"),
    ({"turn_window": {"max_turns": -(1 << 31)}}, ".turn_window.max_turns"),
    ({"token_budget": {"max_tokens": -(1 << 63)}}, ".token_budget.max_tokens"),
    ({"recursive_summary": {"max_events_to_keep": -1}}, ".recursive_summary.max_events_to_keep"),
    ({"recursive_summary": {"overlap": -1}}, ".recursive_summary.overlap"),
    ({"recursive_summary": {"max_events_to_keep": 2, "overlap": 2}}, ".recursive_summary.overlap"),
    ({"recursive_summary": {"max_events_to_keep": 1}}, ".recursive_summary.overlap"),
    ({"recursive_summary": {"max_summary_tokens": -5}}, ".recursive_summary.max_summary_tokens"),
    ({"recursive_summary": {"max_prompt_tokens": -5}}, ".recursive_summary.max_prompt_tokens"),
    ({"recursive_summary": {"system_prompt": " \n"}}, ".recursive_summary.system_prompt"),
    ({"recursive_summary": {"shadow_prompt": "\t"}}, ".recursive_summary.shadow_prompt"),
    ({"recursive_summary": {"system_prompt": "x" * 32_769}}, ".recursive_summary.system_prompt"),
    ({"recursive_summary": {"shadow_prompt": "☂" * 1_000_000}}, ".recursive_summary.shadow_prompt"),
    ({"trim_tool_results": {"keep_turns": -1}}, ".trim_tool_results.keep_turns"),
    ({"trim_tool_results": {"min_tokens": -1}}, ".trim_tool_results.min_tokens"),
    ({"pipeline": {}}, ".pipeline.steps"),
    ({"pipeline": {"steps": [STRATEGY] * 9}}, ".pipeline.steps"),
    ({"pipeline": {"steps": [{}] * 1_000_000}}, ".pipeline.steps"),
    ({"pipeline": {"steps": [STRATEGY, {}]}}, ".pipeline.steps[1]"),
    ({"pipeline": {"steps": [STRATEGY, {"pipeline": {"steps": [STRATEGY]}}]}}, ".pipeline.steps[1].pipeline"),
    ({"pipeline": {"steps": [{"recursive_summary": {}}, STRATEGY]}}, ".pipeline.steps[0].recursive_summary"),
    (
        {"pipeline": {"steps": [STRATEGY, {"sliding_window": {"max_events": -1}}]}},
        ".pipeline.steps[1].sliding_window.max_events",
    ),
]
_STRATEGY_IDS = [f"{number}{field}" for number, (_, field) in enumerate(STRATEGIES)]

TRIGGERS: list[tuple[dict[str, Any] | compaction_pb2.CompactionTrigger, str]] = [
    ({}, ""),
    ({"turns_over": 0}, ".turns_over"),
    ({"tokens": -1}, ".tokens"),
    ({"bytes": -(1 << 63)}, ".bytes"),
    ({"events": 0}, ".events"),
    ({"any_of": {}}, ".any_of.triggers"),
    ({"all_of": {}}, ".all_of.triggers"),
    ({"any_of": {"triggers": [{"tokens": 1}, {"events": 1}, {"tokens": 0}]}}, ".any_of.triggers[2].tokens"),
    ({"any_of": {"triggers": [{"all_of": {"triggers": [{}]}}]}}, ".any_of.triggers[0].all_of.triggers[0]"),
    ({"all_of": {"triggers": [{"tokens": 1}] * 33}}, ".all_of.triggers"),
    ({"all_of": {"triggers": [{"tokens": 1}] * 10_000}}, ""),
    (nested(9), ".any_of" + ".triggers[0].any_of" * 8),
]
_TRIGGER_IDS = [f"{number}{field}" for number, (_, field) in enumerate(TRIGGERS)]


@pytest.mark.parametrize(("strategy", "field"), STRATEGIES, ids=_STRATEGY_IDS)
def test_an_invalid_strategy_is_rejected(opened: Wire, ref: session_pb2.SessionRef, strategy: Any, field: str) -> None:
    started = time.monotonic()
    with opened.unchanged(ref):
        opened.invalid("strategy" + field, "CompactSession", session=ref, strategy=strategy)
        opened.invalid("strategy" + field, "PlanCompaction", session=ref, strategy=strategy)
        policy = {"trigger": {"tokens": 1}, "strategy": strategy}
        if len(str(strategy)) < 200_000:  # a policy of this size is rejected because of it
            opened.invalid("policy.strategy" + field, "SetCompactionPolicy", scope={"session": ref}, policy=policy)
    assert time.monotonic() - started < _QUICK_S


@pytest.mark.parametrize(("trigger", "field"), TRIGGERS, ids=_TRIGGER_IDS)
def test_an_invalid_trigger_is_rejected(opened: Wire, ref: session_pb2.SessionRef, trigger: Any, field: str) -> None:
    started = time.monotonic()
    with opened.unchanged(ref):
        opened.invalid("trigger" + field, "CompactSession", session=ref, strategy=STRATEGY, trigger=trigger)
        policy = {"trigger": trigger, "strategy": STRATEGY}
        opened.invalid("policy.trigger" + field, "SetCompactionPolicy", scope={"session": ref}, policy=policy)
    assert time.monotonic() - started < _QUICK_S


def test_eight_nested_triggers_are_accepted(opened: Wire, ref: session_pb2.SessionRef) -> None:
    answer = opened.call("CompactSession", session=ref, strategy=STRATEGY, trigger=nested(8), dry_run=True)
    assert answer.triggered


def test_ten_thousand_nested_triggers_are_rejected(opened: Wire, ref: session_pb2.SessionRef) -> None:
    """Nests more deeply than a parser accepts. Built as bytes, because no library creates such a message."""
    trigger = b"\x10\x01"
    for _ in range(10_000):
        inner = b"\x0a" + _varint(len(trigger)) + trigger
        trigger = b"\x2a" + _varint(len(inner)) + inner
    strategy = compaction_pb2.CompactionStrategy(**STRATEGY)
    start = compaction_service_pb2.CompactSessionRequest(session=ref, strategy=strategy).SerializeToString()
    raw = start + b"\x1a" + _varint(len(trigger)) + trigger
    with opened.unchanged(ref):
        assert opened.refused("CompactSession", raw).code.name in {"INVALID_ARGUMENT", "INTERNAL"}


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


@pytest.mark.parametrize(
    ("policy", "field"),
    [
        ({}, "policy.trigger"),
        ({"trigger": {"tokens": 1}}, "policy.strategy"),
        ({"strategy": STRATEGY}, "policy.trigger"),
        ({"disabled": True, "trigger": {"any_of": {"triggers": [{"tokens": 1 << 60}] * 60_000}}}, "policy"),
    ],
)
def test_an_invalid_policy_is_rejected(opened: Wire, ref: session_pb2.SessionRef, policy: Any, field: str) -> None:
    opened.invalid(field, "SetCompactionPolicy", scope={"session": ref}, policy=policy)
    assert not opened.call("GetCompactionPolicy", scope={"session": ref}).ListFields()


@pytest.mark.parametrize(
    ("scope", "field"),
    [
        ({}, "scope"),
        ({"session": {}}, "scope.session.session_id"),
        ({"session": {"session_id": BIG}}, "scope.session.session_id"),
        ({"session": {"session_id": "s", "user_id": "a\x00"}}, "scope.session.user_id"),
        ({"user": {}}, "scope.user.user_id"),
        ({"user": {"app": "a"}}, "scope.user.user_id"),
        ({"user": {"user_id": BIG}}, "scope.user.user_id"),
        ({"user": {"user_id": "u", "app": BIG}}, "scope.user.app"),
        ({"app": ""}, "scope.app"),
        ({"app": BIG}, "scope.app"),
        ({"server": False}, "scope.server"),
    ],
)
def test_an_invalid_policy_scope_is_rejected(opened: Wire, scope: Any, field: str) -> None:
    opened.invalid(field, "GetCompactionPolicy", scope=scope)
    opened.invalid(field, "SetCompactionPolicy", scope=scope, policy={"disabled": True})


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({}, "archive"),
        ({"through_seq": 0}, "through_seq"),
        ({"through_seq": -(1 << 63)}, "through_seq"),
        ({"event_ids": {}}, "event_ids.ids"),
        ({"event_ids": {}, "inserts": [{"events": [summary()]}]}, "event_ids.ids"),
        ({"from_seq": -1, "through_seq": 2}, "from_seq"),
        ({"from_seq": 3, "through_seq": 2}, "from_seq"),
        ({"from_seq": 1, "event_ids": {"ids": ["U1"]}}, "from_seq"),
        ({"from_seq": 1, "inserts": [{"events": [summary()]}]}, "from_seq"),
        ({"event_ids": {"ids": ["U1", ""]}}, "event_ids.ids[1]"),
        ({"event_ids": {"ids": ["U1", "U2", "U1"]}}, "event_ids.ids[2]"),
        ({"event_ids": {"ids": ["U1", BIG]}}, "event_ids.ids[1]"),
        ({"event_ids": {"ids": [str(n) for n in range(100_001)]}}, "event_ids.ids"),
        ({"event_ids": {"ids": ["U1"]}, "branch": "sub"}, "event_ids.ids[0]"),
        ({"through_seq": 1, "compaction_id": BIG}, "compaction_id"),
        ({"through_seq": 1, "strategy": "\n"}, "strategy"),
        ({"through_seq": 1, "actor": BIG}, "actor"),
        ({"through_seq": 1, "branch": "a..b"}, "branch"),
        ({"through_seq": 1, "inserts": [{"before_event_id": BIG, "events": [summary()]}]}, "inserts[0].before_event_id"),
        ({"through_seq": 1, "inserts": [{}]}, "inserts[0].events"),
        ({"through_seq": 1, "inserts": [{"events": [summary(), user("x")]}]}, "inserts[0].events[1].synthetic"),
        (
            {"through_seq": 1, "inserts": [{"events": [summary(compaction_source="")]}]},
            "inserts[0].events[0].compaction_source",
        ),
        (
            {"through_seq": 1, "inserts": [{"events": [summary()]}, {"events": [summary(branch="x")]}], "branch": "y"},
            "inserts[0].events[0].branch",
        ),
        (
            {"through_seq": 1, "inserts": [{"events": [summary("s")]}, {"events": [summary("t"), summary("s")]}]},
            "inserts[1].events[1].event_id",
        ),
        ({"through_seq": 1, "inserts": [{"events": [summary(metadata_json="{")]}]}, "inserts[0].events[0].metadata_json"),
        (
            {"through_seq": 1, "inserts": [{"events": [event_pb2.SessionEvent(synthetic=True, compaction_source="x")]}]},
            "inserts[0].events[0].message",
        ),
    ],
)
def test_an_invalid_compaction_is_rejected(
    opened: Wire, ref: session_pb2.SessionRef, fields: dict[str, Any], field: str
) -> None:
    with opened.unchanged(ref):
        opened.invalid(field, "ApplyCompaction", session=ref, **fields)


@pytest.mark.parametrize(
    ("fields", "reason", "metadata"),
    [
        ({"event_ids": {"ids": ["A1"]}}, "BROKEN_TOOL_PAIR", {"event_id": "T1", "tied_to": "A1"}),
        ({"event_ids": {"ids": ["T1"]}}, "BROKEN_TOOL_PAIR", {"event_id": "A1", "tied_to": "T1"}),
        ({"event_ids": {"ids": ["A1", "nowhere"]}}, "EVENT_NOT_FOUND", {"event_id": "nowhere"}),
        ({"event_ids": {"ids": [str(n) for n in range(100_000)]}}, "EVENT_NOT_FOUND", {"event_id": "0"}),
        ({"expected_window_version": MAX, "through_seq": MAX}, "VERSION_MISMATCH", {"expected": str(MAX), "actual": "0"}),
        ({"expected_log_version": -1, "through_seq": 1}, "VERSION_MISMATCH", {"expected": "-1", "actual": "1"}),
        (
            {"event_ids": {"ids": ["U1"]}, "inserts": [{"events": [summary()]}, {"events": [summary(), summary("U2")]}]},
            "EVENT_ID_CONFLICT",
            {"event_id": "U2", "field": "inserts[1].events[1].event_id", "seq": "4"},
        ),
        (
            {"through_seq": 1, "inserts": [{"events": [summary()] * 600}, {"events": [summary()] * 600}]},
            "BATCH_TOO_LARGE",
            {"field": "inserts", "size": "1200", "limit": "1000", "unit": "events"},
        ),
        (
            {"through_seq": 1, "inserts": [{"events": [summary(), assistant("x" * (17 << 20))]}]},
            "INVALID_FIELD",
            {"field": "inserts[0].events[1].synthetic"},
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_rejected_compaction_changes_nothing(
    opened: Wire, ref: session_pb2.SessionRef, fields: dict[str, Any], reason: str, metadata: dict[str, str]
) -> None:
    with opened.unchanged(ref):
        refusal = opened.refused("ApplyCompaction", session=ref, **fields)
    assert refusal.reason == reason, refusal
    assert metadata.items() <= refusal.metadata.items()


def test_an_insert_over_the_limit_is_rejected_with_its_field(opened: Wire, ref: session_pb2.SessionRef) -> None:
    large = summary()
    large.message.parts[0].text = "x" * (17 << 20)
    refusal = opened.refused("ApplyCompaction", session=ref, through_seq=1, inserts=[{"events": [summary(), large]}])
    assert (refusal.reason, refusal.metadata["field"]) == ("EVENT_TOO_LARGE", "inserts[0].events[1]")


@pytest.mark.parametrize(
    ("events", "reason", "field"),
    [
        ([user("other", event_id="U1")], "EVENT_ID_CONFLICT", "events[0].event_id"),
        ([user("u2", event_id="U2"), user("u1", event_id="U1")], "INVALID_FIELD", "events[1]"),
        ([summary("s"), summary("s")], "INVALID_FIELD", "events[1].event_id"),
        ([event_pb2.SessionEvent()], "INVALID_FIELD", "events[0].message"),
        ([summary("s", branch="a..b")], "INVALID_FIELD", "events[0].branch"),
        ([tool_result("x", "lone", event_id="lone")], "BROKEN_TOOL_PAIR", None),
        ([summary()] * 1001, "BATCH_TOO_LARGE", "events"),
    ],
)
def test_an_invalid_replacement_is_rejected(
    opened: Wire, ref: session_pb2.SessionRef, events: list[event_pb2.SessionEvent], reason: str, field: str | None
) -> None:
    with opened.unchanged(ref):
        refusal = opened.refused("ReplaceEvents", session=ref, events=events, expected_log_version=1)
    assert (refusal.reason, refusal.metadata.get("field")) == (reason, field)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"event_ids": {"ids": ["U2", "U1"]}}, "event_ids.ids[1]"),
        (
            {
                "event_ids": {"ids": ["U2"]},
                "inserts": [{"events": [summary()]}, {"before_event_id": "U1", "events": [summary()]}],
            },
            "inserts[1].before_event_id",
        ),
        ({"inserts": [{"before_event_id": "U1", "events": [summary()]}] * 2}, "inserts[0].before_event_id"),
    ],
)
def test_archiving_an_archived_event_is_rejected_with_its_field(opened: Wire, fields: dict[str, Any], field: str) -> None:
    ref = opened.new_session()
    opened.append(ref, user("u1", event_id="U1"), user("u2", event_id="U2"))
    opened.call("ApplyCompaction", session=ref, event_ids={"ids": ["U1"]})
    with opened.unchanged(ref):
        refusal = opened.invalid(field, "ApplyCompaction", session=ref, expected_window_version=1, **fields)
    assert refusal.metadata["problem"].startswith("names event 'U1', which was archived already")


def test_inserting_an_archived_id_is_rejected_with_its_field(opened: Wire) -> None:
    ref = opened.new_session()
    opened.append(ref, user("u1", event_id="U1"), user("u2", event_id="U2"))
    opened.call("ApplyCompaction", session=ref, event_ids={"ids": ["U1"]})
    refusal = opened.refused(
        "ReplaceEvents", session=ref, events=[summary(), user("u1", event_id="U1")], expected_log_version=2
    )
    assert (refusal.reason, refusal.metadata["field"]) == ("EVENT_ID_CONFLICT", "events[1].event_id")


NO_SESSION = [
    ("CompactSession", {"strategy": STRATEGY}),
    ("PlanCompaction", {"strategy": STRATEGY}),
    ("ApplyCompaction", {"through_seq": 1}),
    ("ReplaceEvents", {}),
    ("ListCompactions", {}),
]


@pytest.mark.parametrize(("name", "fields"), NO_SESSION)
def test_a_missing_or_unknown_session_is_rejected(opened: Wire, name: str, fields: dict[str, Any]) -> None:
    opened.invalid("session.session_id", name, **fields)
    refusal = opened.refused(name, session={"session_id": "nobody"}, **fields)
    assert (refusal.reason, refusal.metadata["session_id"]) == ("SESSION_NOT_FOUND", "nobody")
    opened.call("CreateSession", session={"app": "x", "user_id": "u", "session_id": "twice"}, return_existing=True)
    opened.call("CreateSession", session={"app": "y", "user_id": "u", "session_id": "twice"}, return_existing=True)
    assert opened.refused(name, session={"session_id": "twice"}, **fields).reason == "AMBIGUOUS_SESSION"


def test_an_invalid_run_is_rejected(opened: Wire, ref: session_pb2.SessionRef) -> None:
    with opened.unchanged(ref):
        opened.invalid("strategy", "CompactSession", session=ref)
        opened.invalid("strategy", "PlanCompaction", session=ref)
        opened.invalid("actor", "CompactSession", session=ref, strategy=STRATEGY, actor=BIG)
        opened.invalid("branch", "CompactSession", session=ref, strategy=STRATEGY, branch=".")
        opened.invalid("page_size", "ListCompactions", session=ref, page_size=-1)
        summarizing = {"recursive_summary": {"max_events_to_keep": 1, "overlap": 0}}
        refusal = opened.refused("CompactSession", session=ref, strategy=summarizing)
        assert (refusal.code.name, refusal.reason) == ("FAILED_PRECONDITION", "SUMMARIZER_NOT_CONFIGURED")


@pytest.mark.parametrize("name", ["CompactSession", "ApplyCompaction", "SetCompactionPolicy", "GetContext"])
@pytest.mark.parametrize("raw", [b"\xff\xff\xff", b"\x0a\x05\x0a\x03\xff\xfe\xfd", b"\x0a\xff\xff\xff\xff\x0f"])
def test_bytes_that_are_not_a_message_are_rejected(opened: Wire, name: str, raw: bytes) -> None:
    assert opened.refused(name, raw).code.name in {"INVALID_ARGUMENT", "INTERNAL"}


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"mode": 99}, "spec.mode"),
        ({"last_n": 0}, "spec.last_n"),
        ({"max_turns": -1}, "spec.max_turns"),
        ({"max_bytes": 0}, "spec.max_bytes"),
        ({"max_tokens": -(1 << 63)}, "spec.max_tokens"),
        ({"branch": "a..b"}, "spec.branch"),
        ({"author_filters": [{}]}, "spec.author_filters[0]"),
        ({"author_filters": [{"include": {"ids": ["a"]}}, {"exclude": {}}]}, "spec.author_filters[1].exclude"),
        ({"author_filters": [{"include": {"ids": [""]}}]}, "spec.author_filters[0].include.ids"),
        ({"author_filters": [{"exclude": {"roles": [BIG]}}]}, "spec.author_filters[0].exclude.roles"),
        ({"author_roles": {str(n): "r" for n in range(1025)}}, "spec.author_roles"),
        ({"author_roles": {"a": BIG}}, "spec.author_roles['a']"),
        ({"author_roles": {"": "r"}}, "spec.author_roles key"),
    ],
)
def test_an_invalid_context_spec_is_rejected(opened: Wire, ref: session_pb2.SessionRef, spec: Any, field: str) -> None:
    opened.invalid(field, "GetContext", session=ref, spec=spec)


def test_the_largest_numbers_are_accepted(opened: Wire, ref: session_pb2.SessionRef) -> None:
    most = {"last_n": (1 << 31) - 1, "max_turns": (1 << 31) - 1, "max_bytes": MAX, "max_tokens": MAX}
    assert len(opened.call("GetContext", session=ref, spec=most).events) == 4
    with opened.unchanged(ref):
        for strategy in ({"token_budget": {"max_tokens": MAX}}, {"sliding_window": {"max_events": (1 << 31) - 1}}):
            answer = opened.call("CompactSession", session=ref, strategy=strategy, trigger={"turns_over": MAX})
            assert not answer.triggered
            assert not opened.call("CompactSession", session=ref, strategy=strategy).compacted
