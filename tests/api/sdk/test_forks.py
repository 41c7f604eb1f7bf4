"""Forks and changes of owners through the Python SDK."""

from __future__ import annotations

import pytest

from tests.api.conftest import ServerFactory
from threadkeep import Appended, AsyncClient, SessionCreated, SessionMovedIn, SessionMovedOut, SessionParent, assistant, user
from threadkeep.errors import EventNotFound, InvalidField, SessionAlreadyExists, SessionNotFound
from threadkeep.v1.event_pb2 import SessionEvent


def said(text: str, invocation: str) -> SessionEvent:
    event = user(text, event_id=text)
    event.invocation_id = invocation
    return event


async def test_a_session_is_forked_at_every_kind_of_point(start_server: ServerFactory) -> None:
    server = start_server()
    async with AsyncClient(f"127.0.0.1:{server.grpc_port}", app="shop", user_id="ada") as client:
        session = client.session("s1")
        await session.append(said("a", "i1"), said("b", "i1"), create_if_missing=True, state={"set": {"n": 1}})
        await session.append(said("c", "i2"), state={"set": {"n": 2}})
        lengths = [
            (await session.fork(**point)).last_seq
            for point in ({}, {"at_seq": 1}, {"at_event": "b"}, {"at_invocation": "i1"}, {"at_log_version": 1})
        ]
        assert lengths == [3, 1, 2, 2, 2]
        made = await session.fork("f", at_invocation="i1", labels={"k": "v"}, metadata={"m": 1}, operation_id="op")
        assert (made.parent.session.session_id, made.parent.at_seq, made.parent.at_log_version) == ("s1", 2, 1)
        assert (dict(made.labels), made.metadata_json) == ({"k": "v"}, '{"m":1}')
        assert dict(await client.session("f").state().get()) == {"n": 1}
        again = await session.fork("f", at_invocation="i1", labels={"k": "v"}, metadata={"m": 1}, operation_id="op")
        assert again.uid == made.uid
        assert len([each async for each in client.sessions(forked_from="s1")]) == 6
        for point, error in (({"at_event": "x"}, EventNotFound), ({"at_seq": 9}, InvalidField)):
            with pytest.raises(error):
                await session.fork(**point)
        with pytest.raises(SessionAlreadyExists):
            await session.fork("f")
        with pytest.raises(ValueError, match="give one of"):
            await session.fork(at_seq=1, at_event="b")


async def test_an_imported_fork_has_the_parent_of_the_original(start_server: ServerFactory) -> None:
    server = start_server()
    async with AsyncClient(f"127.0.0.1:{server.grpc_port}", app="shop", user_id="ada") as client:
        await client.session("s1").append(user("a"), create_if_missing=True)
        made = await client.session("s1").fork("f")
        await client.delete_session("f")
        assert (await client.session("f").create(parent=made.parent, context_bytes=9)).parent == made.parent
        kept = await client.session("f").create(return_existing=True)
        assert (kept.parent, kept.context_bytes, kept.last_seq) == (made.parent, 9, 0)
        assert [each.ref.session_id async for each in client.sessions(forked_from="s1")] == ["f"]
        parent = SessionParent(session=made.ref, uid=made.uid)
        parent.session.user_id = "bob"
        with pytest.raises(InvalidField, match=r"parent\.session\.user_id"):
            await client.session("g").create(parent=parent)


async def test_a_fork_is_watched_from_its_beginning(start_server: ServerFactory) -> None:
    server = start_server()
    async with AsyncClient(f"127.0.0.1:{server.grpc_port}", app="shop", user_id="ada") as client:
        await client.session("s1").append(user("a"), assistant("b"), create_if_missing=True)
        made = await client.session("s1").fork("f")
        await client.session("f").append(user("c"))
        seen, token = [], ""
        async for change in client.session("f").watch(from_beginning=True):
            seen.append(change)
            if len(seen) == 2:
                token = change.resume_token
            if len(seen) == 3:
                break
        assert isinstance(seen[0], SessionCreated)
        assert seen[0].current == made
        assert [[event.text for event in each.events] for each in seen[1:] if isinstance(each, Appended)] == [["a", "b"], ["c"]]
        async for change in client.session("f").watch(resume_token=token):
            assert isinstance(change, Appended)
            assert [event.seq for event in change.events] == [3]
            break
        async for change in client.watch_all(from_beginning=True):
            if isinstance(change, Appended) and change.session_id == "f":
                assert [event.text for event in change.events] == ["c"]
                break


async def test_a_session_is_given_to_another_user(start_server: ServerFactory) -> None:
    server = start_server()
    async with AsyncClient(f"127.0.0.1:{server.grpc_port}", app="shop", user_id="ada") as client:
        session = client.session("s1")
        await session.append(user("a"), create_if_missing=True)
        made = await session.move("bob", operation_id="m")
        assert (made.ref.user_id, made.last_seq) == ("bob", 1)
        assert await session.move("bob", operation_id="m") == made
        with pytest.raises(SessionNotFound):
            await session.append(user("b"))
        await client.append(made.ref, user("b"))
        kinds = []
        async for change in client.watch_all(any_user=True, from_beginning=True):
            kinds.append(type(change))
            if len(kinds) == 5:
                break
        assert kinds == [SessionCreated, Appended, SessionMovedOut, SessionMovedIn, Appended]
        await session.create()
        with pytest.raises(SessionAlreadyExists):
            await client.move_session(made.ref, "ada")
