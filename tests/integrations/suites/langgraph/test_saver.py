"""What the kit does not test: order, writes, delta channels, both kinds of client."""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from langchain_core.messages import AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.serde.types import INTERRUPT, RESUME
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import _messages_delta_reducer
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict

from tests.integrations.suites.langgraph.golden import config_of, graph_of
from threadkeep import AsyncClient, Client, event_filter
from threadkeep.errors import SessionAlreadyExists, SessionNotFound
from threadkeep.integrations.langgraph import ThreadkeepSaver

METADATA: CheckpointMetadata = {"source": "loop", "step": 0, "parents": {}}


def checkpoint_of(checkpoint_id: str = "", **values: Any) -> Checkpoint:
    return {
        "v": 1,
        "id": checkpoint_id or str(uuid6(clock_seq=-1)),
        "ts": "2026-01-01T00:00:00+00:00",
        "channel_values": values,
        "channel_versions": dict.fromkeys(values, 1),
        "versions_seen": {},
        "updated_channels": None,
    }


def thread() -> RunnableConfig:
    return {"configurable": {"thread_id": str(uuid.uuid4()), "checkpoint_ns": ""}}


async def put(saver: ThreadkeepSaver, config: RunnableConfig, checkpoint: Checkpoint) -> RunnableConfig:
    return await saver.aput(config, checkpoint, METADATA, {})


async def listed(saver: ThreadkeepSaver, config: RunnableConfig | None, **options: Any) -> list[str]:
    return [each.checkpoint["id"] async for each in saver.alist(config, **options)]


async def test_checkpoint_read_by_another_saver_is_equal(client: AsyncClient) -> None:
    checkpoint = checkpoint_of(numbers=[2**63, -1], text="\x00\u2028 é", nested={"a": {1, 2}}, raw=b"\xff\n")
    stored = await put(ThreadkeepSaver(client), thread(), checkpoint)
    found = await ThreadkeepSaver(client).aget_tuple(stored)
    assert found is not None
    assert found.checkpoint == checkpoint


async def test_checkpoint_of_six_megabytes_is_kept(client: AsyncClient) -> None:
    checkpoint = checkpoint_of(raw=b"\n\xff" * 3_000_000)
    stored = await put(ThreadkeepSaver(client), thread(), checkpoint)
    found = await ThreadkeepSaver(client).aget_tuple(stored)
    assert found is not None
    assert found.checkpoint == checkpoint


async def test_checkpoint_stays_when_the_window_is_cleared_and_goes_when_it_is_erased(client: AsyncClient) -> None:
    saver, config = ThreadkeepSaver(client), thread()
    stored = await put(saver, config, checkpoint_of())
    await saver.aput_writes(stored, [("x", 1)], "task")
    await client.clear(config["configurable"]["thread_id"])
    found = await saver.aget_tuple(config)
    assert found is not None
    assert found.pending_writes == [("task", "x", 1)]
    await client.clear(config["configurable"]["thread_id"], erase=True)
    assert await saver.aget_tuple(config) is None
    assert await saver.aget_tuple(stored) is None
    assert await listed(saver, config) == []


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_each_durability_keeps_state_and_messages(client: AsyncClient, durability: Any) -> None:
    saver = ThreadkeepSaver(client)
    graphs: list[Callable[[ThreadkeepSaver], Any]] = [graph_of, delta_graph]
    for make in graphs:
        config = config_of(f"{make.__name__}-{durability}")
        for number in range(2):
            given: Any = {"messages": [HumanMessage(f"hello {number}", id=f"hello-{number}")]}
            await make(saver).ainvoke(given, config, durability=durability)
        state = await make(ThreadkeepSaver(client)).aget_state(config)
        ids = [message.id for message in state.values["messages"]]
        assert [each for each in ids if each.startswith("hello")] == ["hello-0", "hello-1"]
        root = event_filter(branch_match="exact")
        assert [event.id async for event in client.events(config["configurable"]["thread_id"], root)] == ids


async def test_checkpoint_put_again_changes_nothing(client: AsyncClient) -> None:
    saver, checkpoint, config = ThreadkeepSaver(client), checkpoint_of(x=1), thread()
    await put(saver, config, checkpoint)
    before = await client.get_session(config["configurable"]["thread_id"])
    await put(ThreadkeepSaver(client), config, checkpoint)
    assert await client.get_session(config["configurable"]["thread_id"]) == before


