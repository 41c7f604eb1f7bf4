from __future__ import annotations

import pytest

from threadkeep_server.domain.errors import RateLimited
from threadkeep_server.service.call_limit import CallLimit


def test_as_many_calls_are_in_flight_as_allowed_and_each_end_admits_another() -> None:
    limit = CallLimit(2)
    with limit:
        with limit, pytest.raises(RateLimited, match="too many calls in flight") as refused, limit:
            pass
        with limit:
            pass
    assert refused.value.metadata == {"limit": "calls_in_flight"}
