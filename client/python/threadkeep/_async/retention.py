"""Retention: the server's policies that archive and delete old sessions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from .._convert import SessionLike, encodable
from ..v1 import server_service_pb2 as ns
from ..v1.retention_pb2 import RetentionReceipt
from .connection import AsyncConnection
from .pages import paged


class AsyncRetention(AsyncConnection):
    """The calls on retention. All need the role admin, and raise RetentionNotConfigured and ArchiveFailed."""

    async def run_retention(
        self,
        policies: Sequence[str] = (),
        *,
        max_sessions: int = 0,
        dry_run: bool = False,
        ignore_hold: bool = False,
        run_token: str = "",
        timeout: float | None = None,
    ) -> ns.RunRetentionResponse:
        """Run retention policies over the sessions of the credential's tenant: archive and delete up to `max_sessions`, 0 is
        100, at most 1,000. Repeat it while the response has a `next_run_token`, with that as `run_token`.

        `policies`: their names, by default all. `dry_run`: change nothing, and return what a run would take. `ignore_hold`: run
        also while the server's clock may be wrong, which `held` of the response says. The call is not repeated by itself.
        Raises InvalidField for an unknown policy.
        """
        request = ns.RunRetentionRequest(
            policies=[encodable(each, "policies") for each in policies],
            max_sessions=max_sessions,
            dry_run=dry_run,
            ignore_hold=ignore_hold,
            run_token=run_token,
        )
        return await self._call((await self._stubs()).server.RunRetention, request, timeout)

    async def retention_receipts_page(
        self,
        *,
        app: str | None = None,
        user_id: str = "",
        session_id: str = "",
        page_size: int = 0,
        page_token: str = "",
        timeout: float | None = None,
    ) -> ns.ListRetentionReceiptsResponse:
        """Return one page of the receipts of sessions that retention deleted, newest first.

        `app`: of the sessions, "" is those without one, None is any; `user_id`, `session_id`: theirs, "" is any. `page_size`: 0
        is 100, at most 1,000. Raises InvalidPageToken.
        """
        request = ns.ListRetentionReceiptsRequest(
            user_id=encodable(user_id, "user_id"),
            session_id=encodable(session_id, "session_id"),
            page_size=page_size,
            page_token=page_token,
        )
        if app is not None:
            request.app = encodable(app, "app")
        return await self._call((await self._stubs()).server.ListRetentionReceipts, request, timeout)

    def retention_receipts(
        self,
        *,
        app: str | None = None,
        user_id: str = "",
        session_id: str = "",
        page_size: int = 0,
        timeout: float | None = None,
    ) -> AsyncIterator[RetentionReceipt]:
        """Iterate over all receipts that `retention_receipts_page` finds."""
        return paged(
            lambda token: self.retention_receipts_page(
                app=app, user_id=user_id, session_id=session_id, page_size=page_size, page_token=token, timeout=timeout
            ),
            lambda page: page.receipts,
        )

    async def restore_session(
        self, session: SessionLike, *, receipt_id: str = "", timeout: float | None = None
    ) -> ns.RestoreSessionResponse:
        """Store an archived session again, from its newest archive, or that of a receipt.

        Its events have their ids, seqs and bytes; its uid and the record times of its events are others. A repeated call
        changes nothing, and continues one that was interrupted. Raises SessionNotFound if there is no archive of it.
        """
        request = ns.RestoreSessionRequest(session=self._ref(session), receipt_id=encodable(receipt_id, "receipt_id"))
        return await self._call((await self._stubs()).server.RestoreSession, request, timeout)
