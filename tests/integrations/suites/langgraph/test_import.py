"""`threadkeep import` of databases that LangGraph's own checkpointers wrote."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypedDict

import psycopg
import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt

from threadkeep import Client, SessionRef
from threadkeep.formats import langchain
from threadkeep.integrations.langgraph import ThreadkeepSaver

from ..importing import POSTGRES, killed_import, log_of, run_import, schema_address

KINDS = ("sqlite", "postgres") if POSTGRES else ("sqlite",)


class State(TypedDict):
    """The state of the graph: a conversation, and values of several kinds."""

    messages: Annotated[list[AnyMessage], add_messages]
    blob: bytes
    notes: dict[str, Any]
    approved: str


def answer(state: State) -> dict[str, Any]:
    """As a model: a call of a tool, then an answer."""
    number = len(state["messages"])
    if isinstance(state["messages"][-1], ToolMessage):
        return {"messages": [AIMessage(f"answer {number}", id=f"a{number}")], "notes": {"n": number, "none": None, "f": 0.5}}
    call = {"id": f"call-{number}", "name": "look", "args": {"at": number}}
    usage = {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}
    return {"messages": [AIMessage("", id=f"c{number}", tool_calls=[call], usage_metadata=usage)], "blob": b"\x00\xff"}


def look(state: State) -> dict[str, Any]:
    """As a tool."""
    (call,) = state["messages"][-1].tool_calls  # type: ignore[union-attr]
    return {"messages": [ToolMessage("found é 🌞", tool_call_id=call["id"], id=f"t-{call['id']}")]}


def approve(state: State) -> dict[str, Any]:
    """Interrupts the run for the answer of a person."""
    return {"approved": interrupt({"question": "continue?"}) if state["messages"][0].content == "approval" else "yes"}


def graph(saver: BaseCheckpointSaver[Any]) -> Any:
    """An agent with a tool and a person."""
    builder = StateGraph(State)
    builder.add_node("call", answer)
    builder.add_node("look", look)
    builder.add_node("approve", approve)
    builder.add_node("answer", answer)
    builder.add_edge(START, "call")
    builder.add_edge("call", "look")
    builder.add_edge("look", "approve")
    builder.add_edge("approve", "answer")
    return builder.compile(checkpointer=saver)


def config(thread_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread_id}}


@pytest.fixture(params=KINDS)
def source(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database: a file, or an address with an empty schema."""
    if request.param == "sqlite":
        return str(tmp_path / "checkpoints.sqlite")
    schema = f"s{uuid.uuid4().hex}"
    with psycopg.connect(POSTGRES, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
    return schema_address(schema)


@contextmanager
def saver_of(source: str) -> Iterator[BaseCheckpointSaver[Any]]:
    if source.startswith("postgres"):
        with PostgresSaver.from_conn_string(source) as saver:
            saver.setup()
            yield saver
    else:
        with SqliteSaver.from_conn_string(source) as saver:
            yield saver


@pytest.fixture
def user() -> str:
    return f"user-{uuid.uuid4().hex}"


def said(text: str, **more: Any) -> dict[str, Any]:
    return {"messages": [HumanMessage(text, id=f"h-{uuid.uuid4().hex[:8]}")], **more}


def same(theirs: CheckpointTuple | None, here: CheckpointTuple | None) -> None:
    """The two tuples are equal, in all that LangGraph reads."""
    assert theirs is not None
    assert here is not None
    assert here.checkpoint == theirs.checkpoint
    assert dict(here.metadata) == dict(theirs.metadata)
    assert here.parent_config == theirs.parent_config
    assert sorted(map(repr, here.pending_writes or ())) == sorted(map(repr, theirs.pending_writes or ()))


def test_checkpoints_of_a_database_are_those_that_langgraph_reads(source: str, address: str, user: str) -> None:
    with saver_of(source) as saver:
        agent = graph(saver)
        agent.invoke(said("hello"), config("one"))
        agent.invoke(said("again"), config("one"))
        agent.invoke(said("approval"), config("two"))
        first = run_import(source, address, "--user", user)
        assert (first.code, first.summary["sessions_created"], first.summary["problems"]) == (0, 2, [])
        again = run_import(source, address, "--user", user)
        assert (again.code, again.counts) == (0, (0, 2, 0, first.summary["events_added"]))
        with Client(address, user_id=user) as client:
            ours = ThreadkeepSaver(client)
            for thread in ("one", "two"):
                theirs, here = list(saver.list(config(thread))), list(ours.list(config(thread)))
                assert [each.config for each in here] == [each.config for each in theirs]
                for before, after in zip(theirs, here, strict=True):
                    same(before, after)
                same(saver.get_tuple(config(thread)), ours.get_tuple(config(thread)))
            assert graph(ours).get_state(config("two")) == agent.get_state(config("two"))


async def test_messages_of_a_database_are_the_conversation(source: str, address: str, user: str) -> None:
    with saver_of(source) as saver:
        agent = graph(saver)
        agent.invoke(said("hello"), config("one"))
        agent.update_state(config("one"), {"messages": [AIMessage("better", id="a3")]})
        messages = agent.get_state(config("one")).values["messages"]
    assert run_import(source, address, "--user", user).code == 0
    events = [event for event in await log_of(address, SessionRef(user_id=user, session_id="one")) if not event.pb.archived]
    kept = {event.id: event for event in events if event.pb.native.format == langchain.NATIVE}
    assert list(kept) == [message.id for message in messages]
    texts = [
        [part.text or part.tool_call.name or part.tool_result.parts[0].text for part in kept[message.id].pb.message.parts]
        for message in messages
    ]
    assert texts == [["hello"], ["look"], ["found é 🌞"], ["better"]]


def test_an_interrupted_run_is_resumed_after_the_import(source: str, address: str, user: str) -> None:
    with saver_of(source) as saver:
        graph(saver).invoke(said("approval"), config("t"))
    assert run_import(source, address, "--user", user).code == 0
    with Client(address, user_id=user) as client:
        done = graph(ThreadkeepSaver(client)).invoke(Command(resume="sure"), config("t"))
    assert (done["approved"], [message.type for message in done["messages"]]) == ("sure", ["human", "ai", "tool", "ai"])


def test_what_is_new_in_a_database_is_added_by_another_import(source: str, address: str, user: str) -> None:
    with saver_of(source) as saver:
        agent = graph(saver)
        agent.invoke(said("approval"), config("t"))
        first = run_import(source, address, "--user", user)
        agent.invoke(Command(resume="sure"), config("t"))
        again = run_import(source, address, "--user", user)
        assert (again.code, again.summary["problems"]) == (0, [])
        assert again.summary["events_added"] > 0
        assert again.summary["events_already_there"] >= first.summary["events_added"]
        with Client(address, user_id=user) as client:
            ours = ThreadkeepSaver(client)
            assert [each.config for each in ours.list(config("t"))] == [each.config for each in saver.list(config("t"))]
            same(saver.get_tuple(config("t")), ours.get_tuple(config("t")))


async def test_a_killed_import_that_is_run_again_stores_everything_once(killable: Any, user: str, tmp_path: Path) -> None:
    path = tmp_path / "checkpoints.sqlite"
    with saver_of(str(path)) as saver:
        agent = graph(saver)
        for _ in range(40):
            agent.invoke(said("hello"), config("t"))
        checkpoints = [each.config["configurable"]["checkpoint_id"] for each in saver.list(config("t"))]
    ref = SessionRef(user_id=user, session_id="t")
    before = await killed_import(path, killable.address, ref, "--user", user)
    done = run_import(path, killable.address, "--user", user)
    events = await log_of(killable.address, ref)
    assert 0 < before < len(events), "it was killed in the middle"
    there = done.summary["events_already_there"]
    assert (done.code, done.summary["events_added"]) == (0, len(events) - there)
    assert before <= there < len(events)
    assert len({event.id for event in events}) == len(events)
    with Client(killable.address, user_id=user) as client:
        found = [each.config["configurable"]["checkpoint_id"] for each in ThreadkeepSaver(client).list(config("t"))]
    assert found == checkpoints


def test_a_damaged_row_is_named_or_skipped(address: str, user: str, tmp_path: Path) -> None:
    path = tmp_path / "checkpoints.sqlite"
    with saver_of(str(path)) as saver:
        graph(saver).invoke(said("hello"), config("t"))
        newest = next(iter(saver.list(config("t")))).config["configurable"]["checkpoint_id"]
    with sqlite3.connect(path) as database:
        database.execute("UPDATE checkpoints SET checkpoint = substr(checkpoint, 1, 40) WHERE checkpoint_id = ?", (newest,))
    stopped = run_import(path, address, "--user", user)
    assert stopped.code == 1
    assert f"{path}: table checkpoints, row t /  / {newest}, field checkpoint" in stopped.error["message"]
    skipped = run_import(path, address, "--user", user, "--on-error", "skip")
    assert (skipped.code, len(skipped.summary["problems"])) == (1, 1)
