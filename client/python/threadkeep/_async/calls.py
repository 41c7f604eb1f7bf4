"""The calls of all services."""

from __future__ import annotations

from .audit import AsyncAudit
from .consumers import AsyncConsumers
from .erasures import AsyncErasures
from .events import AsyncEvents
from .forks import AsyncForks
from .policies import AsyncPolicies
from .removals import AsyncRemovals
from .retention import AsyncRetention
from .searches import AsyncSearches
from .session_reads import AsyncSessionReads
from .sessions import AsyncSessions
from .states import AsyncStates
from .subscriptions import AsyncSubscriptions
from .windows import AsyncWindows


class AsyncCalls(
    AsyncSessions,
    AsyncForks,
    AsyncErasures,
    AsyncEvents,
    AsyncSessionReads,
    AsyncRemovals,
    AsyncStates,
    AsyncWindows,
    AsyncPolicies,
    AsyncSubscriptions,
    AsyncConsumers,
    AsyncSearches,
    AsyncAudit,
    AsyncRetention,
):
    """The calls of all services, each in a class of its own."""
