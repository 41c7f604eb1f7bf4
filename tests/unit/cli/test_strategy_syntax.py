"""Parsing and printing of strategies and triggers on the command line."""

from __future__ import annotations

import pytest

from threadkeep import CompactionStrategy, CompactionTrigger, compaction
from threadkeep.cli.errors import CliError
from threadkeep.cli.strategy_syntax import shown_policy, shown_strategy, shown_trigger, strategy_of, trigger_of

TRIM = compaction.trim_tool_results(0, min_tokens=5)

STRATEGIES = [
    (["sliding-window=20"], compaction.sliding_window(20), "sliding-window=20"),
    (["turn-window"], compaction.turn_window(), "turn-window"),
    (["token-budget=4_000"], compaction.token_budget(4000), "token-budget=4000"),
    (["token-budget,max-tokens=7"], compaction.token_budget(7), "token-budget=7"),
    (
        ["recursive-summary=10,overlap=0,max-summary-tokens=9"],
        compaction.recursive_summary(10, overlap=0, max_summary_tokens=9),
        "recursive-summary=10,overlap=0,max-summary-tokens=9",
    ),
    (["webhook=summaries"], compaction.webhook("summaries"), "webhook=summaries"),
    (["consumer=12"], compaction.compacted_by("12"), "consumer=12"),
    (["trim-tool-results=0,min-tokens=5"], TRIM, "trim-tool-results=0,min-tokens=5"),
    (
        ["trim-tool-results=0,min-tokens=5", "turn-window=2"],
        compaction.pipeline(TRIM, compaction.turn_window(2)),
        "trim-tool-results=0,min-tokens=5 then turn-window=2",
    ),
]
TRIGGERS = [
    (["turns-over=10"], compaction.turns_over(10), "turns-over=10"),
    (["bytes=9"], compaction.size(9), "bytes=9"),
    (["tokens=5,events=3"], compaction.all_of(compaction.tokens(5), compaction.events(3)), "tokens=5,events=3"),
    (["tokens=5", "events=3"], compaction.any_of(compaction.tokens(5), compaction.events(3)), "(tokens=5 or events=3)"),
]


@pytest.mark.parametrize(("given", "strategy", "shown"), STRATEGIES)
def test_strategies_are_read_and_shown_alike(given: list[str], strategy: CompactionStrategy, shown: str) -> None:
    assert strategy_of(given, "") == strategy
    assert shown_strategy(strategy) == shown


@pytest.mark.parametrize(("given", "trigger", "shown"), TRIGGERS)
def test_triggers_are_read_and_shown_alike(given: list[str], trigger: CompactionTrigger, shown: str) -> None:
    assert trigger_of(given) == trigger
    assert shown_trigger(trigger) == shown


def test_missing_options_give_no_strategy_or_trigger() -> None:
    assert strategy_of(None, "") is None
    assert trigger_of([]) is None


@pytest.mark.parametrize("given", ["webhook", "webhook=", "consumer=a,name=b"])
def test_what_plans_elsewhere_needs_its_name_alone(given: str) -> None:
    with pytest.raises(CliError, match="needs a name"):
        strategy_of([given], "")


def test_a_strategy_may_be_json() -> None:
    made = strategy_of(None, '{"recursiveSummary": {"maxEventsToKeep": 4, "systemPrompt": "a, b"}}')
    assert made == compaction.recursive_summary(4, system_prompt="a, b")
    assert shown_strategy(compaction.recursive_summary(4, system_prompt="a, b")) == "recursive-summary=4"


def test_a_policy_in_one_line() -> None:
    trigger = compaction.any_of(compaction.turns_over(9), compaction.tokens(8))
    policy = compaction.policy(trigger, compaction.turn_window(3))
    assert shown_policy(policy) == "turn-window=3 if turns-over=9 or tokens=8"
    assert shown_policy(compaction.disabled()) == "never compact"


@pytest.mark.parametrize(
    ("given", "text", "says"),
    [
        (["window"], "", "there are sliding-window, turn-window"),
        (["pipeline"], "", "no strategy 'pipeline'"),
        (["turn-window=many"], "", "needs a number"),
        (["turn-window="], "", "needs a number"),
        (["turn-window=99999999999"], "", "32 or 64 bits"),
        (["turn-window=1,keep=2"], "", "no option 'keep'; it has max-turns"),
        (["recursive-summary=1,system-prompt=x"], "", "no option 'system-prompt'"),
        (["turn-window=1"], "{}", "either --strategy or --strategy-json"),
        (None, "{", "not CompactionStrategy as JSON"),
        (None, '{"turnWindow": {"turns": 1}}', "not CompactionStrategy as JSON"),
    ],
)
def test_a_wrong_strategy_is_reported_with_the_known_ones(given: list[str] | None, text: str, says: str) -> None:
    with pytest.raises(CliError, match=says) as caught:
        strategy_of(given, text)
    assert caught.value.code == 2


@pytest.mark.parametrize(("given", "says"), [("age=3", "there are turns-over, tokens"), ("tokens", "needs a number")])
def test_a_wrong_trigger_is_reported_with_the_known_ones(given: str, says: str) -> None:
    with pytest.raises(CliError, match=says):
        trigger_of([given])
