"""Runs a strategy on a session: reads the window, plans, requests a summary, applies the plan.

Nothing is locked meanwhile. The plan does not touch concurrent appends. After a concurrent compaction it is made again for the
new window, and a summary of the same text is reused.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from ...compaction.plan import Count, NewEvent, Plan, Strategy, SummaryRejected, SummaryRequest, Window, complete
from ...compaction.strategies.outside import Webhook
from ...compaction.triggers import Trigger
from ...domain.errors import EventIdConflict, SummarizerFailed, SummarizerNotConfigured, VersionMismatch, WebhookFailed
from ...domain.model import NO_COUNTERS, NO_USAGE, Compaction, Counters, EventDraft, SessionRef, Usage, counted
from ...providers.summarizers.base import Summarizer, Summary
from ...providers.summarizers.base import SummarizerFailed as ModelFailed
from ...store.contract.compaction import Compacted, CompactionRequest, CompactionStore, WindowRead
from ..run_in_thread import MOST_EVENTS, run_in_thread
from .prepared import Prepared
from .webhooks import PlanRequest, WebhookPlanner, planner_of

_log = logging.getLogger(__name__)

_ATTEMPTS = 5


class Composer(Protocol):
    """Creates the events of a plan."""

    def compose(self, new: NewEvent, event_id: str, time: int, original: bytes | None) -> EventDraft:
        """Returns the draft of a planned event. `original`: the sealed bytes of the tool result that a stub replaces."""
        ...


@dataclass(frozen=True, slots=True)
class StrategyRun:
    """A strategy to run on a session. `trigger` None: unconditionally."""

    tenant: str
    ref: SessionRef
    strategy: Strategy | Webhook
    branch: str = ""
    trigger: Trigger | None = None
    actor: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a run. `prepared` None: the trigger did not fire. `compaction` None: nothing changed."""

    prepared: Prepared | None = None
    compaction: Compaction | None = None
    lost_races: int = 0


@dataclass(slots=True)
class _Spent:
    """The summaries of one run by the digest of their request, and their usage."""

    summaries: dict[str, Summary]
    usage: Usage = NO_USAGE


