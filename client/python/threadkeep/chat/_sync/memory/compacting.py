# Generated from _async by `make sync-client`. Do not edit.
"""Compaction by the agent: after a reply, when a trigger fires."""

from __future__ import annotations

from .... import Client
from ....v1.compaction_pb2 import CompactionStrategy, CompactionTrigger, SummaryPrompt
from ....v1.session_pb2 import SessionRef, WindowCounters
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
        trigger: CompactionTrigger | None,
        strategy: CompactionStrategy | None,
        summarizer: ChatModel | None,
        *,
        actor: str,
        timeout: float | None,
    ) -> None:
        """Raises ValueError if only one of trigger and strategy is given, or a summarizer without them; TypeError for other
        types."""
        _check("trigger", trigger, CompactionTrigger)
        _check("strategy", strategy, CompactionStrategy)
        if summarizer is not None:
            check_form(summarizer, ChatModel, "SessionMemoryAdvisor", ("call", "stream"))
        if (trigger is None) != (strategy is None):
            raise ValueError("trigger and strategy: pass both, or neither to use the server's policy")
        if summarizer is not None and strategy is None:
            raise ValueError("summarizer: it needs a trigger and a strategy that writes summaries")
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
            if not fires(self._trigger, window):
                return
            if self._summarizer is None:
                self._client.compact(ref, self._strategy, trigger=self._trigger, actor=self._actor, timeout=self._timeout)
            else:
                self._client.compact_with(ref, self._summarize, self._strategy, actor=self._actor, timeout=self._timeout)
        except Exception as error:
            warn("compaction failed; the next reply retries it", session=ref.session_id, error=error_kind(error))

    def _summarize(self, prompt: SummaryPrompt) -> str:
        if self._summarizer is None:
            raise TypeError("there is no summarizer")
        options = ChatOptions(max_tokens=prompt.max_tokens or None).over(self._summarizer.default_options)
        answer = self._summarizer.call(Prompt((system(prompt.system_prompt), user(prompt.prompt)), options))
        return answer.text


def _check(argument: str, value: object, kind: type[CompactionTrigger | CompactionStrategy]) -> None:
    if value is None:
        return
    if not isinstance(value, kind):
        raise TypeError(f"{argument} must be a {kind.__name__} (see threadkeep.compaction), not {type(value).__name__}")
    if not value.ByteSize():
        raise ValueError(f"{argument} is empty: make one with threadkeep.compaction")
