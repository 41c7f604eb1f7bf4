"""Builders of policies, triggers and strategies: `compaction.policy(compaction.turns_over(40), compaction.turn_window(20))`.

Numbers that are omitted, or 0, are the server's defaults, in parentheses. The protos specify the events that a strategy keeps.
"""

from __future__ import annotations

from collections.abc import Iterable

from grpc import StatusCode

from ._convert import check
from .errors import NothingToCompact
from .messages import EventFields, assistant, user
from .v1.compaction_pb2 import (
    CompactionInsert,
    CompactionPlan,
    CompactionPolicy,
    CompactionStrategy,
    CompactionTrigger,
    ConsumerStrategy,
    RecursiveSummary,
    SlidingWindow,
    StrategyPipeline,
    TokenBudget,
    TriggerList,
    TrimToolResults,
    TurnWindow,
    WebhookStrategy,
)
from .v1.compaction_service_pb2 import ApplyCompactionRequest
from .v1.event_pb2 import SessionEvent
from .v1.event_service_pb2 import GetContextResponse
from .v1.message_pb2 import Role
from .values.context import Context
from .values.incoming import Appendable, events_of

_SHADOW_PROMPT = "Summarize the conversation we had so far."
_SOURCE = "summary"

# --- triggers


def turns_over(n: int) -> CompactionTrigger:
    """The window has more than n turns."""
    return CompactionTrigger(turns_over=n)


def tokens(n: int) -> CompactionTrigger:
    """The window has n tokens or more."""
    return CompactionTrigger(tokens=n)


def size(n: int) -> CompactionTrigger:
    """The window has n bytes or more."""
    return CompactionTrigger(bytes=n)


def events(n: int) -> CompactionTrigger:
    """The window has n events or more."""
    return CompactionTrigger(events=n)


def any_of(*triggers: CompactionTrigger) -> CompactionTrigger:
    """Fires if one of these fires."""
    return CompactionTrigger(any_of=TriggerList(triggers=triggers))


def all_of(*triggers: CompactionTrigger) -> CompactionTrigger:
    """Fires if all of these fire."""
    return CompactionTrigger(all_of=TriggerList(triggers=triggers))


# --- strategies


def sliding_window(max_events: int = 0) -> CompactionStrategy:
    """Keep the newest events (20), from a turn start on."""
    return CompactionStrategy(sliding_window=SlidingWindow(max_events=max_events))


def turn_window(max_turns: int = 0) -> CompactionStrategy:
    """Keep the newest turns (10)."""
    return CompactionStrategy(turn_window=TurnWindow(max_turns=max_turns))


def token_budget(max_tokens: int = 0) -> CompactionStrategy:
    """Keep the newest turns that fit into this number of tokens (4,000)."""
    return CompactionStrategy(token_budget=TokenBudget(max_tokens=max_tokens))


def recursive_summary(
    keep: int = 0,
    *,
    overlap: int | None = None,
    system_prompt: str = "",
    shadow_prompt: str = "",
    max_summary_tokens: int = 0,
    max_prompt_tokens: int = 0,
) -> CompactionStrategy:
    """Keep the newest events (10) and replace all events before them by a model's summary.

    The model is shown `overlap` (2) of the kept events for continuity; its summary may have `max_summary_tokens` (1,024). The
    prompts are the instructions to it, and the user's text that precedes the summary. Of more than `max_prompt_tokens` (64,000)
    the oldest turns are summarized, and the next compaction continues.
    """
    summary = RecursiveSummary(
        max_events_to_keep=keep,
        overlap=overlap,
        system_prompt=system_prompt,
        shadow_prompt=shadow_prompt,
        max_summary_tokens=max_summary_tokens,
        max_prompt_tokens=max_prompt_tokens,
    )
    return CompactionStrategy(recursive_summary=summary)


def trim_tool_results(keep_turns: int | None = None, *, min_tokens: int = 0) -> CompactionStrategy:
    """Replace tool results of `min_tokens` (64) or more by stubs, except those of the newest turns (1)."""
    return CompactionStrategy(trim_tool_results=TrimToolResults(keep_turns=keep_turns, min_tokens=min_tokens))


def pipeline(*steps: CompactionStrategy) -> CompactionStrategy:
    """Several strategies, each applied to the result of the one before it; a recursive summary at most once, and last."""
    return CompactionStrategy(pipeline=StrategyPipeline(steps=steps))


