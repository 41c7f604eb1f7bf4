"""The calls on context windows: reading and compacting; see `client`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Unpack

from .._convert import SessionLike, check, set_as_of
from ..compaction import archiving, completed, replacing
from ..errors import VersionMismatch
from ..memory import ContextFields, MemoryProvider, context_spec
from ..messages import new_event_id, with_ids
from ..v1 import compaction_service_pb2 as cs
from ..v1.compaction_pb2 import (
    Compaction,
    CompactionInsert,
    CompactionStrategy,
    CompactionTrigger,
    SummaryPrompt,
)
from ..v1.context_pb2 import ContextSpec
from ..v1.event_service_pb2 import GetContextRequest, GetContextResponse
from ..values.context import Context
from ..values.expect import LogVersion, version_of
from ..values.incoming import Appendable
from .connection import AsyncConnection
from .pages import paged


class AsyncWindows(AsyncConnection):
    """The calls on windows. `threadkeep.compaction` builds strategies and triggers."""

    async def get_context(
        self,
        session: SessionLike,
        spec: ContextSpec | MemoryProvider | None = None,
        *,
        as_of_seq: int | None = None,
        as_of_log_version: int | None = None,
        timeout: float | None = None,
        **fields: Unpack[ContextFields],
    ) -> Context:
        """Return the context of an agent: the SYSTEM event, the summaries, then whole turns of the active window.

        `spec`, or its `fields` (`last_n=20`, `max_tokens=8000`), select fewer; by default it is the window within the session's
        or the server's size. Messages are returned as they were appended; `to_openai()` and the like convert them. The context
        of an unknown session is empty. Raises AmbiguousSession.

        `as_of_seq` or `as_of_log_version`: what an agent was shown directly after that event was stored, or at that log
        version. If the size of contexts has changed since, give the `max_bytes` that the context had. Raises HistoryUnknown.
        """
        request = GetContextRequest(session=self._ref(session), spec=context_spec(spec, fields))
        set_as_of(request, as_of_seq, as_of_log_version)
        return Context(await self._call((await self._stubs()).events.GetContext, request, timeout))

    async def compact(
        self,
        session: SessionLike,
        strategy: CompactionStrategy | None = None,
        *,
        trigger: CompactionTrigger | None = None,
        branch: str = "",
        dry_run: bool = False,
        actor: str = "",
        timeout: float | None = None,
    ) -> cs.CompactSessionResponse:
        """Compact a session on the server: archive events, and insert summaries or stubs. Nothing is deleted.

        `strategy`: by default that of the session's policy. `trigger`: compact only if it fires. `branch`: only the events of
        this branch. `dry_run`: return the result without applying it. `actor`: the caller's name in the record. An empty
        compaction is no error. A summary takes as long as the server's model: set a `timeout`. Raises SessionNotFound,
        SummarizerNotConfigured, SummarizerFailed, VersionMismatch.
        """
        request = cs.CompactSessionRequest(
            session=self._ref(session), strategy=strategy, trigger=trigger, branch=branch, dry_run=dry_run, actor=actor
        )
        return await self._call((await self._stubs()).compaction.CompactSession, request, timeout)

    async def plan_compaction(
        self,
        session: SessionLike,
        strategy: CompactionStrategy | None = None,
        *,
        branch: str = "",
        timeout: float | None = None,
    ) -> cs.PlanCompactionResponse:
        """Return the plan of a strategy and its versions, for `apply_compaction`. Raises SessionNotFound."""
        request = cs.PlanCompactionRequest(session=self._ref(session), strategy=strategy, branch=branch)
        return await self._call((await self._stubs()).compaction.PlanCompaction, request, timeout)

    async def apply_compaction(
        self,
        session: SessionLike,
        planned: cs.PlanCompactionResponse | None = None,
        *,
        context: Context | GetContextResponse | None = None,
        summary: str = "",
        archive: Iterable[str] = (),
        from_seq: int = 0,
        through_seq: int | None = None,
        inserts: Iterable[CompactionInsert] = (),
        expected_window_version: int | None = None,
        expect: LogVersion | None = None,
        branch: str = "",
        strategy: str = "",
        actor: str = "",
        compaction_id: str = "",
        report_mismatch: bool = False,
        dry_run: bool = False,
        timeout: float | None = None,
    ) -> cs.ApplyCompactionResponse:
        """Archive and insert, unless another compaction happened since the caller read; appends do not conflict.

        With a `context` of `get_context` and a `summary` of it (or `inserts`): the events of the context are replaced, others
        stay; `through_seq` may end earlier. Or with a plan of `plan_compaction` as `planned`, and the `summary` it requires.

        Or with `inserts` (see `compaction.insert`), `archive` (event ids) or `through_seq` (every active event up to it, from
        `from_seq` on), and the `expected_window_version` that was read. `expect`, `LogVersion(3)`: appends conflict too. A
        mismatch raises VersionMismatch, or with `report_mismatch` returns `applied` false. `compaction_id`: the idempotency
        key, for retries. Raises SessionNotFound, NothingToCompact, BrokenToolPair, EventNotFound, EventIdConflict.
        """
        own = bool(archive) or bool(from_seq) or expected_window_version is not None
        if context is not None:
            if planned is not None or own:
                raise ValueError("give either a context, or a plan, or the events to archive")
            inserts, from_seq, through_seq = replacing(context, summary, inserts, through_seq, branch)
            expected_window_version = context.window_version
        request = cs.ApplyCompactionRequest(
            session=self._ref(session),
            compaction_id=compaction_id or new_event_id(),
            expected_log_version=version_of(expect, LogVersion),
            inserts=inserts,
            branch=branch,
            strategy=strategy,
            actor=actor,
            report_mismatch=report_mismatch,
            dry_run=dry_run,
        )
        if planned is not None:
            if own or any((through_seq, request.inserts, branch, strategy)):
                raise ValueError("give either a plan or the events to archive and insert, not both")
            plan = check(planned, cs.PlanCompactionResponse, "planned").plan
            request.inserts.extend(completed(plan, summary))
            request.branch, request.strategy = plan.branch, plan.strategy
            archive, expected_window_version = plan.archive_event_ids, planned.window_version
        if expected_window_version is None:
            raise ValueError("give the context that was summarized, or a plan, or the expected_window_version that you read")
        request.expected_window_version = expected_window_version
        archiving(request, archive, from_seq, through_seq)
        return await self._call((await self._stubs()).compaction.ApplyCompaction, request, timeout)

    async def compact_with(
        self,
        session: SessionLike,
        summarize: Callable[[SummaryPrompt], Awaitable[str]],
        strategy: CompactionStrategy | None = None,
        *,
        branch: str = "",
        actor: str = "",
        attempts: int = 5,
        timeout: float | None = None,
    ) -> Compaction | None:
        """Compact with the caller's model: plan, call `summarize` with the prompt, apply. None: nothing to compact.

        After a concurrent compaction it plans again, at most `attempts` times in all, and reuses the summary of an equal
        prompt. `timeout` applies to each call to the server. A blank summary raises ValueError, and errors of `summarize` are
        raised; the session is then unchanged. Raises SessionNotFound, and VersionMismatch after the last attempt.
        """
        if attempts < 1:
            raise ValueError("attempts must be at least 1")
        answers: dict[str, str] = {}
        for _ in range(attempts):
            planned = await self.plan_compaction(session, strategy, branch=branch, timeout=timeout)
            plan, summary = planned.plan, ""
            if not plan.archive_event_ids and not plan.inserts:
                return None
            if plan.HasField("summary_prompt"):
                digest = plan.summary_prompt.digest
                if digest not in answers:
                    answers[digest] = await summarize(plan.summary_prompt)
                summary = answers[digest]
                if not check(summary, str, "the summary").strip():
                    raise ValueError("the summary is blank; the session is unchanged")
            try:
                applied = await self.apply_compaction(session, planned, summary=summary, actor=actor, timeout=timeout)
            except VersionMismatch as mismatch:
                latest = mismatch
            else:
                return applied.compaction
        raise latest

    async def replace_events(
        self,
        session: SessionLike,
        *events: Appendable | Iterable[Appendable],
        expect: LogVersion,
        strategy: str = "",
        actor: str = "",
        dry_run: bool = False,
        timeout: float | None = None,
    ) -> cs.ReplaceEventsResponse:
        """Replace the active window by these events, unless the log changed since the version of `expect`.

        Active events among them, unchanged and in their order, stay; other active events are archived; new ones are inserted.
        `replaced` is false after a mismatch, and nothing changes. Raises SessionNotFound, BrokenToolPair,
        EventIdConflict.
        """
        request = cs.ReplaceEventsRequest(
            session=self._ref(session),
            events=with_ids(*events),
            expected_log_version=check(expect, LogVersion, "expect").version,
            strategy=strategy,
            actor=actor,
            dry_run=dry_run,
        )
        return await self._call((await self._stubs()).compaction.ReplaceEvents, request, timeout)

    async def compactions_page(
        self, session: SessionLike, *, page_size: int = 0, page_token: str = "", timeout: float | None = None
    ) -> cs.ListCompactionsResponse:
        """Return one page of compactions, newest first; `page_size` 0 is 100. Raises SessionNotFound, InvalidPageToken."""
        request = cs.ListCompactionsRequest(session=self._ref(session), page_size=page_size, page_token=page_token)
        return await self._call((await self._stubs()).compaction.ListCompactions, request, timeout)

    def compactions(
        self, session: SessionLike, *, page_size: int = 0, timeout: float | None = None
    ) -> AsyncIterator[Compaction]:
        """Iterate over all compactions that `compactions_page` finds."""
        return paged(
            lambda token: self.compactions_page(session, page_size=page_size, page_token=token, timeout=timeout),
            lambda page: page.compactions,
        )
