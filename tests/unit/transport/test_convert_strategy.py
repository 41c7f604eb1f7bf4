"""Conversion of strategies, triggers and policies: documented defaults, and stored encodings."""

from __future__ import annotations

from typing import Any

import pytest

from threadkeep.v1 import compaction_pb2 as pb
from threadkeep_server.compaction.strategies.outside import AnyStrategy, Consumer, Webhook
from threadkeep_server.compaction.strategies.pipeline import Pipeline
from threadkeep_server.compaction.strategies.recursive_summary import RecursiveSummary
from threadkeep_server.compaction.strategies.sliding_window import SlidingWindow
from threadkeep_server.compaction.strategies.token_budget import TokenBudget
from threadkeep_server.compaction.strategies.trim_tool_results import TrimToolResults
from threadkeep_server.compaction.strategies.turn_window import TurnWindow
from threadkeep_server.compaction.triggers import AllOf, AnyOf, ByteSize, EventCount, TokenCount, Trigger, TurnCount
from threadkeep_server.domain.errors import InvalidField
from threadkeep_server.domain.model import Counters
from threadkeep_server.transport.convert.strategies import (
    policy_from_json,
    policy_of,
    stored_policy,
    strategy_of,
    trigger_of,
    trigger_to,
)


@pytest.mark.parametrize(
    ("message", "strategy"),
    [
        ({"sliding_window": {}}, SlidingWindow(20)),
        ({"sliding_window": {"max_events": 7}}, SlidingWindow(7)),
        ({"turn_window": {}}, TurnWindow(10)),
        ({"token_budget": {}}, TokenBudget(4000)),
        ({"token_budget": {"max_tokens": 1 << 62}}, TokenBudget(1 << 62)),
        ({"recursive_summary": {}}, RecursiveSummary(10, 2, max_summary_tokens=1024)),
        ({"recursive_summary": {"overlap": 0}}, RecursiveSummary(10, 0)),
        (
            {"recursive_summary": {"max_events_to_keep": 5, "overlap": 4, "system_prompt": "a", "shadow_prompt": "b"}},
            RecursiveSummary(5, 4, "a", "b"),
        ),
        ({"trim_tool_results": {}}, TrimToolResults(1, 64)),
        ({"trim_tool_results": {"keep_turns": 0, "min_tokens": 9}}, TrimToolResults(0, 9)),
        (
            {"pipeline": {"steps": [{"turn_window": {}}, {"recursive_summary": {}}]}},
            Pipeline((TurnWindow(), RecursiveSummary())),
        ),
        ({"webhook": {"name": "summaries"}}, Webhook("summaries")),
        ({"consumer": {"name": "compactor"}}, Consumer("compactor")),
    ],
)
def test_strategies_are_converted_with_defaults(message: dict[str, Any], strategy: AnyStrategy) -> None:
    read = strategy_of(pb.CompactionStrategy(**message))
    assert read == strategy
    assert read.name == next(iter(message))


@pytest.mark.parametrize(
    ("message", "trigger"),
    [
        ({"turns_over": 3}, TurnCount(3)),
        ({"tokens": 4}, TokenCount(4)),
        ({"bytes": 5}, ByteSize(5)),
        ({"events": 6}, EventCount(6)),
        ({"any_of": {"triggers": [{"tokens": 4}]}}, AnyOf((TokenCount(4),))),
        (
            {"all_of": {"triggers": [{"tokens": 4}, {"any_of": {"triggers": [{"events": 1}]}}]}},
            AllOf((TokenCount(4), AnyOf((EventCount(1),)))),
        ),
        ({"any_of": {"triggers": [{"tokens": n} for n in range(1, 33)]}}, AnyOf(tuple(TokenCount(n) for n in range(1, 33)))),
    ],
)
def test_triggers_are_converted(message: dict[str, Any], trigger: Trigger) -> None:
    assert trigger_of(pb.CompactionTrigger(**message)) == trigger


def test_every_strategy_and_trigger_of_the_proto_is_converted() -> None:
    """Fails if the API has a strategy or trigger that is not converted."""
    here = {"sliding_window", "turn_window", "token_budget", "recursive_summary", "trim_tool_results", "pipeline"}
    strategies = here | {"webhook", "consumer"}
    triggers = {"turns_over", "tokens", "bytes", "events", "any_of", "all_of"}
    for message, known in ((pb.CompactionStrategy, strategies), (pb.CompactionTrigger, triggers)):
        assert {field.name for field in message.DESCRIPTOR.oneofs_by_name["kind"].fields} == known


def test_a_policy_is_converted() -> None:
    policy = stored_policy(policy_from_json('{"trigger": {"tokens": "9"}, "strategy": {"turnWindow": {"maxTurns": 2}}}'))
    assert policy is not None
    assert (policy.trigger, policy.strategy) == (TokenCount(9), TurnWindow(2))
    assert policy.trigger.fires(Counters(tokens=9))
    assert stored_policy(policy_from_json('{"disabled": true}')) is None


def test_a_policy_with_the_longest_prompts_is_accepted() -> None:
    prompts: dict[str, Any] = {"system_prompt": "☂" * 32_768, "shadow_prompt": "😀" * 32_768}
    strategy = pb.CompactionStrategy(recursive_summary=pb.RecursiveSummary(**prompts))
    message = pb.CompactionPolicy(trigger=pb.CompactionTrigger(tokens=1), strategy=strategy)
    assert policy_of(message) is not None


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("\udc80", "body"),
        ("[]", "body"),
        ('{"trigger": {"tokens": 0}}', "trigger.tokens"),
        ('{"trigger": {"anyOf": {}}}', "trigger.any_of.triggers"),
        ('{"trigger": {"tokens": 1}, "strategy": {"pipeline": {"steps": [{}]}}}', "strategy.pipeline.steps[0]"),
    ],
)
def test_an_invalid_policy_in_json_is_rejected(text: str, field: str) -> None:
    with pytest.raises(InvalidField) as caught:
        policy_from_json(text)
    assert caught.value.metadata["field"] == field


@pytest.mark.parametrize("kind", ["webhook", "consumer"])
@pytest.mark.parametrize(
    ("name", "problem"), [("", "is required"), (" ", "blank"), ("x" * 256, "at most 255 bytes"), ("a\n", "control")]
)
def test_what_plans_elsewhere_needs_a_name(kind: str, name: str, problem: str) -> None:
    message: dict[str, Any] = {kind: {"name": name}}
    with pytest.raises(InvalidField, match=problem) as caught:
        strategy_of(pb.CompactionStrategy(**message))
    assert caught.value.metadata["field"] == f"strategy.{kind}.name"


@pytest.mark.parametrize("kind", ["webhook", "consumer"])
def test_what_plans_elsewhere_is_no_step_of_a_pipeline(kind: str) -> None:
    message: dict[str, Any] = {"pipeline": {"steps": [{"turn_window": {}}, {kind: {"name": "a"}}]}}
    with pytest.raises(InvalidField, match="whole strategy") as caught:
        strategy_of(pb.CompactionStrategy(**message))
    assert caught.value.metadata["field"] == f"strategy.pipeline.steps[1].{kind}"


def test_a_trigger_is_converted_back_unchanged() -> None:
    flat: list[dict[str, Any]] = [{"turns_over": 3}, {"tokens": 4}, {"bytes": 5}, {"events": 6}]
    wanted: dict[str, Any] = {"any_of": {"triggers": [*flat, {"all_of": {"triggers": flat}}]}}
    message = pb.CompactionTrigger(**wanted)
    assert trigger_to(trigger_of(message)) == message
