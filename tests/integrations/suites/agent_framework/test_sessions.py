"""The rules of `SessionStore`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Self

import pytest
from agent_framework import AgentSession, Message, SessionStore, register_state_type

from threadkeep import AsyncClient
from threadkeep.errors import InvalidField
from threadkeep.integrations.agent_framework import ThreadkeepHistoryProvider, ThreadkeepSessionStore


@dataclass
class Cart:
    """A type of the application, in the state of a session."""

    items: list[str]

    def to_dict(self) -> dict[str, Any]:
        return {"type": "tests.cart", **asdict(self)}

    @classmethod
    def from_dict(cls, value: dict[str, Any]) -> Self:
        return cls(value["items"])


register_state_type(Cart, type_id="tests.cart")


def test_store_is_a_session_store() -> None:
    assert issubclass(ThreadkeepSessionStore, SessionStore)


async def test_registered_types_of_the_state_are_restored(client: AsyncClient) -> None:
    session = AgentSession(session_id="s")
    session.state = {"cart": Cart(["tea"])}
    await ThreadkeepSessionStore(client).set("s", session)
    read = await ThreadkeepSessionStore(client).get("s")
    assert read is not None
    assert read.state == {"cart": Cart(["tea"])}


async def test_get_of_unknown_session_is_none(client: AsyncClient) -> None:
    assert await ThreadkeepSessionStore(client).get("never") is None


async def test_get_of_session_with_history_only_is_none(client: AsyncClient) -> None:
    await ThreadkeepHistoryProvider(client).save_messages("s", [Message("user", ["hi"])])
    assert await ThreadkeepSessionStore(client).get("s") is None


@pytest.mark.parametrize("service_id", [None, "thread_1", {"conversation": "c1", "response": "r2"}])
async def test_set_then_get_returns_an_equal_session(client: AsyncClient, service_id: str | dict[str, str] | None) -> None:
    store = ThreadkeepSessionStore(client)
    session = AgentSession(session_id="inner", service_session_id=service_id)
    session.state = {"cart": [1, 2.5, None, {"ünï": "\x00"}], "last": Message("user", ["hi"], message_id="m")}
    await store.set("outer", session)
    read = await store.get("outer")
    assert read is not None
    assert read.to_dict() == session.to_dict()
    assert isinstance(read.state["last"], Message), "registered types are restored"


async def test_get_returns_independent_copies(client: AsyncClient) -> None:
    store = ThreadkeepSessionStore(client)
    session = AgentSession(session_id="s")
    session.state = {"n": {"deep": 1}}
    await store.set("s", session)
    session.state["n"]["deep"] = 2
    first = await store.get("s")
    assert first is not None
    first.state["n"]["deep"] = 3
    second = await store.get("s")
    assert second is not None
    assert second.state == {"n": {"deep": 1}}


async def test_set_replaces_and_the_last_writer_wins(client: AsyncClient) -> None:
    store, other = ThreadkeepSessionStore(client), ThreadkeepSessionStore(client)
    old, new = AgentSession(session_id="s"), AgentSession(session_id="s")
    old.state, new.state = {"a": 1, "b": 1}, {"b": 2}
    await store.set("s", old)
    await other.set("s", new)
    read = await store.get("s")
    assert read is not None
    assert read.state == {"b": 2}


async def test_delete_removes_the_session_and_ignores_an_unknown_one(client: AsyncClient) -> None:
    store = ThreadkeepSessionStore(client)
    await store.set("s", AgentSession(session_id="s"))
    await store.delete("s")
    await store.delete("s")
    assert await store.get("s") is None


@pytest.mark.parametrize("method", ["get", "set", "delete"])
async def test_empty_id_is_refused(client: AsyncClient, method: str) -> None:
    store = ThreadkeepSessionStore(client)
    arguments = [AgentSession(session_id="s")] if method == "set" else []
    with pytest.raises(ValueError, match="non-empty"):
        await getattr(store, method)("", *arguments)


@pytest.mark.parametrize("session_id", ["a/b", "..", "CON", "ünï 🌞", "x" * 200])
async def test_ids_are_opaque(client: AsyncClient, session_id: str) -> None:
    store = ThreadkeepSessionStore(client)
    session = AgentSession(session_id=session_id)
    session.state = {"id": session_id}
    await store.set(session_id, session)
    read = await store.get(session_id)
    assert read is not None
    assert read.to_dict() == session.to_dict()


async def test_subclass_of_session_is_refused(client: AsyncClient) -> None:
    class Custom(AgentSession):
        """Has what a snapshot could not restore."""

    with pytest.raises(TypeError, match="Custom"):
        await ThreadkeepSessionStore(client).set("s", Custom(session_id="s"))


async def test_snapshot_above_the_limit_is_refused_with_a_reason(client: AsyncClient) -> None:
    session = AgentSession(session_id="s")
    session.state = {"blob": "x" * 1_100_000}
    with pytest.raises(InvalidField):
        await ThreadkeepSessionStore(client).set("s", session)
