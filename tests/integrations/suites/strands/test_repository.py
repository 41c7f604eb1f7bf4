"""The contract of `SessionRepository`."""

from __future__ import annotations

from typing import Any

import pytest
from strands.types.content import Message
from strands.types.exceptions import SessionException
from strands.types.session import Session, SessionAgent, SessionMessage, SessionType

from threadkeep import Client, errors
from threadkeep.integrations.strands import ThreadkeepSessionRepository

from .scripted import assistant, texts, user

Repository = ThreadkeepSessionRepository


def add(repository: Repository, *messages: Message, agent: str = "a", start: int = 0) -> list[SessionMessage]:
    """Appends messages with the next numbers."""
    made = [SessionMessage.from_message(message, start + number) for number, message in enumerate(messages)]
    for each in made:
        repository.create_message("s", agent, each)
    return made


def said(repository: Repository, agent: str = "a", **options: int) -> list[str]:
    return texts([each.to_message() for each in repository.list_messages("s", agent, **options)])


def test_session_is_created_and_read(repository: Repository) -> None:
    made = Session("s", SessionType.AGENT)
    assert repository.create_session(made) is made
    assert repository.read_session("s") == made
    assert repository.read_session("nowhere") is None


def test_session_that_exists_is_not_created_again(repository: Repository, session: str) -> None:
    with pytest.raises(SessionException, match="already exists"):
        repository.create_session(Session(session, SessionType.AGENT))


def test_session_is_deleted_with_its_agents(repository: Repository, session: str) -> None:
    add(repository, user("u1"))
    repository.delete_session(session)
    assert repository.read_session(session) is None
    assert repository.read_agent(session, "a") is None
    with pytest.raises(SessionException):
        repository.delete_session(session)


def test_agent_is_read_as_it_was_written(repository: Repository, session: str) -> None:
    made = SessionAgent("b", {"n": 1, "raw": b"\x00\xff"}, {"removed_message_count": 2}, {"model_state": {"id": "r1"}})
    repository.create_agent(session, made)
    assert repository.read_agent(session, "b") == made
    assert repository.read_agent(session, "unknown") is None
    assert repository.read_agent("nowhere", "b") is None


def test_update_of_an_agent_keeps_the_time_of_its_creation(repository: Repository, session: str) -> None:
    first = repository.read_agent(session, "a")
    assert first is not None
    repository.update_agent(session, SessionAgent("a", {"likes": "coffee"}, {}, created_at="later"))
    found = repository.read_agent(session, "a")
    assert found is not None
    assert (found.state, found.created_at) == ({"likes": "coffee"}, first.created_at)


def test_update_of_an_unknown_agent_is_refused(repository: Repository, session: str) -> None:
    with pytest.raises(SessionException, match="does not exist"):
        repository.update_agent(session, SessionAgent("unknown", {}, {}))


def test_agent_needs_a_session(repository: Repository) -> None:
    with pytest.raises(SessionException):
        repository.create_agent("nowhere", SessionAgent("a", {}, {}))


def test_message_is_read_as_it_was_written(repository: Repository, session: str) -> None:
    image: Message = {"role": "user", "content": [{"image": {"format": "png", "source": {"bytes": b"\x89PNG\x00"}}}]}
    (made,) = add(repository, image)
    assert repository.read_message(session, "a", 0) == made
    assert repository.list_messages(session, "a") == [made]
    assert repository.read_message(session, "a", 1) is None
    assert repository.read_message("nowhere", "a", 0) is None


def test_message_needs_a_session(repository: Repository) -> None:
    with pytest.raises(SessionException):
        add(repository, user("u1"))
    with pytest.raises(SessionException):
        repository.list_messages("nowhere", "a")


def test_messages_are_listed_by_number_oldest_first(repository: Repository, session: str) -> None:
    add(repository, user("u1"), assistant("a1"), user("u2"))
    found = repository.list_messages(session, "a")
    assert [each.message_id for each in found] == [0, 1, 2]
    assert said(repository) == ["u1", "a1", "u2"]


def test_offset_skips_the_oldest_and_limit_ends_the_list(repository: Repository, session: str) -> None:
    add(repository, user("u1"), assistant("a1"), user("u2"), assistant("a2"))
    assert said(repository, offset=1) == ["a1", "u2", "a2"]
    assert said(repository, limit=2) == ["u1", "a1"]
    assert said(repository, limit=2, offset=1) == ["a1", "u2"]
    assert said(repository, offset=9) == []


def test_messages_of_two_agents_are_apart(repository: Repository, session: str) -> None:
    for agent in ("b.c", "b"):
        repository.create_agent(session, SessionAgent(agent, {}, {}))
    add(repository, user("u of a"))
    add(repository, user("u of b.c"), agent="b.c")
    add(repository, user("u of b"), agent="b")
    assert [said(repository, agent) for agent in ("a", "b.c", "b")] == [["u of a"], ["u of b.c"], ["u of b"]]


