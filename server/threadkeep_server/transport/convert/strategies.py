"""Conversion of triggers, strategies and policies."""

from __future__ import annotations

from typing import Any

from threadkeep.v1 import compaction_pb2 as pb

from ...compaction.plan import Strategy
from ...compaction.strategies.outside import AnyStrategy, Consumer, Webhook
from ...compaction.strategies.pipeline import MAX_STEPS, Pipeline
from ...compaction.strategies.recursive_summary import RecursiveSummary
from ...compaction.strategies.sliding_window import SlidingWindow
from ...compaction.strategies.token_budget import TokenBudget
from ...compaction.strategies.trim_tool_results import TrimToolResults
from ...compaction.strategies.turn_window import TurnWindow
from ...compaction.triggers import MAX_DEPTH, AllOf, AnyOf, ByteSize, EventCount, TokenCount, Trigger, TurnCount
from ...domain import validation
from ...domain.errors import InvalidField
from ...service.compaction.policies import Policy
from ..wire.json_codec import from_json

_MAX_PROMPT_CHARACTERS = 32_768
_MAX_TRIGGERS = 32
# The size of a tree of triggers, which each append evaluates.
_MAX_TRIGGER_BYTES = 4096
# Two prompts of maximum length, at 4 bytes per character, and room for the rest.
_MAX_POLICY_BYTES = 512 << 10


def trigger_of(trigger: pb.CompactionTrigger, field: str = "trigger", depth: int = 0) -> Trigger:
    """Returns the validated trigger. Raises InvalidField with a field within `field`."""
    if depth == 0 and trigger.ByteSize() > _MAX_TRIGGER_BYTES:
        raise InvalidField(field, f"must have at most {_MAX_TRIGGER_BYTES} bytes")
    kind = trigger.WhichOneof("kind")
    if kind == "turns_over":
        return TurnCount(trigger.turns_over, field=field)
    if kind == "tokens":
        return TokenCount(trigger.tokens, field=field)
    if kind == "bytes":
        return ByteSize(trigger.bytes, field=field)
    if kind == "events":
        return EventCount(trigger.events, field=field)
    if kind == "any_of":
        return AnyOf(_several(trigger.any_of, f"{field}.any_of", depth), field=field)
    if kind == "all_of":
        return AllOf(_several(trigger.all_of, f"{field}.all_of", depth), field=field)
    raise InvalidField(field, "must set one of turns_over, tokens, bytes, events, any_of or all_of")


def trigger_to(trigger: Trigger) -> pb.CompactionTrigger:
    """The inverse of `trigger_of`."""
    match trigger:
        case TurnCount():
            return pb.CompactionTrigger(turns_over=trigger.max_turns)
        case TokenCount():
            return pb.CompactionTrigger(tokens=trigger.threshold)
        case ByteSize():
            return pb.CompactionTrigger(bytes=trigger.threshold)
        case EventCount():
            return pb.CompactionTrigger(events=trigger.threshold)
        case AnyOf():
            return pb.CompactionTrigger(any_of=pb.TriggerList(triggers=map(trigger_to, trigger.triggers)))
        case AllOf():
            return pb.CompactionTrigger(all_of=pb.TriggerList(triggers=map(trigger_to, trigger.triggers)))


def _several(triggers: pb.TriggerList, field: str, depth: int) -> tuple[Trigger, ...]:
    if depth >= MAX_DEPTH:
        raise InvalidField(field, f"must be nested at most {MAX_DEPTH} deep")
    if not 1 <= len(triggers.triggers) <= _MAX_TRIGGERS:
        raise InvalidField(f"{field}.triggers", f"must be 1 to {_MAX_TRIGGERS} triggers")
    return tuple(trigger_of(each, f"{field}.triggers[{i}]", depth + 1) for i, each in enumerate(triggers.triggers))


def strategy_of(strategy: pb.CompactionStrategy, field: str = "strategy") -> AnyStrategy:
    """Returns the validated strategy with defaults. Raises InvalidField with a field within `field`."""
    if strategy.HasField("webhook"):
        return Webhook(validation.identifier(f"{field}.webhook.name", strategy.webhook.name, required=True))
    if strategy.HasField("consumer"):
        return Consumer(validation.identifier(f"{field}.consumer.name", strategy.consumer.name, required=True))
    return _planned_here(strategy, field)