class CompactionRunner:
    """Runs strategies. `count` counts the tokens of a prompt line; strategies with summaries require a summarizer, webhooks a
    planner."""

    def __init__(
        self,
        store: CompactionStore,
        composer: Composer,
        count: Count,
        summarizer: Summarizer | None,
        clock: Callable[[], int],
        new_id: Callable[[], str],
        webhooks: WebhookPlanner | None = None,
    ) -> None:
        self._store = store
        self._webhooks = webhooks
        self._composer = composer
        self._count = count
        self._summarizer = summarizer
        self._clock = clock
        self._new_id = new_id

    async def preview(self, run: StrategyRun) -> Outcome:
        """Returns the plan of `run` without applying it. Raises SessionNotFound, WebhookFailed, and InvalidField for an unknown
        webhook."""
        read = await self._read(run)
        if run.trigger is not None and not run.trigger.fires(read.session.window):
            return Outcome()
        return Outcome(await self._prepared(run, read, None))

    async def run(self, run: StrategyRun) -> Outcome:
        """Runs the strategy. Raises SessionNotFound, SummarizerNotConfigured, SummarizerFailed, WebhookFailed, InvalidField for
        an unknown webhook, and VersionMismatch after 5 attempts against concurrent compactions."""
        spent = _Spent({})
        for lost in range(_ATTEMPTS):
            read = await self._read(run)
            if run.trigger is not None and not run.trigger.fires(read.session.window):
                return Outcome(lost_races=lost)
            prepared = await self._prepared(run, read, spent)
            if prepared.plan.empty:
                return Outcome(prepared, lost_races=lost)
            try:
                compacted = await self._apply(run, prepared, spent.usage)
            except VersionMismatch as mismatch:
                _log.info("compaction of session %s lost against a concurrent one; planning again", read.session.uid)
                latest = mismatch
                continue
            return Outcome(prepared, compacted.compaction, lost)
        raise latest

    async def _apply(self, run: StrategyRun, prepared: Prepared, usage: Usage) -> Compacted:
        try:
            return await self._store.compact(self._request(run, prepared, usage))
        except EventIdConflict as conflict:  # only ids that others chose are in use
            if isinstance(run.strategy, Webhook):
                problem = f"returned a plan that is not valid: {conflict.message}"
                raise WebhookFailed(run.strategy.webhook, problem) from conflict
            raise

    async def _read(self, run: StrategyRun) -> WindowRead:
        with_text = isinstance(run.strategy, Webhook) or run.strategy.reads_text
        return await self._store.read_window(run.tenant, run.ref, with_text=with_text)

    async def _prepared(self, run: StrategyRun, read: WindowRead, spent: _Spent | None) -> Prepared:
        """Returns the plan. `spent` None: without its summary."""
        if isinstance(run.strategy, Webhook):
            webhooks = planner_of(self._webhooks, run.tenant, run.strategy)
            return await webhooks.plan(PlanRequest(run.strategy.webhook, run.tenant, read, run.trigger, run.branch))
        window = _window(read, run)
        plan = await self._plan(run.strategy, window)
        if spent is not None and plan.summary is not None:
            plan = await self._summarized(plan, plan.summary, window, spent)
        return await self._prepare(read, plan)

    async def _plan(self, strategy: Strategy, window: Window) -> Plan:
        return await run_in_thread(len(window.events), MOST_EVENTS, strategy.plan, window, self._count)

    async def _summarized(self, plan: Plan, request: SummaryRequest, window: Window, spent: _Spent) -> Plan:
        summary = spent.summaries.get(request.digest)
        if summary is None:
            summary = spent.summaries[request.digest] = await self._summary(request)
            spent.usage += summary.usage
        try:
            return await run_in_thread(len(window.events), MOST_EVENTS, complete, plan, summary.text, window, self._count)
        except SummaryRejected as rejected:
            raise SummarizerFailed(str(rejected)) from rejected

    async def _summary(self, request: SummaryRequest) -> Summary:
        if self._summarizer is None:
            raise SummarizerNotConfigured
        try:
            return await self._summarizer.summarize(
                system_prompt=request.system_prompt, prompt=request.prompt, max_tokens=request.max_tokens
            )
        except ModelFailed as failed:
            raise SummarizerFailed(failed.problem) from failed

    async def _prepare(self, read: WindowRead, plan: Plan) -> Prepared:
        now = self._clock()
        after = read.session.window - await run_in_thread(len(read.events), MOST_EVENTS, _archived, read, plan)
        inserts: dict[str | None, list[EventDraft]] = {}
        for before, events in plan.inserts.items():
            drafts = inserts[before] = []
            for new in events:
                draft = self._composer.compose(new, self._new_id(), now, read.bodies.get(new.stands_for))
                after += NO_COUNTERS if new.pending else draft.counters
                drafts.append(draft)
        return Prepared(plan, inserts, read.session, after)

    def _request(self, run: StrategyRun, prepared: Prepared, usage: Usage) -> CompactionRequest:
        return CompactionRequest(
            tenant=run.tenant,
            ref=prepared.session.ref,
            compaction_id=self._new_id(),
            now=self._clock(),
            archive=prepared.plan.archive,
            inserts=prepared.inserts,
            expected_window_version=prepared.session.window_version,
            strategy=prepared.plan.strategy,
            actor=run.actor,
            branch=run.branch,
            usage=usage,
        )


def _window(read: WindowRead, run: StrategyRun) -> Window:
    return Window(tuple(read.events), run.branch)


def _archived(read: WindowRead, plan: Plan) -> Counters:
    archived = set(plan.archive)
    return counted([event for event in read.events if event.event_id in archived])
