"""The methods of threadkeep.v1.ServerService on retention."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import astuple

from threadkeep.v1 import retention_pb2, session_pb2
from threadkeep.v1 import server_service_pb2 as pb

from ...domain import validation
from ...domain.errors import InvalidField, InvalidPageToken
from ...domain.model import Caller
from ...domain.retention.policies import Action
from ...domain.retention.receipts import Archived, Outcome, Receipt, RunPlace
from ...service.retention.service import MOST_SESSIONS, ReceiptQuery, RetentionService, RunReport, RunRequest
from ..convert.sessions import ref_of, set_time
from ..page_tokens import PageTokens

_DEFAULT = 100
_ACTIONS: Mapping[Action, retention_pb2.RetentionAction.ValueType] = {
    Action.ARCHIVE: retention_pb2.RETENTION_ACTION_ARCHIVE,
    Action.DELETE: retention_pb2.RETENTION_ACTION_DELETE,
}
_OUTCOMES: Mapping[Outcome, retention_pb2.RetentionOutcome.ValueType] = {
    Outcome.PLANNED: retention_pb2.RETENTION_OUTCOME_PLANNED,
    Outcome.DELETED: retention_pb2.RETENTION_OUTCOME_DELETED,
    Outcome.CHANGED: retention_pb2.RETENTION_OUTCOME_CHANGED,
    Outcome.FAILED: retention_pb2.RETENTION_OUTCOME_FAILED,
}


class RetentionMethods:
    """A part of ServerServicer."""

    def __init__(self, retention: RetentionService, tokens: PageTokens) -> None:
        self._retention = retention
        self._receipt_tokens = tokens

    async def RunRetention(self, request: pb.RunRetentionRequest, caller: Caller) -> pb.RunRetentionResponse:
        validation.count("policies", request.policies, validation.MAX_CHOICES)
        report = await self._retention.run(
            caller,
            RunRequest(
                limit=_limit("max_sessions", request.max_sessions),
                policies=request.policies,
                since=self._place_of(request, caller),
                dry=request.dry_run,
                ignore_hold=request.ignore_hold,
            ),
        )
        return self._report_to(report, request, caller)

    async def ListRetentionReceipts(
        self, request: pb.ListRetentionReceiptsRequest, caller: Caller
    ) -> pb.ListRetentionReceiptsResponse:
        before = self._receipt_tokens.read_text(request, caller, request.page_token) if request.page_token else ""
        query = _query(request, before)
        found = list(await self._retention.list(caller, query))
        page = found[: query.limit - 1]
        more = len(found) > len(page)
        token = self._receipt_tokens.make_text(request, caller, page[-1].id) if more else ""
        return pb.ListRetentionReceiptsResponse(receipts=map(_receipt_to, page), next_page_token=token)

    async def RestoreSession(self, request: pb.RestoreSessionRequest, caller: Caller) -> pb.RestoreSessionResponse:
        ref = ref_of(request.session)
        if not (ref.user_id or caller.user_id):
            raise InvalidField("session.user_id", "is required: the session is not stored, and its owner cannot be looked up")
        receipt_id = validation.identifier("receipt_id", request.receipt_id)
        receipt, restored = await self._retention.restore(caller, ref, receipt_id)
        return pb.RestoreSessionResponse(
            receipt=_receipt_to(receipt), restored_events=restored.added, found_events=restored.found
        )

    def _place_of(self, request: pb.RunRetentionRequest, caller: Caller) -> RunPlace | None:
        """Returns where an earlier call of the run ended. Raises InvalidField."""
        if not request.run_token:
            return None
        try:
            text = self._receipt_tokens.read_text(_run_of(request), caller, request.run_token)
        except InvalidPageToken as error:
            raise InvalidField("run_token", f"{error.metadata['problem']}; begin without it") from None
        now, policy, cursor = json.loads(text)
        return RunPlace(now, policy, None if cursor is None else (cursor[0], cursor[1]))

    def _report_to(self, report: RunReport, request: pb.RunRetentionRequest, caller: Caller) -> pb.RunRetentionResponse:
        made = _report_to(report)
        if report.following is not None:
            place = json.dumps(astuple(report.following))
            made.next_run_token = self._receipt_tokens.make_text(_run_of(request), caller, place)
        return made


def _run_of(request: pb.RunRetentionRequest) -> pb.RunRetentionRequest:
    """Returns what the calls of a run have in common."""
    return pb.RunRetentionRequest(policies=request.policies, ignore_hold=request.ignore_hold)


def _limit(field: str, value: int) -> int:
    """Returns a number of sessions or receipts. Raises InvalidField."""
    return validation.page_size(field, value, default=_DEFAULT, most=MOST_SESSIONS)


def _query(request: pb.ListRetentionReceiptsRequest, before: str) -> ReceiptQuery:
    """Returns what the request lists, and one more. Raises InvalidField."""
    return ReceiptQuery(
        app=validation.identifier("app", request.app) if request.HasField("app") else None,
        user_id=validation.identifier("user_id", request.user_id),
        session_id=validation.identifier("session_id", request.session_id),
        limit=_limit("page_size", request.page_size) + 1,
        before=before,
    )


def _report_to(report: RunReport) -> pb.RunRetentionResponse:
    totals = [
        retention_pb2.RetentionTotal(policy=name, sessions=total.sessions, events=total.events, window_bytes=total.size)
        for name, total in report.totals.items()
    ]
    receipts = map(_receipt_to, report.receipts)
    return pb.RunRetentionResponse(run_id=report.run_id, receipts=receipts, totals=totals, more=report.more, held=report.held)


def _receipt_to(receipt: Receipt) -> retention_pb2.RetentionReceipt:
    ref = receipt.ref
    made = retention_pb2.RetentionReceipt(
        id=receipt.id,
        run_id=receipt.run_id,
        policy=receipt.policy,
        action=_ACTIONS[receipt.action],
        session=session_pb2.SessionRef(app=ref.app, user_id=ref.user_id, session_id=ref.session_id),
        uid=receipt.uid,
        events=receipt.events,
        window_bytes=receipt.size,
        outcome=_OUTCOMES[receipt.outcome],
        explanation=receipt.reason,
        archive=None if receipt.archive is None else _archive_to(receipt.archive),
    )
    set_time(made.create_time, receipt.create_time)
    set_time(made.update_time, receipt.update_time)
    set_time(made.outcome_time, receipt.time)
    if receipt.restored:
        set_time(made.restore_time, receipt.restored)
    return made


def _archive_to(archive: Archived) -> retention_pb2.RetentionArchive:
    return retention_pb2.RetentionArchive(
        name=archive.name,
        format=archive.form.value,
        sha256=archive.sha256,
        size_bytes=archive.size,
        lines_sha256=archive.lines_sha256,
    )
