"""Fixtures: both forms of the kit, each with call and stream."""

from __future__ import annotations

from collections import defaultdict

import pytest

from tests.support.runs.short_form import given, leave_out, turn_of
from tests.support.runs.thoroughness import LONG

from .async_and_sync import Kit, Way
from .conversations import sdk, server, talk

__all__ = ["kit", "sdk", "server", "talk", "way"]


@pytest.hookimpl(tryfirst=True)  # before tests that differ by their engine alone
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The short form takes two of a test's four forms, asynchronous and synchronous, whole and streamed; in turn these two or
    the others. The engine concerns only the server: it is PostgreSQL where the form is streamed."""
    if LONG:
        return
    tests: dict[str, dict[object, list[pytest.Item]]] = defaultdict(lambda: defaultdict(list))
    for item in items:
        if "kit" in given(item):
            others = tuple((name, id(value)) for name, value in given(item).items() if name not in ("kit", "way", "server"))
            tests[item.nodeid.partition("[")[0]][others].append(item)
    gone: set[pytest.Item] = set()
    for test, cases in tests.items():
        for turn, forms in enumerate(cases.values(), turn_of(test)):
            engines = {given(item).get("server") for item in forms}
            taken = {item for item in forms if _is_taken(item, turn=turn % 2 == 1, any_engine=len(engines) == 1)}
            gone.update(item for item in forms if taken and item not in taken)
    leave_out(config, items, gone)


def _is_taken(item: pytest.Item, *, turn: bool, any_engine: bool) -> bool:
    form = given(item)
    is_async = form["kit"] == "async"
    if "way" not in form:
        return any_engine or form["server"] == "sqlite" or is_async
    streams = form["way"] == "stream"
    return streams == (is_async != turn) and (any_engine or (form["server"] == "postgresql") == streams)


@pytest.fixture(params=["async", "sync"])
def kit(request: pytest.FixtureRequest) -> Kit:
    return Kit(is_async=request.param == "async")


@pytest.fixture(params=["call", "stream"])
def way(request: pytest.FixtureRequest, kit: Kit) -> Way:
    return Way(kit, streams=request.param == "stream")
