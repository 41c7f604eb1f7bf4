"""The clients of the SDK: the blocking one is generated from the asynchronous one."""

from __future__ import annotations

import pytest

from tests.support.runs.short_form import given, leave_out, turn_of
from tests.support.runs.thoroughness import LONG
from tests.unit.sdk.flavors import FLAVORS


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In the short form a test runs with one of the clients, half of the tests with each."""
    if LONG:
        return
    gone = {item for item in items if item.nodeid.startswith("tests/api/sdk/") and _is_left_out(item)}
    leave_out(config, items, gone)


def _is_left_out(item: pytest.Item) -> bool:
    taken = FLAVORS[turn_of(item.nodeid.partition("[")[0]) % len(FLAVORS)]
    return given(item).get("flavor", taken) != taken
