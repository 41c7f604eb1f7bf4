"""Both forms of the kit, and both ways of asking."""

from __future__ import annotations

import pytest

from .kits import Kit, Way
from .serving import sdk, server, talk

__all__ = ["kit", "sdk", "server", "talk", "way"]


@pytest.fixture(params=["async", "sync"])
def kit(request: pytest.FixtureRequest) -> Kit:
    return Kit(is_async=request.param == "async")


@pytest.fixture(params=["call", "stream"])
def way(request: pytest.FixtureRequest, kit: Kit) -> Way:
    return Way(kit, streams=request.param == "stream")
