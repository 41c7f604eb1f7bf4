"""Removals through the Python SDK."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from tests.api.conftest import ServerFactory
from threadkeep import AsyncClient, Change, LogVersion, RemovalKind, Removed, user
from threadkeep.errors import OperationConflict, VersionMismatch


async def test_a_session_is_popped_replaced_erased_and_cleared(start_server: ServerFactory) -> None:
    server = start_server()
    async with AsyncClient(f"127.0.0.1:{server.grpc_port}", app="shop", user_id="ada") as client:
        session = client.session("s1")
        await session.append(*(user(text, event_id=text) for text in "abcdef"), create_if_missing=True)
        popped = await session.pop(2)
        assert [event.text for event in popped.events] == ["e", "f"]
        done = await session.replace_suffix(["c", "d"], user("x", event_id="c"), operation_id="op")
        assert (done.removed, done.replayed) == (2, False)
        assert (await session.replace_suffix(["c", "d"], user("x"), operation_id="op")).replayed
        with pytest.raises(OperationConflict) as caught:
            await session.append("other", operation_id="op")
        assert caught.value.operation_id == "op"
        with pytest.raises(VersionMismatch):
            await session.replace_suffix(["nope"], user("x"))
        await session.append(user("new", event_id="b"), if_exists="replace")
        assert (await session.erase_events(["a"])).receipt.deleted_events == 1
        assert [event.text async for event in session.events()] == ["", "new", "b", "c", "d", "e", "f", "x"]
        assert (await session.clear()).removed == 2
        assert not (await session.get_context()).events
        changes = [change async for change in _removals(session.watch(from_beginning=True), 5)]
        assert [(change.kind, change.event_ids) for change in changes] == [
            (RemovalKind.REMOVAL_KIND_POPPED, ["e", "f"]),
            (RemovalKind.REMOVAL_KIND_REPLACED, ["c", "d"]),
            (RemovalKind.REMOVAL_KIND_REPLACED, ["b"]),
            (RemovalKind.REMOVAL_KIND_ERASED, ["a"]),
            (RemovalKind.REMOVAL_KIND_CLEARED, []),
        ]
        assert [[event.text for event in change.inserted] for change in changes] == [[], ["x"], ["new"], [], []]


async def test_events_of_an_invocation_and_of_a_branch_are_erased(start_server: ServerFactory) -> None:
    server = start_server()
    async with AsyncClient(f"127.0.0.1:{server.grpc_port}", app="shop", user_id="ada") as client:
        session = client.session("s1")
        runs = [("a", "i1", ""), ("b", "i2", "x"), ("c", "i1", "x"), ("d", "", "x.y"), ("e", "i3", "")]
        await session.append(
            *(user(text, invocation_id=run, branch=branch) for text, run, branch in runs), create_if_missing=True
        )
        done = await session.erase_events(invocation_ids=["i1", "i3"], operation_id="op")
        assert (done.erased, done.more, done.receipt.deleted_events) == (3, False, 3)
        assert [event.text async for event in session.events()] == ["", "b", "", "d", ""]
        again = await session.erase_events(invocation_ids=["i1", "i3"], operation_id="op")
        assert (again.replayed, again.more, again.receipt) == (True, False, done.receipt)
        assert (await session.erase_events(branch="x")).erased == 1
        assert (await session.erase_events(branch="x")).erased == 0
        assert [event.text async for event in session.events()] == ["", "", "", "d", ""]
        assert [(each.name, each.event_count) async for each in session.branches(page_size=1)] == [
            ("", 2),
            ("x", 2),
            ("x.y", 1),
        ]
        with pytest.raises(TypeError, match="invocation_ids must be a sequence"):
            await session.erase_events(invocation_ids="i1")


async def _removals(changes: AsyncGenerator[Change], count: int) -> AsyncGenerator[Removed]:
    async for change in changes:
        if isinstance(change, Removed):
            yield change
            count -= 1
            if not count:
                await changes.aclose()
                return


async def test_a_session_is_rewound_to_an_invocation(start_server: ServerFactory) -> None:
    server = start_server()
    async with AsyncClient(f"127.0.0.1:{server.grpc_port}", app="shop", user_id="ada") as client:
        session = client.session("s1")
        await session.create(state={"n": 0})
        for number, invocation in enumerate("ab"):
            event = user(invocation, event_id=invocation)
            event.invocation_id = invocation
            await session.append(event, state={"set": {"n": number + 1}})
        done = await session.rewind(at_invocation="a")
        assert (done.removed, done.restored, done.last_seq) == (1, 0, 2)
        assert dict(await session.state().get()) == {"n": 1}
        await session.rewind(at_log_version=0, expect=LogVersion(done.log_version))
        assert dict(await session.state().get()) == {"n": 0}
        assert not (await session.get_context()).events
        with pytest.raises(VersionMismatch):
            await session.rewind(at_seq=1, expect=LogVersion(1))
        changes = [change async for change in _removals(session.watch(from_beginning=True), 2)]
        assert [(change.kind, change.event_ids) for change in changes] == [
            (RemovalKind.REMOVAL_KIND_REWOUND, ["b"]),
            (RemovalKind.REMOVAL_KIND_REWOUND, ["a"]),
        ]