async def test_latest_checkpoint_is_the_last_stored_whatever_its_id(client: AsyncClient) -> None:
    saver, config = ThreadkeepSaver(client), thread()
    first = await put(saver, config, checkpoint_of("z-older"))
    await put(saver, first, checkpoint_of("a-newer"))
    found = await saver.aget_tuple(config)
    assert found is not None
    assert found.checkpoint["id"] == "a-newer"
    assert await listed(saver, config) == ["a-newer", "z-older"]
    before: RunnableConfig = {"configurable": {"checkpoint_id": "a-newer", **config["configurable"]}}
    assert await listed(saver, config, before=before) == ["z-older"]


async def test_list_before_an_unknown_checkpoint_compares_ids(client: AsyncClient) -> None:
    saver, config = ThreadkeepSaver(client), thread()
    for each in ("a", "b", "c"):
        await put(saver, config, checkpoint_of(each))
    before: RunnableConfig = {"configurable": {"checkpoint_id": "bb", **config["configurable"]}}
    assert await listed(saver, config, before=before) == ["b", "a"]


async def test_list_of_all_threads_and_namespaces(client: AsyncClient) -> None:
    saver, one, other = ThreadkeepSaver(client), thread(), thread()
    child: RunnableConfig = {"configurable": {**one["configurable"], "checkpoint_ns": "child:1|grand.child:2"}}
    for config, checkpoint_id in ((one, "1"), (child, "2"), (other, "3")):
        await put(saver, config, checkpoint_of(checkpoint_id))
    assert sorted(await listed(saver, None)) == ["1", "2", "3"]
    whole: RunnableConfig = {"configurable": {"thread_id": one["configurable"]["thread_id"]}}
    assert await listed(saver, whole) == ["2", "1"]
    assert await listed(saver, child) == ["2"]
    assert await listed(saver, None, limit=0) == []


async def test_list_of_many_checkpoints_reads_all_pages(client: AsyncClient) -> None:
    saver, config = ThreadkeepSaver(client), thread()
    at = config
    for number in range(60):
        at = await put(saver, at, checkpoint_of(f"{number:03}"))
        await saver.aput_writes(at, [("a", number), ("b", number)], f"task-{number}")
    found = [each async for each in saver.alist(config)]
    assert [each.checkpoint["id"] for each in found] == [f"{number:03}" for number in reversed(range(60))]
    assert [[value for _, _, value in each.pending_writes or ()] for each in found] == [[n, n] for n in reversed(range(60))]


async def test_writes_stored_before_their_checkpoint_are_found(client: AsyncClient) -> None:
    saver, config = ThreadkeepSaver(client), thread()
    parent = await put(saver, config, checkpoint_of("1"))
    early: RunnableConfig = {"configurable": {**config["configurable"], "checkpoint_id": "2"}}
    await saver.aput_writes(early, [(INTERRUPT, "wait")], "task")
    stored = await put(saver, parent, checkpoint_of("2"))
    for found in (await ThreadkeepSaver(client).aget_tuple(config), await saver.aget_tuple(stored)):
        assert found is not None
        assert found.pending_writes == [("task", INTERRUPT, "wait")]
    assert [each.pending_writes async for each in saver.alist(config)] == [[("task", INTERRUPT, "wait")], []]


async def test_late_writes_of_an_old_checkpoint_are_its_own(client: AsyncClient) -> None:
    saver, config = ThreadkeepSaver(client), thread()
    old = await put(saver, config, checkpoint_of("1"))
    new = await put(saver, old, checkpoint_of("2"))
    await saver.aput_writes(old, [("x", "late")], "task")
    assert [each.pending_writes async for each in saver.alist(config)] == [[], [("task", "x", "late")]]
    assert [each.pending_writes async for each in saver.alist(config, before=new)] == [[("task", "x", "late")]]
    found = await saver.aget_tuple(old)
    assert found is not None
    assert found.pending_writes == [("task", "x", "late")]


async def test_special_writes_are_replaced_and_others_stay(client: AsyncClient) -> None:
    saver = ThreadkeepSaver(client)
    stored = await put(saver, thread(), checkpoint_of())
    for value in ("first", "second", "third"):
        await saver.aput_writes(stored, [(RESUME, value)], "task")
        await saver.aput_writes(stored, [("x", value)], "task")
    found = await saver.aget_tuple(stored)
    assert found is not None
    assert found.pending_writes == [("task", RESUME, "third"), ("task", "x", "first")]
    await saver.aput_writes(stored, [(RESUME, "first")], "task")
    again = await saver.aget_tuple(stored)
    assert again is not None
    assert (again.pending_writes or [])[0] == ("task", RESUME, "first")


