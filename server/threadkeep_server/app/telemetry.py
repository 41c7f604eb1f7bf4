"""Composition of metrics."""

from __future__ import annotations

from dataclasses import replace

from ..service.call_limit import CallLimit
from ..service.sweeper import Sweeper
from ..transport.audit.file import AuditFile
from ..transport.failed_logins import FailedLogins
from ..transport.http.metrics import Sources


def with_ports(
    sources: Sources, audit: AuditFile | None, logins: FailedLogins | None, sweeper: Sweeper, calls: CallLimit
) -> Sources:
    """Returns the sources with those of the ports and of the sweep."""
    return replace(
        sources,
        audit_lost=None if audit is None else audit.lost,
        failed_logins=None if logins is None else logins.total,
        sweep_held=lambda: sweeper.hold is not None,
        calls_in_flight=lambda: calls.count,
    )
