# Generated from _async by `make sync-client`. Do not edit.
"""The calls that take events out of a session, or replace them."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence

from .._convert import SessionLike, encodable, mode_of, point_of
from ..messages import with_ids
from ..v1 import event_removal_pb2 as rm
from ..v1 import event_service_pb2 as es
from ..values.expect import LogVersion, version_of
from ..values.incoming import Appendable
from ..values.pages import Popped
from .connection import Connection


class Removals(Connection):
    """Calls that remove events.

    What leaves the active window is archived: it stays in the history and is found. With `erase` its content is erased, which
    needs the role ADMIN, and the answer has a `receipt`; tombstones stay. `operation_id`: the server remembers it with the
    outcome, and a repeated call with the same id and content returns that and changes nothing. By default a new one, so that
    the client's own retries are safe; to retry after a crash, give your own. `expect`: a precondition, `LogVersion(3)`, the
    version that was read; else VersionMismatch. Raises SessionNotFound, OperationConflict.
    """

    def pop(
        self,
        session: SessionLike,
        count: int = 1,
        *,
        branch: str | None = None,
        erase: bool = False,
        expect: LogVersion | None = None,
        operation_id: str = "",
        timeout: float | None = None,
    ) -> Popped:
        """Take the newest events out of the window and return them, the newest last: an atomic claim.

        Of concurrent calls each event is returned to one. `count`: up to 1,000. `branch`: only events of exactly this branch;
        "" is the root. Fewer are returned if the window has fewer. Raises VersionMismatch.
        """
        request = rm.PopEventsRequest(
            session=self._ref(session),
            count=count,
            branch=None if branch is None else encodable(branch, "branch"),
            mode=mode_of(erase),
            expected_log_version=version_of(expect, LogVersion),
            operation_id=named_operation(operation_id),
        )
        return Popped(self._call(self._stubs().events.PopEvents, request, timeout))

    def clear(
        self,
        session: SessionLike,
        *,
        erase: bool = False,
        expect: LogVersion | None = None,
        operation_id: str = "",
        timeout: float | None = None,
    ) -> rm.ClearEventsResponse:
        """Empty the active window. The session stays, with labels, policy and watchers; the log continues with the next seq.

        `erase` erases the whole log, archived events too. A writer that expects an earlier log_version is refused afterwards.
        Raises VersionMismatch.
        """
        request = rm.ClearEventsRequest(
            session=self._ref(session),
            mode=mode_of(erase),
            expected_log_version=version_of(expect, LogVersion),
            operation_id=named_operation(operation_id),
        )
        return self._call(self._stubs().events.ClearEvents, request, timeout)

    def rewind(
        self,
        session: SessionLike,
        *,
        at_seq: int | None = None,
        at_event: str | None = None,
        at_invocation: str | None = None,
        at_log_version: int | None = None,
        erase: bool = False,
        always: bool = False,
        expect: LogVersion | None = None,
        operation_id: str = "",
        timeout: float | None = None,
    ) -> rm.RewindSessionResponse:
        """Go back to a point: what came after it leaves the window, what left it since is active again, and the session's state
        has the values of then.

        The point is one of: `at_seq` and `at_event`, an event; `at_invocation`, the last event of an invocation;
        `at_log_version`. At most 10,000 events leave or come back; erased ones do not come back. With `always` the versions
        grow also if nothing changes. Raises EventNotFound, VersionMismatch, HistoryUnknown.
        """
        request = rm.RewindSessionRequest(
            session=self._ref(session),
            mode=mode_of(erase),
            always=always,
            expected_log_version=version_of(expect, LogVersion),
            operation_id=named_operation(operation_id),
            **point_of(at_seq, at_event, at_invocation, at_log_version),
        )
        return self._call(self._stubs().events.RewindSession, request, timeout)

    def erase_events(
        self,
        session: SessionLike,
        event_ids: Sequence[str] = (),
        *,
        invocation_ids: Sequence[str] = (),
        branch: str = "",
        expect: LogVersion | None = None,
        operation_id: str = "",
        timeout: float | None = None,
    ) -> rm.EraseEventsResponse:
        """Erase the content of up to 1,000 events, active or archived, in all their versions; the answer has a `receipt`.

        Give the `event_ids`, or `invocation_ids` (at most 64) or a `branch` (not the root) whose events to erase: while `more`
        is true, call again. Summaries and memories made of them stay. Erasing an erased event changes nothing. Raises
        EventNotFound, VersionMismatch, PermissionDenied.
        """
        if isinstance(invocation_ids, str):
            raise TypeError("invocation_ids must be a sequence of ids, not one")
        if isinstance(event_ids, str):
            raise TypeError("event_ids must be a sequence of ids, not one")
        request = rm.EraseEventsRequest(
            session=self._ref(session),
            event_ids=[encodable(each, "event_ids") for each in event_ids],
            invocation_ids=[encodable(each, "invocation_ids") for each in invocation_ids],
            branch=encodable(branch, "branch"),
            expected_log_version=version_of(expect, LogVersion),
            operation_id=named_operation(operation_id),
        )
        return self._call(self._stubs().events.EraseEvents, request, timeout)

    def replace_suffix(
        self,
        session: SessionLike,
        expected: Sequence[str],
        *events: Appendable | Iterable[Appendable],
        branch: str | None = None,
        erase: bool = False,
        operation_id: str = "",
        timeout: float | None = None,
    ) -> es.ReplaceSuffixResponse:
        """Replace the newest events of the window, if their ids are exactly `expected`, oldest first: compare and swap.

        Without `expected` the events are appended. `branch`: compares and replaces events of exactly this branch. An event may
        have the id of a removed one. Raises VersionMismatch, and changes nothing, for another suffix; EventIdConflict.
        """
        if isinstance(expected, str):
            raise TypeError("expected must be a sequence of ids, not one")
        request = es.ReplaceSuffixRequest(
            session=self._ref(session),
            expected_event_ids=[encodable(each, "expected") for each in expected],
            events=with_ids(*events),
            branch=None if branch is None else encodable(branch, "branch"),
            mode=mode_of(erase),
            operation_id=named_operation(operation_id),
        )
        return self._call(self._stubs().events.ReplaceSuffix, request, timeout)


def named_operation(operation_id: str) -> str:
    """Return the id, or a new one."""
    return encodable(operation_id, "operation_id") or str(uuid.uuid4())
