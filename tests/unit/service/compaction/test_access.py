"""Who may compact what, and the list of what was compacted."""

from __future__ import annotations

import pytest

from tests.support.sessions import ref
from tests.unit.service.bench import ALICE, CALLER, Bench
from threadkeep_server.domain.errors import (
    PermissionDenied,
    SessionNotFound,
)
from threadkeep_server.domain.model import NO_USAGE
from threadkeep_server.service.compaction.requests import Application

FOUR = "U1 A1 U2 A2"


async def test_an_unknown_session_is_an_error(bench: Bench) -> None:
    with pytest.raises(SessionNotFound):
        await bench.apply("U1", at=0)
    with pytest.raises(SessionNotFound):
        await bench.replace(at=0)
    with pytest.raises(SessionNotFound):
        await bench.service.compactions(CALLER, ref(), 10, None)


async def test_a_bound_caller_reaches_its_own(bench: Bench) -> None:
    theirs = await bench.session(FOUR, user="bob")
    await bench.session(FOUR)
    with pytest.raises(PermissionDenied):
        await bench.apply("U1", of=theirs, caller=ALICE)
    with pytest.raises(PermissionDenied):
        await bench.service.compactions(ALICE, theirs, 10, None)
    assert (await bench.service.apply(ALICE, Application(ref(user=""), 0, archive=["U1"]))).matched
    assert await bench.active(theirs) == FOUR
    assert await bench.active() == "A1 U2 A2"


async def test_compactions_are_listed_newest_first(bench: Bench) -> None:
    await bench.session(FOUR)
    done = [(await bench.apply(name)).compaction for name in ("U1", "A1", "U2")]
    first = await bench.service.compactions(CALLER, ref(), 2, None)
    rest = await bench.service.compactions(CALLER, ref(), 2, first.cursor)
    assert [*first.compactions, *rest.compactions] == done[::-1]
    assert rest.cursor is None
    assert (await bench.look()).usage == NO_USAGE
