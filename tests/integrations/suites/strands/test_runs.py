"""Runs of agents with a scripted model, also while the server is killed."""

from __future__ import annotations

import pytest
from strands import Agent
from strands.agent.conversation_manager import SlidingWindowConversationManager
from strands.multiagent import GraphBuilder
from strands.session import RepositorySessionManager, SnapshotSessionManager
from strands.types.exceptions import SessionException

from threadkeep import Client, errors
from threadkeep.integrations.strands import ThreadkeepSessionManager, ThreadkeepSessionRepository, ThreadkeepStorage

from ..conftest import Server
from .scripted import Script, booking, kinds, texts

TURN = ["text", "toolUse", "toolResult", "text"]


def test_agent_resumes_from_the_repository(sync_client: Client) -> None:
    repository = ThreadkeepSessionRepository(sync_client)
    first = booking(RepositorySessionManager("s", repository))
    first.state.set("city", "Lisbon")
    first("u1")
    again = booking(RepositorySessionManager("s", repository))
    assert again.messages == first.messages
    assert again.state.get("city") == "Lisbon"
    again("u2")
    assert texts(again.messages) == ["u1", "done: 1 nights", "u2", "done: 5 nights"]
    assert len(list(sync_client.events("s"))) == 8
    assert sync_client.get_session("s").usage.total_tokens == 4 * 7


def test_events_have_authors_calls_and_results(sync_client: Client) -> None:
    booking(ThreadkeepSessionManager("s", sync_client), agent_id="clerk")("u1")
    events = list(sync_client.events("s"))
    assert [str(event.role) for event in events] == ["user", "assistant", "tool", "assistant"]
    assert [event.pb.author for event in events] == ["", "clerk", "", "clerk"]
    assert events[1].tool_calls[0].args == {"nights": 1}
    assert events[2].tool_results[0].text == "1 nights"
    assert {event.pb.branch for event in events} == {""}


def test_messages_that_the_conversation_manager_removed_stay_removed(sync_client: Client) -> None:
    def window() -> SlidingWindowConversationManager:
        return SlidingWindowConversationManager(window_size=4)

    agent = booking(ThreadkeepSessionManager("s", sync_client), conversation_manager=window())
    for number in range(3):
        agent(f"u{number}")
    again = booking(ThreadkeepSessionManager("s", sync_client), conversation_manager=window())
    assert again.messages == agent.messages
    assert len(list(sync_client.events("s"))) == 12


def test_two_agents_share_a_session(sync_client: Client) -> None:
    manager = ThreadkeepSessionManager("s", sync_client)
    one = booking(manager, agent_id="one")
    two = booking(manager, agent_id="two")
    one("u of one")
    two("u of two")
    again = ThreadkeepSessionManager("s", sync_client)
    assert texts(booking(again, agent_id="two").messages) == ["u of two", "done: 1 nights"]
    assert texts(booking(again, agent_id="one").messages) == ["u of one", "done: 1 nights"]
    with pytest.raises(SessionException):
        booking(again, agent_id="one")


def test_guardrail_redacts_the_latest_message(sync_client: Client) -> None:
    manager = ThreadkeepSessionManager("s", sync_client)
    agent = booking(manager)
    agent("u1")
    manager.redact_latest_message({"role": "assistant", "content": [{"text": "redacted"}]}, agent)
    again = booking(ThreadkeepSessionManager("s", sync_client))
    assert texts(again.messages) == ["u1", "redacted"]


def test_graph_is_restored(sync_client: Client) -> None:
    def graph() -> GraphBuilder:
        builder = GraphBuilder()
        builder.add_node(Agent(model=Script(), callback_handler=None, tools=[]), "only")
        builder.set_session_manager(ThreadkeepSessionManager("s", sync_client))
        return builder

    repository = ThreadkeepSessionRepository(sync_client)
    built = graph().build()
    state = repository.read_multi_agent("s", built.id)
    assert state is not None
    assert state == built.serialize_state()
    assert graph().build().serialize_state() == state


def test_snapshots_of_an_agent_are_kept_in_the_storage(sync_client: Client) -> None:
    storage = ThreadkeepStorage(sync_client)
    first = booking(SnapshotSessionManager("s", storage=storage))
    first("u1")
    again = booking(SnapshotSessionManager("s", storage=ThreadkeepStorage(sync_client)))
    assert again.messages == first.messages
    again("u2")
    assert texts(again.messages) == ["u1", "done: 1 nights", "u2", "done: 5 nights"]


def test_server_killed_and_started_in_a_run_loses_nothing_and_stores_nothing_twice(killable: Server) -> None:
    with Client(killable.address, app="trips", user_id="ada") as client:
        agent = booking(ThreadkeepSessionManager("s", client), killable.kill, killable.start)
        agent("u1")
        again = booking(ThreadkeepSessionManager("s", client))
        assert again.messages == agent.messages
        assert kinds(again.messages) == TURN
        assert len(list(client.events("s"))) == 4


def test_run_that_a_kill_ended_resumes_after_the_restart(killable: Server) -> None:
    with Client(killable.address, app="trips", user_id="ada") as client:
        booking(ThreadkeepSessionManager("s", client))("u1")
        with pytest.raises(errors.Unavailable):
            booking(ThreadkeepSessionManager("s", client), killable.kill)("u2")
        killable.start()
        agent = booking(ThreadkeepSessionManager("s", client))
        assert kinds(agent.messages) == [*TURN, "text", "toolUse"], "the result of the tool was not acknowledged"
        agent("u3")
        stored = list(client.events("s"))
        assert len({event.id for event in stored}) == len(stored)
        assert [event.text for event in stored if event.text and event.role == "user"] == ["u1", "u2", "u3"]
        assert booking(ThreadkeepSessionManager("s", client)).messages == agent.messages
