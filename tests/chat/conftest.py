"""Fixtures: both forms of the kit, each with call and stream."""

from __future__ import annotations

import pytest

from tests.support.runs.thoroughness import LONG

from .async_and_sync import Kit, Way
from .conversations import sdk, server, talk

__all__ = ["kit", "sdk", "server", "talk", "way"]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselects tests on PostgreSQL, except for async streams, unless LONG is set: the database concerns only the server."""
    if LONG:
        return
    left_out = [item for item in items if _is_repeated(item)]
    items[:] = [item for item in items if not _is_repeated(item)]
    config.hook.pytest_deselected(items=left_out)


def _is_repeated(item: pytest.Item) -> bool:
    given = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    return given.get("server") == "postgresql" and (given.get("kit") == "sync" or given.get("way") == "call")


@pytest.fixture(params=["async", "sync"])
def kit(request: pytest.FixtureRequest) -> Kit:
    return Kit(is_async=request.param == "async")


@pytest.fixture(params=["call", "stream"])
def way(request: pytest.FixtureRequest, kit: Kit) -> Way:
    return Way(kit, streams=request.param == "stream")
