"""What a server that cannot serve says, and with which exit status it ends."""

from __future__ import annotations

import logging

from ..config.settings import ConfigError, Settings
from ..domain.errors import StoreUnavailable, ThreadkeepError
from ..store.sql.engine.sqlite_lock import DatabaseInUse
from ..store.sql.schema.foreign import ForeignDatabase
from ..store.sql.schema.row_security import RowSecurityBypassed
from ..store.sql.schema.servers import OlderServersRun
from ..store.sql.schema.versions import SchemaTooNew


class EnvoyFailed(Exception):
    """The server behind Envoy has logged why it cannot serve; `status` is the exit status."""

    def __init__(self, status: int) -> None:
        super().__init__("the server behind Envoy cannot serve")
        self.status = status


EXPECTED = (
    ConfigError,
    OSError,
    DatabaseInUse,
    ForeignDatabase,
    OlderServersRun,
    RowSecurityBypassed,
    SchemaTooNew,
    ThreadkeepError,
    ValueError,
)
"""The errors of a start that are not defects."""

_log = logging.getLogger("threadkeep")


def log_failure(settings: Settings, exc: Exception) -> int:
    """Logs one line for an expected error. Returns the exit status, 2 for invalid settings."""
    if isinstance(exc, ConfigError):
        _log.error("cannot serve: %s", "; ".join(exc.problems))
        return 2
    if isinstance(exc, StoreUnavailable):
        _log.error("cannot serve: %s: %s", settings.shown_database_url, exc.metadata["problem"])
    elif isinstance(exc, ForeignDatabase):
        _log.error("cannot serve: %s: %s", settings.shown_database_url, exc)
    elif isinstance(exc, OSError):
        reason = f"{exc.strerror}: {exc.filename}" if exc.filename else exc.strerror or str(exc)
        _log.error("cannot serve: %s", reason)
    else:
        _log.error("cannot serve: %s", exc)
    return 1