async def test_writes_apply_by_path_then_task_then_place(client: AsyncClient) -> None:
    saver = ThreadkeepSaver(client)
    stored = await put(saver, thread(), checkpoint_of())
    await saver.aput_writes(stored, [("x", 4)], "a", "~pull, 02")
    await saver.aput_writes(stored, [("x", 2), ("x", 3)], "z", "~pull, 01")
    await saver.aput_writes(stored, [("x", 1)], "m")
    found = await saver.aget_tuple(stored)
    assert found is not None
    assert [value for _, _, value in found.pending_writes or ()] == [1, 2, 3, 4]


async def test_interrupt_is_resumed_by_another_saver(client: AsyncClient) -> None:
    def review(state: MessagesState) -> dict[str, Any]:
        return {"messages": [HumanMessage(f"answer: {interrupt('sure?')}")]}

    builder = StateGraph(MessagesState).add_node("review", review).add_edge(START, "review").add_edge("review", END)
    config = config_of(str(uuid.uuid4()))
    first = await builder.compile(checkpointer=ThreadkeepSaver(client)).ainvoke({"messages": []}, config)
    assert first["__interrupt__"][0].value == "sure?"
    done = await builder.compile(checkpointer=ThreadkeepSaver(client)).ainvoke(Command(resume="yes"), config)
    assert [message.text for message in done["messages"]] == ["answer: yes"]


async def test_time_travel_continues_from_an_old_checkpoint(client: AsyncClient) -> None:
    graph, config = graph_of(ThreadkeepSaver(client)), config_of(str(uuid.uuid4()))
    await graph.ainvoke({"messages": [HumanMessage("one", id="1")]}, config)
    old = await graph.aget_state(config)
    await graph.ainvoke({"messages": [HumanMessage("two", id="2")]}, config)
    await graph.ainvoke({"messages": [HumanMessage("three", id="3")]}, old.config)
    state = await graph.aget_state(config)
    assert [message.id for message in state.values["messages"]] == ["1", "3"]
    assert len([each async for each in graph.aget_state_history(config)]) == 9


class Delta(TypedDict):
    messages: Annotated[list[AnyMessage], DeltaChannel(_messages_delta_reducer, snapshot_frequency=4)]


def delta_graph(saver: ThreadkeepSaver) -> Any:
    def keep(state: Delta) -> dict[str, Any]:
        return {"messages": [HumanMessage(f"seen {len(state['messages'])}", id=f"seen-{len(state['messages'])}")]}

    return StateGraph(Delta).add_node("keep", keep).add_edge(START, "keep").add_edge("keep", END).compile(checkpointer=saver)


async def test_delta_channel_survives_prune_and_copy(client: AsyncClient) -> None:
    saver, thread_id = ThreadkeepSaver(client), str(uuid.uuid4())
    graph = delta_graph(saver)
    for number in range(5):
        await graph.ainvoke({"messages": [HumanMessage(f"hello {number}", id=f"hello-{number}")]}, config_of(thread_id))
    ids = [message.id for message in (await graph.aget_state(config_of(thread_id))).values["messages"]]
    assert len(ids) == 10
    before = len(await listed(saver, config_of(thread_id)))
    await saver.aprune([thread_id])
    assert 1 <= len(await listed(saver, config_of(thread_id))) < before
    await saver.acopy_thread(thread_id, f"{thread_id}-copy")
    for each in (thread_id, f"{thread_id}-copy"):
        state = await delta_graph(ThreadkeepSaver(client)).aget_state(config_of(each))
        assert [message.id for message in state.values["messages"]] == ids


async def test_delta_history_equals_that_of_the_framework(client: AsyncClient) -> None:
    saver, config = ThreadkeepSaver(client), config_of(str(uuid.uuid4()))
    graph = delta_graph(saver)
    for number in range(3):
        await graph.ainvoke({"messages": [HumanMessage(f"hello {number}", id=f"hello-{number}")]}, config)
    async for each in saver.alist(config):
        own = await saver.aget_delta_channel_history(config=each.config, channels=["messages", "none"])
        walked = await super(ThreadkeepSaver, saver).aget_delta_channel_history(
            config=each.config, channels=["messages", "none"]
        )
        assert own == walked