def webhook(name: str) -> CompactionStrategy:
    """An HTTP endpoint plans: a webhook of that name in the server's configuration."""
    return CompactionStrategy(webhook=WebhookStrategy(name=name))


def compacted_by(consumer: str) -> CompactionStrategy:
    """Members of a named consumer compact: for policies. A change that requests it has `compaction_due`."""
    return CompactionStrategy(consumer=ConsumerStrategy(name=consumer))


# --- policies


def policy(trigger: CompactionTrigger, strategy: CompactionStrategy) -> CompactionPolicy:
    """Compact by the strategy when an append makes the trigger fire."""
    return CompactionPolicy(trigger=trigger, strategy=strategy)


def disabled() -> CompactionPolicy:
    """Never compact, even if a wider policy would."""
    return CompactionPolicy(disabled=True)


# --- with your own model


def insert(*events: Appendable | Iterable[Appendable], before: str = "") -> CompactionInsert:
    """New events and the id of the event that they precede; by default they go where the archived ones end, or to the end."""
    return CompactionInsert(before_event_id=before, events=events_of(events))


def replacing(
    context: Context | GetContextResponse,
    summary: str,
    inserts: Iterable[CompactionInsert],
    through_seq: int | None,
    branch: str,
) -> tuple[list[CompactionInsert], int, int]:
    """The inserts that replace the events of a context, and the first and last seq to archive."""
    check(context, (Context, GetContextResponse), "context")
    last, new = context.compactable_through_seq, list(inserts)
    if not last:
        raise NothingToCompact(
            "this context contains no event that a summary may replace (compactable_through_seq is 0): it is empty, or its "
            "filters or its branch hide the oldest events",
            code=StatusCode.FAILED_PRECONDITION,
        )
    if bool(check(summary, str, "summary").strip()) is bool(new):
        raise ValueError("give either the summary of the context, which is not blank, or inserts")
    if through_seq is not None and not context.first_seq <= through_seq <= last:
        raise ValueError(
            f"through_seq must be from {context.first_seq} to {last}, which the context contains, not {through_seq}"
        )
    return new or [summarized(summary, branch)], context.first_seq, last if through_seq is None else through_seq


def archiving(request: ApplyCompactionRequest, archive: Iterable[str], from_seq: int, through_seq: int | None) -> None:
    """Sets the events to archive: by their ids, or up to a seq; none without either."""
    ids = list(archive)
    if through_seq is not None:
        if ids:
            raise ValueError("give either archive or through_seq")
        request.through_seq, request.from_seq = through_seq, from_seq
    elif from_seq:
        raise ValueError("from_seq goes with through_seq")
    elif ids:
        request.event_ids.ids.extend(ids)


def summarized(summary: str, branch: str = "", *, before: str = "") -> CompactionInsert:
    """A summary as an insert: a separate turn, like the server's summaries. `before`: see `insert`."""
    marks = EventFields(synthetic=True, compaction_source=_SOURCE, branch=branch)
    return insert(user(_SHADOW_PROMPT, **marks), assistant(summary, **marks), before=before)


def plan(archive: Iterable[str], *inserts: CompactionInsert) -> CompactionPlan:
    """A plan of one's own: the ids of events to archive, and what to insert (see `summarized`, `insert`). A tool call and its
    result must leave together."""
    return CompactionPlan(archive_event_ids=archive, inserts=inserts)


def completed(plan: CompactionPlan, summary: str) -> Iterable[CompactionInsert]:
    """The inserts of a plan, with the model's summary in the event that the plan left empty."""
    wanted = plan.HasField("summary_prompt")
    if wanted is not bool(check(summary, str, "summary").strip()):
        raise ValueError("the plan requires a summary, give its text" if wanted else "the plan requires no summary")
    if not wanted:
        return plan.inserts
    filled = CompactionPlan(inserts=plan.inserts)
    for event in (event for each in filled.inserts for event in each.events if _is_pending(event)):
        event.message.parts[0].text = summary
    return filled.inserts


def _is_pending(event: SessionEvent) -> bool:
    parts = event.message.parts
    return event.message.role == Role.ROLE_ASSISTANT and len(parts) == 1 and parts[0].HasField("text") and not parts[0].text
