"""Sessions that other frameworks write to."""

from __future__ import annotations

from strands.types.session import SessionAgent, SessionMessage

from threadkeep import Client, SessionEvent, assistant, media, reasoning, system, tool_call, tool_error, tool_result
from threadkeep.integrations.strands import ThreadkeepSessionManager, ThreadkeepSessionRepository

from .scripted import booking, kinds, texts, user


def test_conversation_of_another_framework_is_listed_as_messages(sync_client: Client) -> None:
    events: list[SessionEvent | str] = [
        system("Be brief."),
        "Look.",
        assistant([reasoning("Hm.")], tool_calls=[tool_call("c1", "look", {"at": 1}), tool_call("c2", "look", {})]),
        tool_result("c1", {"seen": True}),
        tool_error("c2", "dark"),
        assistant(["One is seen.", media("image/png", data=b"\x89PNG")]),
    ]
    sync_client.append("s", events, create_if_missing=True)
    repository = ThreadkeepSessionRepository(sync_client)
    session = repository.read_session("s")
    assert session is not None
    assert session.session_id == "s"
    found = repository.list_messages("s", "a")
    assert [each.message_id for each in found] == [0, 1, 2, 3]
    messages = [each.to_message() for each in found]
    assert [message["role"] for message in messages] == ["user", "assistant", "user", "assistant"]
    assert kinds(messages) == ["text", "reasoningContent", "toolUse", "toolUse", "toolResult", "toolResult", "text", "image"]
    assert [block["toolResult"]["status"] for block in messages[2]["content"]] == ["success", "error"]
    assert repository.list_messages("s", "a") == found, "they read the same each time"


def test_agent_continues_the_conversation_of_another_framework(sync_client: Client) -> None:
    sync_client.append("s", "u1", assistant("a1"), create_if_missing=True)
    agent = booking(ThreadkeepSessionManager("s", sync_client))
    assert texts(agent.messages) == ["u1", "a1"]
    agent("u2")
    again = booking(ThreadkeepSessionManager("s", sync_client))
    assert texts(again.messages) == ["u1", "a1", "u2", "done: 3 nights"]
    assert [event.text for event in sync_client.events("s") if event.text] == ["u1", "a1", "u2", "done: 3 nights"]


def test_turn_of_another_framework_is_part_of_the_conversation(sync_client: Client) -> None:
    agent = booking(ThreadkeepSessionManager("s", sync_client))
    agent("u1")
    sync_client.append("s", "u2 elsewhere", assistant("a2 elsewhere"))
    again = booking(ThreadkeepSessionManager("s", sync_client))
    again("u3")
    said = ["u1", "done: 1 nights", "u2 elsewhere", "a2 elsewhere", "u3", "done: 7 nights"]
    assert texts(again.messages) == said
    last = booking(ThreadkeepSessionManager("s", sync_client))
    assert texts(last.messages) == said
    numbers = [each.message_id for each in ThreadkeepSessionRepository(sync_client).list_messages("s", last.agent_id)]
    assert numbers == list(range(10))


def test_message_of_another_framework_can_be_redacted(sync_client: Client) -> None:
    sync_client.append("s", "secret", assistant("a1"), create_if_missing=True)
    repository = ThreadkeepSessionRepository(sync_client)
    first = repository.list_messages("s", "a")[0]
    repository.update_message("s", "a", SessionMessage(first.message, 0, user("redacted")))
    assert texts([each.to_message() for each in repository.list_messages("s", "a")]) == ["redacted", "a1"]


def test_numbers_survive_a_compaction(sync_client: Client) -> None:
    repository = ThreadkeepSessionRepository(sync_client)
    sync_client.create_session("s")
    repository.create_agent("s", SessionAgent("a", {}, {}))
    for number in range(6):
        repository.create_message("s", "a", SessionMessage.from_message(user(f"u{number}"), number))
    context = sync_client.get_context("s")
    sync_client.apply_compaction("s", context=context, summary="They met.", through_seq=4)
    found = repository.list_messages("s", "a")
    assert texts([each.to_message() for each in found])[-3:] == ["They met.", "u4", "u5"]
    assert [each.message_id for each in found][-3:] == [3, 4, 5]
    assert [each.message_id for each in repository.list_messages("s", "a", offset=4)] == [4, 5]
