"""The rules of `CheckpointStorage`; the framework's storage in memory passes the same tests."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest
from agent_framework import (
    CheckpointStorage,
    InMemoryCheckpointStorage,
    WorkflowCheckpoint,
    WorkflowCheckpointException,
)

from threadkeep import AsyncClient
from threadkeep.integrations.agent_framework import ThreadkeepCheckpointStorage


@dataclass
class Draft:
    """A type of the application, in the state of a workflow."""

    text: str


ALLOWED = [f"{Draft.__module__}:{Draft.__qualname__}"]


@pytest.fixture(params=["ours", "theirs"])
def storage(request: pytest.FixtureRequest, client: AsyncClient) -> CheckpointStorage:
    """Our storage, and the framework's own."""
    if request.param == "theirs":
        return InMemoryCheckpointStorage()
    return ThreadkeepCheckpointStorage(client, allowed_checkpoint_types=ALLOWED)


def checkpoint(workflow: str = "flow", *, second: int = 0, previous: str | None = None, count: int = 0) -> WorkflowCheckpoint:
    return WorkflowCheckpoint(
        workflow_name=workflow,
        graph_signature_hash="hash",
        previous_checkpoint_id=previous,
        timestamp=f"2026-01-02T03:04:{second:02d}+00:00",
        iteration_count=count,
        state={"draft": Draft("a"), "tuple": (1, "b"), "plain": {"n": [1.5, None, "\x00 🌞"]}},
        metadata={"superstep": second},
    )


async def test_save_returns_the_id_and_load_an_equal_copy(storage: CheckpointStorage) -> None:
    saved = checkpoint()
    assert await storage.save(saved) == saved.checkpoint_id
    loaded = await storage.load(saved.checkpoint_id)
    assert loaded == saved
    loaded.state["draft"].text = "changed"
    assert (await storage.load(saved.checkpoint_id)).state["draft"] == Draft("a")


async def test_saved_checkpoint_does_not_change_with_the_original(storage: CheckpointStorage) -> None:
    saved = checkpoint()
    await storage.save(saved)
    saved.state["draft"].text = "changed"
    assert (await storage.load(saved.checkpoint_id)).state["draft"] == Draft("a")


async def test_load_of_unknown_id_raises(storage: CheckpointStorage) -> None:
    with pytest.raises(WorkflowCheckpointException):
        await storage.load("never")
    await storage.save(checkpoint())
    with pytest.raises(WorkflowCheckpointException):
        await storage.load("never")


async def test_save_with_a_known_id_replaces(storage: CheckpointStorage) -> None:
    saved = checkpoint()
    await storage.save(saved)
    await storage.save(saved)
    saved.iteration_count = 9
    await storage.save(saved)
    assert (await storage.load(saved.checkpoint_id)).iteration_count == 9
    assert await storage.list_checkpoint_ids(workflow_name="flow") == [saved.checkpoint_id]


async def test_lists_are_of_one_workflow(storage: CheckpointStorage) -> None:
    mine = [checkpoint(second=n) for n in range(3)]
    for each in [*mine, checkpoint("other"), checkpoint("flow.2")]:
        await storage.save(each)
    assert await storage.list_checkpoints(workflow_name="flow") == mine
    assert await storage.list_checkpoint_ids(workflow_name="flow") == [each.checkpoint_id for each in mine]
    assert await storage.list_checkpoints(workflow_name="none") == []
    assert await storage.list_checkpoint_ids(workflow_name="none") == []


async def test_latest_follows_the_chain_and_not_the_iteration_count(storage: CheckpointStorage) -> None:
    assert await storage.get_latest(workflow_name="flow") is None
    first = checkpoint(second=1, count=5)
    second = checkpoint(second=2, count=5, previous=first.checkpoint_id)
    third = checkpoint(second=3, count=4, previous=second.checkpoint_id)
    for each in (first, second, third, checkpoint("other", second=9)):
        await storage.save(each)
    assert await storage.get_latest(workflow_name="flow") == third


async def test_delete_says_whether_there_was_one(storage: CheckpointStorage) -> None:
    kept, gone = checkpoint(second=1), checkpoint(second=2)
    assert await storage.delete(gone.checkpoint_id) is False
    await storage.save(kept)
    await storage.save(gone)
    assert await storage.delete(gone.checkpoint_id) is True
    assert await storage.delete(gone.checkpoint_id) is False
    with pytest.raises(WorkflowCheckpointException):
        await storage.load(gone.checkpoint_id)
    assert await storage.list_checkpoint_ids(workflow_name="flow") == [kept.checkpoint_id]
    assert await storage.get_latest(workflow_name="flow") == kept


async def test_deleted_checkpoint_can_be_saved_again(storage: CheckpointStorage) -> None:
    saved = checkpoint()
    await storage.save(saved)
    await storage.delete(saved.checkpoint_id)
    await storage.save(saved)
    assert await storage.load(saved.checkpoint_id) == saved
    assert await storage.list_checkpoint_ids(workflow_name="flow") == [saved.checkpoint_id]


async def test_concurrent_saves_are_all_stored(storage: CheckpointStorage) -> None:
    saved = [checkpoint(second=n) for n in range(30)]
    await asyncio.gather(*(storage.save(each) for each in saved))
    assert set(await storage.list_checkpoint_ids(workflow_name="flow")) == {each.checkpoint_id for each in saved}


async def test_type_that_is_not_allowed_is_refused_when_it_is_saved(client: AsyncClient) -> None:
    storage = ThreadkeepCheckpointStorage(client)
    with pytest.raises(WorkflowCheckpointException, match="Draft"):
        await storage.save(checkpoint())
    assert await storage.list_checkpoint_ids(workflow_name="flow") == []


async def test_another_process_loads_what_one_saved(client: AsyncClient, address: str) -> None:
    saved = checkpoint()
    await ThreadkeepCheckpointStorage(client, allowed_checkpoint_types=ALLOWED).save(saved)
    async with AsyncClient(address, app=client.app, user_id=client.user_id) as other:
        assert await ThreadkeepCheckpointStorage(other, allowed_checkpoint_types=ALLOWED).load(saved.checkpoint_id) == saved


async def test_session_of_checkpoints_never_expires_unless_said(client: AsyncClient) -> None:
    await ThreadkeepCheckpointStorage(client, "mine", allowed_checkpoint_types=ALLOWED).save(checkpoint())
    assert not (await client.get_session("mine")).HasField("expire_time")
