"""A server process on `memory://`, with the SDK, the command line and HTTP."""

from __future__ import annotations

import contextlib
import json
import threading
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.databases.scratch import scratch_folder
from tests.support.servers.server_process import ServerProcess, fork_server, free_port
from threadkeep import Client, Delivery, assistant, compaction, errors, text_of, user
from threadkeep.cli import main as command_line
from threadkeep.v1 import compaction_pb2

_WITHIN_S = 60


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    settings = {"database_url": "memory://", "embedder": "hashing", "http_address": f"127.0.0.1:{free_port()}"}
    with scratch_folder() as root, ServerProcess(fork_server(), root, **settings) as process:
        yield process.start()


@pytest.fixture
def client(server: ServerProcess, request: pytest.FixtureRequest) -> Iterator[Client]:
    """A client with its own user."""
    with Client(server.address, app="demo", user_id=request.node.name) as opened:
        yield opened


def _summary(text: str) -> Any:
    event = assistant(text, event_id="sum")
    event.synthetic, event.compaction_source = True, "mine"
    return event


def test_a_conversation_is_appended_read_searched_and_compacted(client: Client) -> None:
    ref = "s1"
    client.append(ref, user("where is the tuna?", event_id="u1"), create_if_missing=True)
    client.append(ref, assistant("in the harbor", event_id="a1"), user("thanks", event_id="u2"))
    assert [text_of(event) for event in client.get_context(ref).events] == ["where is the tuna?", "in the harbor", "thanks"]
    for mode in ("substring", "ranked", "hybrid"):
        assert [hit.event.event_id for hit in client.search("harbor", session=ref, mode=mode)][:1] == ["a1"], mode
    window = client.get_session(ref).window_version
    client.apply_compaction(
        ref,
        expected_window_version=window,
        archive=["u1", "a1"],
        inserts=[compaction.insert(_summary("They looked for tuna."), before="u2")],
    )
    assert [text_of(event) for event in client.get_context(ref).events] == ["They looked for tuna.", "thanks"]
    assert [event.archived for event in client.events(ref)] == [True, True, False, False]


def test_a_policy_compacts_in_the_background_and_a_watch_reports_it(client: Client) -> None:
    client.create_session(session_id="s1")
    kinds: list[str] = []
    followed = threading.Event()

    def follow() -> None:
        with contextlib.closing(client.watch("s1", from_beginning=True)) as stream:
            for change in stream:
                kinds.append(change.WhichOneof("kind") or "")
                if kinds[-1] == "compaction":
                    followed.set()
                    return

    watcher = threading.Thread(target=follow, daemon=True)
    watcher.start()
    strategy = compaction_pb2.CompactionStrategy(sliding_window=compaction_pb2.SlidingWindow(max_events=2))
    policy = compaction_pb2.CompactionPolicy(trigger=compaction_pb2.CompactionTrigger(events=4), strategy=strategy)
    client.session("s1").policy().set(policy)
    for number in range(4):
        client.append("s1", user(f"u{number}"))
    assert followed.wait(_WITHIN_S), kinds
    watcher.join(_WITHIN_S)
    assert kinds == ["session_change", "batch", "batch", "batch", "batch", "compaction"]
    assert [text_of(event) for event in client.get_context("s1").events] == ["u2", "u3"]


def test_a_consumer_works_through_the_changes_of_a_user(client: Client) -> None:
    client.append("s1", user("one"), create_if_missing=True)
    stop = threading.Event()
    seen: list[str] = []

    def handle(delivery: Delivery) -> None:
        seen.append(delivery.change.WhichOneof("kind"))
        if len(seen) == 2:
            stop.set()

    client.consumer("worker").run(handle, user_id=client.user_id, from_beginning=True, stop=stop)
    assert seen == ["session_change", "batch"]
    assert [each.name for each in client.consumers()] == ["worker"]


def test_memories_are_stored_and_found(client: Client) -> None:
    client.memory().add("the boat is called Linna")
    found = client.memory().search("boat", mode="ranked").entries
    assert [entry.content.parts[0].text for entry in found] == ["the boat is called Linna"]


def test_info_and_the_log_warn_that_data_is_not_durable(
    server: ServerProcess, client: Client, capfd: pytest.CaptureFixture[str]
) -> None:
    found = client.info()
    assert (found.engine, found.durability) == ("memory", "none: nothing survives a restart of the server")
    assert command_line(["info", "--address", server.address]) == 0
    assert "none: nothing survives a restart" in capfd.readouterr().out
    assert "database_url is memory://: sessions are stored in RAM and are lost" in server.log


def test_http_returns_the_same_as_grpc(server: ServerProcess, client: Client) -> None:
    client.append("s1", user("hello"), create_if_missing=True)
    session = {"app": "demo", "userId": client.user_id, "sessionId": "s1"}
    base = f"http://{server.http_address}"
    request = urllib.request.Request(
        f"{base}/threadkeep.v1.EventService/GetContext",
        json.dumps({"session": session}).encode(),
        {"content-type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=_WITHIN_S) as answer:
        assert [event["message"]["parts"] for event in json.load(answer)["events"]] == [[{"text": "hello"}]]
    with urllib.request.urlopen(f"{base}/readyz", timeout=_WITHIN_S) as answer:
        assert answer.status == 200
    with urllib.request.urlopen(f"{base}/metrics", timeout=_WITHIN_S) as answer:
        assert b"threadkeep_" in answer.read()


@pytest.mark.parametrize("command", ["upgrade", "current"])
def test_db_commands_report_that_there_is_no_schema(command: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert command_line(["db", command, "--database-url", "memory://"]) == 2
    assert "memory:// has no schema" in capfd.readouterr().err


def test_a_restart_loses_all_data() -> None:
    with scratch_folder() as root, ServerProcess(fork_server(), root, database_url="memory://") as process:
        with Client(process.start().address, user_id="u") as client:
            client.append("s1", user("gone"), create_if_missing=True)
            store = client.info().store_id
        assert process.terminate() == 0
        assert not list(root.rglob("*.db"))
        with Client(process.start().address, user_id="u") as client:
            with pytest.raises(errors.SessionNotFound):
                client.get_session("s1")
            assert client.info().store_id != store