async def test_pruned_thread_continues_and_keeps_its_conversation(client: AsyncClient) -> None:
    saver, thread_id = ThreadkeepSaver(client), str(uuid.uuid4())
    graph = graph_of(saver)
    await graph.ainvoke({"messages": [HumanMessage("one", id="1")]}, config_of(thread_id))
    await saver.aprune([thread_id], strategy="delete")
    assert await listed(saver, config_of(thread_id)) == []
    assert (await client.get_event(thread_id, "1")).text == "one"
    with pytest.raises(ValueError, match="strategy"):
        await saver.aprune([thread_id], strategy="all")
    await graph.ainvoke({"messages": [HumanMessage("two", id="2")]}, config_of(thread_id))
    assert [message.id for message in (await graph.aget_state(config_of(thread_id))).values["messages"]] == ["2"]


async def test_savers_of_two_users_share_a_client_and_no_thread(client: AsyncClient) -> None:
    savers = [ThreadkeepSaver(client), ThreadkeepSaver(client, user_id="bob")]
    for saver, text in zip(savers, ("of ada", "of bob"), strict=True):
        await graph_of(saver).ainvoke({"messages": [HumanMessage(text, id="1")]}, config_of("same"))
    for saver, text in zip(savers, ("of ada", "of bob"), strict=True):
        state = await graph_of(saver).aget_state(config_of("same"))
        assert [message.text for message in state.values["messages"]] == [text]
        assert len(await listed(saver, None)) == 3
    await savers[1].acopy_thread("same", "copy")
    await savers[1].aprune(["copy"])
    assert len(await listed(savers[1], config_of("copy"))) == 1
    await savers[1].adelete_thread("same")
    assert {(each.ref.user_id, each.ref.session_id) async for each in client.sessions(any_user=True)} == {
        ("ada", "same"),
        ("bob", "copy"),
    }


async def test_copy_of_an_unknown_thread_and_onto_a_thread_are_refused(client: AsyncClient) -> None:
    saver = ThreadkeepSaver(client)
    one, other = await put(saver, thread(), checkpoint_of()), await put(saver, thread(), checkpoint_of())
    with pytest.raises(SessionNotFound):
        await saver.acopy_thread("unknown", "target")
    with pytest.raises(SessionAlreadyExists):
        await saver.acopy_thread(one["configurable"]["thread_id"], other["configurable"]["thread_id"])


async def test_deleted_thread_begins_again(client: AsyncClient) -> None:
    saver, thread_id = ThreadkeepSaver(client), str(uuid.uuid4())
    graph = graph_of(saver)
    for _ in range(2):
        await graph.ainvoke({"messages": [HumanMessage("one", id="1")]}, config_of(thread_id))
        assert (await client.get_event(thread_id, "1")).text == "one"
        await saver.adelete_thread(thread_id)
    with pytest.raises(SessionNotFound):
        await client.get_session(thread_id)


def test_graph_with_a_blocking_client_runs_both_ways(sync_client: Client) -> None:
    graph, config = graph_of(ThreadkeepSaver(sync_client)), config_of(str(uuid.uuid4()))
    graph.invoke({"messages": [HumanMessage("one", id="1")]}, config)
    asyncio.run(graph.ainvoke({"messages": [HumanMessage("two", id="2")]}, config))
    assert [message.id for message in graph.get_state(config).values["messages"]] == ["1", "2"]
    assert len(list(graph.get_state_history(config))) == 6
    saver = graph.checkpointer
    assert isinstance(saver, ThreadkeepSaver)
    saver.copy_thread(config["configurable"]["thread_id"], "copied")
    saver.prune(["copied"])
    assert len(list(saver.list(config_of("copied")))) == 1
    saver.delete_thread("copied")
    saver.delete_for_runs(["none"])
    assert saver.get_tuple(config_of("copied")) is None


async def test_graph_with_an_asynchronous_client_serves_other_threads(client: AsyncClient) -> None:
    graph, config = graph_of(ThreadkeepSaver(client)), config_of(str(uuid.uuid4()))
    await asyncio.to_thread(lambda: graph.invoke({"messages": [HumanMessage("one", id="1")]}, config))
    history = await asyncio.to_thread(lambda: list(graph.get_state_history(config)))
    assert len(history) == 3
    with pytest.raises(RuntimeError, match="ainvoke"):
        graph.invoke({"messages": []}, config)
    assert threading.active_count() < 50