def test_agents_of_a_session_created_again_are_listed_by_every_process(repository: Repository, session: str) -> None:
    repository.create_agent(session, SessionAgent("b", {}, {}))
    add(repository, user("u of b"), agent="b")
    repository.delete_session(session)
    repository.create_session(Session(session, SessionType.AGENT))
    repository.create_agent(session, SessionAgent("b", {}, {}))
    add(repository, user("u of b again"), agent="b")
    assert said(repository, "b") == ["u of b again"]
    assert said(Repository(repository._client), "b") == ["u of b again"]


def test_update_of_a_message_replaces_it_in_its_place(repository: Repository, session: str, sync_client: Client) -> None:
    first, _, _ = add(repository, user("secret"), assistant("a1"), user("u2"))
    redacted = SessionMessage(first.message, 0, user("redacted"), created_at="later")
    repository.update_message(session, "a", redacted)
    assert said(repository) == ["redacted", "a1", "u2"]
    found = repository.read_message(session, "a", 0)
    assert found is not None
    assert (found.redact_message, found.created_at) == (user("redacted"), first.created_at)
    assert [event.text for event in sync_client.events(session) if not event.archived] == ["redacted", "a1", "u2"]


def test_redaction_can_erase_what_it_replaces(sync_client: Client, session: str) -> None:
    repository = Repository(sync_client, erase_redacted=True)
    (first,) = add(repository, user("secret"))
    repository.update_message(session, "a", SessionMessage(first.message, 0, user("redacted")))
    assert said(repository) == ["redacted"]
    stored = [event.pb.SerializeToString() for event in sync_client.events(session)]
    assert not any(b"secret" in each for each in stored)


def test_update_of_an_unknown_message_is_refused(repository: Repository, session: str) -> None:
    with pytest.raises(SessionException, match="does not exist"):
        repository.update_message(session, "a", SessionMessage(user("u1"), 0))


def test_message_written_again_is_stored_once(repository: Repository, session: str, sync_client: Client) -> None:
    (made,) = add(repository, user("u1"))
    repository.create_message(session, "a", made)
    assert sync_client.get_session(session).last_seq == 1


def test_second_writer_of_an_agent_is_refused(repository: Repository, session: str) -> None:
    add(repository, user("u1"))
    with pytest.raises(SessionException, match="another writer"):
        add(repository, user("u1 of another process"))
    assert said(repository) == ["u1"]


def test_message_of_results_and_a_prompt_is_one_message(repository: Repository, session: str, sync_client: Client) -> None:
    result: Any = {"toolResult": {"toolUseId": "c1", "status": "success", "content": [{"json": {"seen": 1}}]}}
    call: Any = {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "look", "input": {}}}]}
    made = add(repository, call, {"role": "user", "content": [result, {"text": "And now?"}]})
    assert repository.list_messages(session, "a") == made
    assert [str(event.role) for event in sync_client.events(session)] == ["assistant", "tool", "user"]
    repository.update_message(session, "a", SessionMessage(made[1].message, 1, user("redacted")))
    assert said(repository) == ["redacted"]
    window = [event for event in sync_client.events(session) if not event.archived]
    assert [len(event.pb.message.parts) for event in window] == [1, 0, 1]


class Orchestrator:
    """As much of a multi-agent as a repository sees."""

    id = "graph"

    def __init__(self, **state: Any) -> None:
        self.state = state

    def serialize_state(self) -> dict[str, Any]:
        return self.state


def test_multi_agent_is_stored_and_replaced(repository: Repository, session: str) -> None:
    first: Any = Orchestrator(status="executing", nodes=["a"])
    assert repository.read_multi_agent(session, "graph") is None
    with pytest.raises(SessionException, match="does not exist"):
        repository.update_multi_agent(session, first)
    repository.create_multi_agent(session, first)
    assert repository.read_multi_agent(session, "graph") == {"status": "executing", "nodes": ["a"]}
    second: Any = Orchestrator(status="completed")
    repository.update_multi_agent(session, second)
    assert repository.read_multi_agent(session, "graph") == {"status": "completed"}
    assert repository.read_multi_agent("nowhere", "graph") is None


def test_multi_agent_needs_a_session(repository: Repository) -> None:
    made: Any = Orchestrator()
    with pytest.raises(SessionException):
        repository.create_multi_agent("nowhere", made)


def test_document_above_the_limit_of_state_is_refused(repository: Repository, session: str) -> None:
    with pytest.raises(errors.ThreadkeepError):
        repository.update_agent(session, SessionAgent("a", {"text": "x" * 2_000_000}, {}))
    found = repository.read_agent(session, "a")
    assert found is not None
    assert found.state == {"likes": "tea"}