def _planned_here(strategy: pb.CompactionStrategy, field: str) -> Strategy:
    kind = strategy.WhichOneof("kind")
    if kind == "sliding_window":
        return SlidingWindow(**_given(max_events=strategy.sliding_window.max_events), field=field)
    if kind == "turn_window":
        return TurnWindow(**_given(max_turns=strategy.turn_window.max_turns), field=field)
    if kind == "token_budget":
        return TokenBudget(**_given(max_tokens=strategy.token_budget.max_tokens), field=field)
    if kind == "recursive_summary":
        return _recursive_summary(strategy.recursive_summary, field)
    if kind == "trim_tool_results":
        return _trim_tool_results(strategy.trim_tool_results, field)
    if kind == "pipeline":
        at = f"{field}.pipeline.steps"
        if len(strategy.pipeline.steps) > MAX_STEPS:
            raise InvalidField(at, f"must be 1 to {MAX_STEPS} strategies")
        return Pipeline(tuple(_step_of(step, f"{at}[{i}]") for i, step in enumerate(strategy.pipeline.steps)), field=field)
    raise InvalidField(
        field,
        "must set one of sliding_window, turn_window, token_budget, recursive_summary, trim_tool_results, pipeline, webhook or "
        "consumer",
    )


def _step_of(step: pb.CompactionStrategy, field: str) -> Strategy:
    if step.HasField("pipeline"):  # checked first, because pipelines can nest without limit
        raise InvalidField(f"{field}.pipeline", "must not be nested")
    if (kind := step.WhichOneof("kind")) in ("webhook", "consumer"):
        raise InvalidField(f"{field}.{kind}", "must be the whole strategy, not a step of a pipeline")
    return _planned_here(step, field)


def _recursive_summary(wanted: pb.RecursiveSummary, field: str) -> RecursiveSummary:
    at = f"{field}.recursive_summary"
    options = _given(
        max_events_to_keep=wanted.max_events_to_keep,
        system_prompt=_prompt(f"{at}.system_prompt", wanted.system_prompt),
        shadow_prompt=_prompt(f"{at}.shadow_prompt", wanted.shadow_prompt),
        max_summary_tokens=wanted.max_summary_tokens,
        max_prompt_tokens=wanted.max_prompt_tokens,
    )
    if wanted.HasField("overlap"):
        options["overlap"] = wanted.overlap
    return RecursiveSummary(**options, field=field)


def _trim_tool_results(wanted: pb.TrimToolResults, field: str) -> TrimToolResults:
    options = _given(min_tokens=wanted.min_tokens)
    if wanted.HasField("keep_turns"):
        options["keep_turns"] = wanted.keep_turns
    return TrimToolResults(**options, field=field)


def _given(**options: Any) -> dict[str, Any]:
    """Returns the options that are set; the strategies define the defaults."""
    return {name: value for name, value in options.items() if value}


def _prompt(field: str, value: str) -> str:
    if len(value) > _MAX_PROMPT_CHARACTERS:
        raise InvalidField(field, f"must have at most {_MAX_PROMPT_CHARACTERS} characters")
    return value


def policy_of(policy: pb.CompactionPolicy, field: str = "policy") -> Policy | None:
    """Returns the policy; None disables compaction. Raises InvalidField with a field within `field`."""
    if policy.ByteSize() > _MAX_POLICY_BYTES:
        raise InvalidField(field, f"must have at most {_MAX_POLICY_BYTES} bytes")
    if policy.disabled:
        return None
    return Policy(trigger_of(policy.trigger, f"{field}.trigger"), strategy_of(policy.strategy, f"{field}.strategy"))


def stored_policy(body: bytes) -> Policy | None:
    """Decodes a stored policy; see service.compaction.policies.Decode."""
    return policy_of(pb.CompactionPolicy.FromString(body))


def policy_from_json(text: str) -> bytes:
    """Returns the stored encoding of a policy in JSON. Raises InvalidField with a field of the policy."""
    policy = from_json(text.encode(errors="surrogatepass"), pb.CompactionPolicy)
    try:
        policy_of(policy)
    except InvalidField as error:
        raise InvalidField(error.metadata["field"].removeprefix("policy."), error.metadata["problem"]) from None
    return policy.SerializeToString(deterministic=True)
