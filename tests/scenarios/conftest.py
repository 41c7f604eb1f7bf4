"""Server processes, as in the fault tests."""

from __future__ import annotations

from tests.faults.conftest import database_url, durable_postgres, durable_url, make_server, servers

__all__ = ["database_url", "durable_postgres", "durable_url", "make_server", "servers"]
