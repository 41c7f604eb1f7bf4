"""The revision of a session that ADK holds: what an append expects, and when a mismatch is no conflict."""
# ruff: noqa: SLF001 - the session's private marker is where ADK's services keep it

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from google.adk.sessions import Session

from ..._async.client import AsyncClient
from ...errors import VersionMismatch
from ...filters import event_filter
from ...v1.event_service_pb2 import AppendEventsResponse
from ...v1.session_pb2 import SessionRef
from ...values.expect import Expect, LastEventId, LogVersion


@dataclass(frozen=True, slots=True)
class Revision:
    """The log version that a session was read at, or written to, and the seq of its last event then."""

    log_version: int
    last_seq: int

    @classmethod
    def of(cls, session: Session) -> Self | None:
        """The revision of a session; None if this adapter neither read nor wrote it."""
        version, _, seq = (session._storage_update_marker or "").partition(":")
        return cls(int(version), int(seq)) if version.isdecimal() and seq.isdecimal() else None

    def mark(self, session: Session) -> None:
        """Notes the revision in the session. Copies of the session have it too."""
        session._storage_update_marker = f"{self.log_version}:{self.last_seq}"

    def after(self, appended: AppendEventsResponse) -> Revision:
        """The revision after an append of one event."""
        if not appended.events[0].replayed:
            return Revision(appended.log_version, appended.last_seq)
        # An earlier attempt stored it. Others may have appended since, which the session does not have.
        seq = appended.events[0].seq
        return Revision(self.log_version + 1, seq) if seq > self.last_seq else self


def expected(session: Session, known: Revision | None) -> Expect:
    """What an append of the session requires: nobody else has changed the log."""
    if known is not None:
        return LogVersion(known.log_version)
    return LastEventId(session.events[-1].id if session.events else "")


async def only_compacted(
    client: AsyncClient, ref: SessionRef, known: Revision | None, mismatch: VersionMismatch
) -> Revision | None:
    """The revision to expect instead, if the log was only compacted since; None if somebody wrote.

    The server compacts by policies at any time. That changes what a context shows, but nothing that a writer has to read first.
    """
    if known is None or not mismatch.actual.isdecimal():
        return None
    actual, compactions = int(mismatch.actual), 0
    async for compaction in client.compactions(ref):
        if compaction.log_version <= known.log_version:
            break
        compactions += compaction.log_version <= actual
    if compactions == 0 or compactions != actual - known.log_version:
        return None
    written = await client.events_page(ref, event_filter(after_seq=known.last_seq, exclude_synthetic=True), page_size=1)
    return None if written.events else Revision(actual, known.last_seq)
