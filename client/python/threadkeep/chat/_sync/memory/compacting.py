# Generated from _async by `make sync-client`. Do not edit.
"""Compaction by the agent: after a reply, when a trigger fires."""

from __future__ import annotations

from .... import Client
from ....errors import NothingToCompact
from ....v1.compaction_pb2 import CompactionPlan, CompactionStrategy, CompactionTrigger, SummaryPrompt
from ....v1.session_pb2 import SessionRef, WindowCounters
from ...memory._callables_threads import Strategy, Trigger, called, check_callable
from ...memory.triggers import fires
from ...runtime.arguments import check_form
from ...telemetry.log import error_kind, warn
from ...types.messages import system, user
from ...types.options import ChatOptions
from ...types.requests import Prompt
from ..providers.model import ChatModel


class Compactor:
    """Compacts a session by a strategy. Without a trigger and a strategy it does nothing, and the server's policy applies."""

    def __init__(
        self,
        client: Client,
        trigger: Trigger | None,
        strategy: Strategy | None,
        summarizer: ChatModel | None,
        *,
        actor: str,
        timeout: float | None,
    ) -> None:
        """Raises ValueError if only one of trigger and strategy is given, or a summarizer without them or with a function as
        the strategy; TypeError for other types."""
        _check("trigger", trigger, CompactionTrigger)
        _check("strategy", strategy, CompactionStrategy)
        if summarizer is not None:
            check_form(summarizer, ChatModel, "SessionMemoryAdvisor", ("call", "stream"))
        if (trigger is None) != (strategy is None):
            raise ValueError("trigger and strategy: pass both, or neither to use the server's policy")
        if summarizer is not None and not isinstance(strategy, CompactionStrategy):
            raise ValueError("summarizer: it needs a trigger and a strategy of threadkeep.compaction that writes summaries")
        self._client = client
        self._trigger = trigger
        self._strategy = strategy
        self._summarizer = summarizer
        self._actor = actor
        self._timeout = timeout

    def after(self, ref: SessionRef, window: WindowCounters | None) -> None:
        """Compacts if the trigger fires for the window that an append left. Errors are logged, not raised."""
        if self._trigger is None or window is None:
            return
        try:
            if self._fires(window):
                self._compact(ref)
        except Exception as error:
            warn("compaction failed; the next reply retries it", session=ref.session_id, error=error_kind(error))

    def _fires(self, window: WindowCounters) -> bool:
        if self._trigger is None or isinstance(self._trigger, CompactionTrigger):
            return self._trigger is not None and fires(self._trigger, window)
        return bool(called(self._trigger, window))

    def _compact(self, ref: SessionRef) -> None:
        strategy = self._strategy
        if not isinstance(strategy, CompactionStrategy):
            self._plan(ref)
        elif self._summarizer is None:
            trigger = self._trigger if isinstance(self._trigger, CompactionTrigger) else None
            self._client.compact(ref, strategy, trigger=trigger, actor=self._actor, timeout=self._timeout)
        else:
            self._client.compact_with(ref, self._summarize, strategy, actor=self._actor, timeout=self._timeout)

    def _plan(self, ref: SessionRef) -> None:
        """Applies the plan of the caller's function to the window that it was made for. A lost race changes nothing."""
        if self._strategy is None or isinstance(self._strategy, CompactionStrategy):
            return
        context = self._client.get_context(ref, timeout=self._timeout)
        planned = called(self._strategy, context)
        if planned is None:
            return
        if isinstance(planned, str):
            try:
                self._client.apply_compaction(
                    ref, context=context, summary=planned, actor=self._actor, report_mismatch=True, timeout=self._timeout
                )
            except NothingToCompact:
                return
        elif not isinstance(planned, CompactionPlan):
            kind = type(planned).__name__
            raise TypeError(f"the strategy must return a CompactionPlan, the text of a summary or None, not {kind}")
        elif planned.archive_event_ids or planned.inserts:
            self._client.apply_compaction(
                ref,
                archive=planned.archive_event_ids,
                inserts=planned.inserts,
                expected_window_version=context.window_version,
                strategy=planned.strategy,
                actor=self._actor,
                report_mismatch=True,
                timeout=self._timeout,
            )

    def _summarize(self, prompt: SummaryPrompt) -> str:
        if self._summarizer is None:
            raise TypeError("there is no summarizer")
        options = ChatOptions(max_tokens=prompt.max_tokens or None).over(self._summarizer.default_options)
        answer = self._summarizer.call(Prompt((system(prompt.system_prompt), user(prompt.prompt)), options))
        return answer.text


def _check(argument: str, value: object, kind: type[CompactionTrigger | CompactionStrategy]) -> None:
    if isinstance(value, kind):
        if not value.ByteSize():
            raise ValueError(f"{argument} is empty: make one with threadkeep.compaction")
    elif callable(value) and not isinstance(value, type):
        check_callable(value, argument)
    elif value is not None:
        given = type(value).__name__
        raise TypeError(f"{argument} must be a {kind.__name__} (see threadkeep.compaction) or a function, not {given}")
