"""Conversion of strategies, triggers and policies: documented defaults, and stored encodings."""

from __future__ import annotations

from typing import Any

import pytest

from threadkeep.v1 import compaction_pb2 as pb
from threadkeep_server.compaction.plan import Strategy
from threadkeep_server.compaction.strategies.pipeline import Pipeline
from threadkeep_server.compaction.strategies.recursive_summary import RecursiveSummary
from threadkeep_server.compaction.strategies.sliding_window import SlidingWindow
from threadkeep_server.compaction.strategies.token_budget import TokenBudget
from threadkeep_server.compaction.strategies.trim_tool_results import TrimToolResults
from threadkeep_server.compaction.strategies.turn_window import TurnWindow
from threadkeep_server.compaction.triggers import AllOf, AnyOf, ByteSize, EventCount, TokenCount, Trigger, TurnCount
from threadkeep_server.domain.errors import InvalidField
from threadkeep_server.domain.model import Counters
from threadkeep_server.transport.convert.strategies import policy_from_json, policy_of, stored_policy, strategy_of, trigger_of


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
    ],
)
def test_strategies_are_converted_with_defaults(message: dict[str, Any], strategy: Strategy) -> None:
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
    strategies = {"sliding_window", "turn_window", "token_budget", "recursive_summary", "trim_tool_results", "pipeline"}
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
