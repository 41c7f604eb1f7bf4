"""threadkeep.v1.CompactionService."""

from __future__ import annotations

from threadkeep.v1 import compaction_pb2
from threadkeep.v1 import compaction_service_pb2 as pb

from ...domain import validation
from ...domain.errors import VersionMismatch
from ...domain.model import Caller
from ...service.compaction.policies import PolicyService
from ...service.compaction.requests import Applied, CompactionService
from ..convert.compaction import application_of, compaction_to, conflicts_named, key_of, plan_to, replacement_of, scope_to
from ..convert.events import DraftMaker
from ..convert.sessions import ref_of, set_time
from ..convert.strategies import policy_of, strategy_of, trigger_of
from ..page_tokens import PageTokens


class CompactionServicer:
    def __init__(
        self,
        compaction: CompactionService,
        policies: PolicyService,
        limits: validation.Limits,
        tokens: PageTokens,
        make_draft: DraftMaker,
    ) -> None:
        self._compaction = compaction
        self._policies = policies
        self._limits = limits
        self._tokens = tokens
        self._make_draft = make_draft

    async def CompactSession(self, request: pb.CompactSessionRequest, caller: Caller) -> pb.CompactSessionResponse:
        branch = validation.branch("branch", request.branch)
        outcome = await self._compaction.run(
            caller,
            ref_of(request.session),
            strategy_of(request.strategy) if request.HasField("strategy") else None,
            trigger=trigger_of(request.trigger) if request.HasField("trigger") else None,
            branch=branch,
            actor=validation.identifier("actor", request.actor),
            dry_run=request.dry_run,
        )
        response = pb.CompactSessionResponse(lost_races=outcome.lost_races)
        if outcome.prepared is not None:
            response.triggered = True
            response.plan.CopyFrom(plan_to(outcome.prepared, branch))
        if outcome.compaction is not None:
            response.compacted = True
            response.compaction.CopyFrom(compaction_to(outcome.compaction))
        return response

    async def PlanCompaction(self, request: pb.PlanCompactionRequest, caller: Caller) -> pb.PlanCompactionResponse:
        ref, branch = ref_of(request.session), validation.branch("branch", request.branch)
        strategy = strategy_of(request.strategy) if request.HasField("strategy") else None
        prepared = (await self._compaction.run(caller, ref, strategy, branch=branch, dry_run=True)).prepared
        assert prepared is not None  # noqa: S101 - a run without a trigger always has a plan
        session = prepared.session
        return pb.PlanCompactionResponse(
            plan=plan_to(prepared, branch),
            window_version=session.window_version,
            log_version=session.log_version,
            last_seq=session.last_seq,
        )

    async def ApplyCompaction(self, request: pb.ApplyCompactionRequest, caller: Caller) -> pb.ApplyCompactionResponse:
        wanted = application_of(request, self._limits, self._make_draft)
        with conflicts_named(request):
            applied = await self._compaction.apply(caller, wanted)
        if not applied.matched and not request.report_mismatch:
            strict = wanted.expected_log_version
            versions = applied.versions
            if strict is not None and strict != versions.log_version:
                raise VersionMismatch(wanted.ref, expected=str(strict), actual=str(versions.log_version))
            raise VersionMismatch(wanted.ref, expected=str(wanted.expected_window_version), actual=str(versions.window_version))
        response = pb.ApplyCompactionResponse(
            applied=applied.matched and not request.dry_run,
            replayed=applied.replayed,
            log_version=applied.versions.log_version,
            window_version=applied.versions.window_version,
        )
        _set_compaction(response, applied)
        return response

    async def ReplaceEvents(self, request: pb.ReplaceEventsRequest, caller: Caller) -> pb.ReplaceEventsResponse:
        wanted = replacement_of(request, self._limits, self._make_draft)
        with conflicts_named(request):
            applied = await self._compaction.replace(caller, wanted)
        response = pb.ReplaceEventsResponse(
            replaced=applied.matched and not request.dry_run,
            log_version=applied.versions.log_version,
            window_version=applied.versions.window_version,
        )
        _set_compaction(response, applied)
        return response

    async def ListCompactions(self, request: pb.ListCompactionsRequest, caller: Caller) -> pb.ListCompactionsResponse:
        size = validation.page_size(
            "page_size", request.page_size, default=validation.DEFAULT_PAGE_SIZE, most=self._limits.max_page_size
        )
        cursor = self._tokens.read(request, caller, request.page_token, 1)[0] if request.page_token else None
        page = await self._compaction.compactions(caller, ref_of(request.session), size, cursor)
        return pb.ListCompactionsResponse(
            compactions=[compaction_to(each) for each in page.compactions],
            next_page_token="" if page.cursor is None else self._tokens.make(request, caller, page.cursor),
        )

    async def SetCompactionPolicy(
        self, request: pb.SetCompactionPolicyRequest, caller: Caller
    ) -> pb.SetCompactionPolicyResponse:
        body = None
        if request.HasField("policy"):
            policy_of(request.policy)
            body = request.policy.SerializeToString(deterministic=True)
        await self._policies.set(caller, key_of(request.scope), body)
        return pb.SetCompactionPolicyResponse()

    async def GetCompactionPolicy(
        self, request: pb.GetCompactionPolicyRequest, caller: Caller
    ) -> pb.GetCompactionPolicyResponse:
        stored, effective = await self._policies.get(caller, key_of(request.scope))
        response = pb.GetCompactionPolicyResponse()
        if stored is not None and stored.body is not None:
            response.policy.CopyFrom(compaction_pb2.CompactionPolicy.FromString(stored.body))
            set_time(response.update_time, stored.time)
        if effective is not None:
            response.effective_policy.CopyFrom(compaction_pb2.CompactionPolicy.FromString(effective.body))
            response.effective_scope.CopyFrom(scope_to(effective.key))
        return response


def _set_compaction(response: pb.ApplyCompactionResponse | pb.ReplaceEventsResponse, applied: Applied) -> None:
    if applied.compaction is not None:
        response.compaction.CopyFrom(compaction_to(applied.compaction))
