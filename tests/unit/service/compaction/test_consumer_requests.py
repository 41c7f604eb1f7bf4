"""Compactions left to consumers: which changes request one, and which requests count as unanswered."""

from __future__ import annotations

import pytest

from tests.support.sessions import TENANT, append, compact, ref
from tests.unit.service.background import background
from tests.unit.service.bench import ANSWER_S, CALLER, Bench, key, log
from threadkeep_server.compaction.triggers import EventCount
from threadkeep_server.domain.feed import Change, ChangeKind, Position
from threadkeep_server.domain.model import SECOND_NS
from threadkeep_server.service.compaction import consumer_requests as module
from threadkeep_server.store.contract.compaction import PolicyScope
from threadkeep_server.store.contract.consumers import ConsumerKey
from threadkeep_server.transport.convert.strategies import policy_from_json

POLICY = policy_from_json('{"trigger": {"events": 3}, "strategy": {"consumer": {"name": "compactor"}}}')
SERVER = key(PolicyScope.SERVER)
COMPACTOR = ConsumerKey(TENANT, "", "compactor")
LATE = round(ANSWER_S * SECOND_NS) + 1


def change(events: int, kind: ChangeKind = ChangeKind.APPENDED, tenant: str = TENANT) -> Change:
    return Change(Position(0, 1), kind, tenant, ref(), session=1, time=0, window_events=events)


async def test_an_append_beyond_the_trigger_is_a_request(bench: Bench) -> None:
    assert bench.requests.due(COMPACTOR, change(3)) is None, "there is no policy"
    await bench.policies.set(CALLER, SERVER, POLICY)
    assert bench.requests.due(COMPACTOR, change(3)) == EventCount(3)
    assert bench.requests.due(COMPACTOR, change(2)) is None
    assert bench.requests.due(COMPACTOR._replace(name="other"), change(3)) is None
    assert bench.requests.due(COMPACTOR, change(3, tenant="another")) is None
    for kind in set(ChangeKind) - {ChangeKind.APPENDED}:
        assert bench.requests.due(COMPACTOR, change(3, kind)) is None, "only appends, or a large window would loop"
    await bench.policies.set(CALLER, SERVER, None)
    assert bench.requests.due(COMPACTOR, change(3)) is None


async def test_the_server_does_not_compact_for_a_consumer(bench: Bench) -> None:
    await bench.policies.set(CALLER, SERVER, POLICY)
    await bench.session()
    async with background(bench) as working:
        await append(bench.store, *log("U1 U2 U3"))
        await working.settle()
        assert "lease" not in bench.store.calls
    assert await bench.active() == "U1 U2 U3"
    assert bench.requested.waiting == 1


async def test_a_bare_session_id_is_a_request_too(bench: Bench) -> None:
    await bench.policies.set(CALLER, SERVER, POLICY)
    await bench.session()
    async with background(bench) as working:
        await append(bench.store, *log("U1 U2 U3"), to=ref()._replace(app="", user_id=""))
        await working.settle()
    assert bench.requested.waiting == 1


async def test_an_unanswered_request_is_counted_once_after_the_deadline(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    await bench.policies.set(CALLER, SERVER, POLICY)
    await bench.session("U1 U2 U3")
    bench.requests.note(TENANT, ref())
    bench.clock.now += LATE // 2
    bench.requests.note(TENANT, ref())
    await bench.requests.look()
    assert (bench.requested.waiting, bench.requested.unanswered) == (1, 0)
    bench.clock.now += LATE // 2 + 1
    await bench.requests.look()
    await bench.requests.look()
    assert (bench.requested.waiting, bench.requested.unanswered) == (0, 1)
    [record] = [each for each in caplog.records if each.name == module.__name__]
    assert "'compactor' has not compacted 1 sessions within 600 s" in record.getMessage()


@pytest.mark.parametrize("why", ["compacted", "below", "deleted", "no policy"])
async def test_a_request_that_was_answered_or_is_void_is_not_counted(bench: Bench, why: str) -> None:
    await bench.policies.set(CALLER, SERVER, POLICY)
    await bench.session("U1 U2 U3 U4")
    bench.requests.note(TENANT, ref())
    bench.clock.now += LATE
    if why == "compacted":
        await compact(bench.store, ["U1"], now=bench.clock())
    elif why == "below":
        await compact(bench.store, ["U1", "U2", "U3"], now=0)
    elif why == "deleted":
        await bench.store.delete_session(TENANT, ref())
    else:
        await bench.policies.set(CALLER, SERVER, None)
    await bench.requests.look()
    assert (bench.requested.waiting, bench.requested.unanswered) == (0, 0)


async def test_noted_requests_are_bounded(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_WAITING", 2)
    for number in range(5):
        bench.requests.note(TENANT, ref()._replace(session_id=f"s{number}"))
    assert bench.requested.waiting == 2
