# Generated from _async by `make sync-client`. Do not edit.
"""The calls of all services."""

from __future__ import annotations

from .audit import Audit
from .consumers import Consumers
from .erasures import Erasures
from .events import Events
from .forks import Forks
from .policies import Policies
from .removals import Removals
from .retention import Retention
from .searches import Searches
from .session_reads import SessionReads
from .sessions import Sessions
from .states import States
from .subscriptions import Subscriptions
from .windows import Windows


class Calls(
    Sessions,
    Forks,
    Erasures,
    Events,
    SessionReads,
    Removals,
    States,
    Windows,
    Policies,
    Subscriptions,
    Consumers,
    Searches,
    Audit,
    Retention,
):
    """The calls of all services, each in a class of its own."""
