"""The clients of the SDK: the blocking one is generated from the asynchronous one."""

from __future__ import annotations

import zlib

import pytest

from tests.support.runs.thoroughness import LONG
from tests.unit.sdk.flavors import FLAVORS


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In the short form a test runs with one of the clients, half of the tests with each."""
    if LONG:
        return
    gone = {item for item in items if item.nodeid.startswith("tests/api/sdk/") and _is_left_out(item)}
    items[:] = [item for item in items if item not in gone]
    config.hook.pytest_deselected(items=[*gone])


def _is_left_out(item: pytest.Item) -> bool:
    given = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    turn = zlib.crc32(item.nodeid.partition("[")[0].encode()) % len(FLAVORS)
    return "flavor" in given and given["flavor"] != FLAVORS[turn]
