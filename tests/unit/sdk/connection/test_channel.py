from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import grpc
import pytest

import threadkeep
from tests.support.servers.server_process import free_port
from tests.unit.sdk.fake import FakeServer
from threadkeep import _channel
from threadkeep._address import Endpoint, endpoint


def test_the_retry_policy_names_what_the_protos_mark() -> None:
    names = {f"{each['service'].rpartition('.')[2]}.{each['method']}" for each in _channel.retryable_methods()}
    assert names == {
        "SessionService.GetSession",
        "SessionService.ListSessions",
        "SessionService.ListUsers",
        "SessionService.ForkSession",
        "SessionService.MoveSession",
        "SessionService.UpdateSession",
        "SessionService.DeleteSession",
        "SessionService.DeleteExpiredSessions",
        "SessionService.DeleteUser",
        "SessionService.DeleteApp",
        "SessionService.DeleteByLabel",
        "EventService.AppendEvents",
        "EventService.GetEvent",
        "EventService.ListEvents",
        "EventService.ListUserEvents",
        "EventService.GetContext",
        "EventService.LoadSession",
        "EventService.ListBranches",
        "EventService.ListUsage",
        "EventService.PopEvents",
        "EventService.RewindSession",
        "EventService.ClearEvents",
        "EventService.EraseEvents",
        "EventService.ReplaceSuffix",
        "StateService.GetState",
        "StateService.PatchState",
        "CompactionService.PlanCompaction",
        "CompactionService.ApplyCompaction",
        "CompactionService.ListCompactions",
        "CompactionService.SetCompactionPolicy",
        "CompactionService.GetCompactionPolicy",
        "SearchService.SearchEvents",
        "ServerService.GetServerInfo",
        "ServerService.ListAuditRecords",
        "ServerService.ListRetentionReceipts",
        "ServerService.RestoreSession",
        "ConsumerService.ListConsumers",
        "ConsumerService.GetConsumer",
        "ConsumerService.DeleteConsumer",
        "ConsumerService.ListParkedChanges",
        "ConsumerService.ReplayParkedChanges",
        "ConsumerService.DeleteParkedChanges",
        "MemoryService.AddSessionToMemory",
        "MemoryService.AddMemories",
        "MemoryService.SearchMemory",
        "MemoryService.ListMemories",
        "MemoryService.UpsertMemories",
        "MemoryService.GetMemories",
        "MemoryService.ListMemoryNamespaces",
        "MemoryService.DeleteMemories",
        "ToolService.ListTools",
        "ToolService.CallTool",
    }


def test_attempts_of_a_call_outlast_the_longest_wait_for_a_connection() -> None:
    """Else a call to a server that has returned fails, because gRPC still waits; both waits vary by a fifth."""
    options = dict(_channel.channel_options())
    [config] = json.loads(options["grpc.service_config"])["methodConfig"]
    policy = config["retryPolicy"]
    first, longest = (float(policy[name].removesuffix("s")) for name in ("initialBackoff", "maxBackoff"))
    waits = [min(longest, first * policy["backoffMultiplier"] ** n) for n in range(policy["maxAttempts"] - 1)]
    assert 0.8 * sum(waits) > 1.5 * 1.2 * options["grpc.max_reconnect_backoff_ms"] / 1000


def test_the_service_config_holds_the_policy() -> None:
    [config] = json.loads(dict(_channel.channel_options())["grpc.service_config"])["methodConfig"]
    assert config["retryPolicy"]["maxAttempts"] == 5
    assert config["retryPolicy"]["retryableStatusCodes"] == ["UNAVAILABLE", "CANCELLED"]
    assert config["name"] == list(_channel.retryable_methods())


def test_a_returning_server_is_reconnected_within_seconds() -> None:
    """The default of gRPC is two minutes, during which a client that resumes a stream gets UNAVAILABLE."""
    assert dict(_channel.channel_options())["grpc.max_reconnect_backoff_ms"] <= 5_000


def test_new_client_after_a_restart_waits_for_no_other_client() -> None:
    address = f"127.0.0.1:{free_port()}"
    patient: dict[str, Any] = {
        "max_attempts": 1,
        "options": [("grpc.initial_reconnect_backoff_ms", 60_000), ("grpc.max_reconnect_backoff_ms", 60_000)],
    }
    with threadkeep.Client(address, **patient) as refused:
        with pytest.raises(threadkeep.errors.Unavailable):
            refused.info()
        server = FakeServer(int(address.rpartition(":")[2]))
        with threadkeep.Client(address, **patient) as client:
            client.info()
        server.stop()


def test_given_options_win() -> None:
    options = _channel.channel_options([("grpc.keepalive_time_ms", 1), ("grpc.other", "x")])
    assert len(options) == len(dict(options))
    assert (dict(options)["grpc.keepalive_time_ms"], dict(options)["grpc.other"]) == (1, "x")
    assert dict(options)["grpc.max_receive_message_length"] == 64 * 1024 * 1024


def test_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("THREADKEEP_ADDRESS", raising=False)
    assert threadkeep.Client().address == "127.0.0.1:7443"
    monkeypatch.setenv("THREADKEEP_ADDRESS", "db:1")
    assert threadkeep.AsyncClient().address == "db:1"
    assert threadkeep.Client("host:2").address == "host:2"


def test_credentials() -> None:
    given = grpc.ssl_channel_credentials()
    plain, secure = Endpoint("db:1"), Endpoint("db:1", tls=True)
    assert _channel.credentials(None, plain) is None
    assert _channel.credentials(False, plain) is None
    assert _channel.credentials(given, plain) is given
    assert isinstance(_channel.credentials(True, plain), grpc.ChannelCredentials)
    assert isinstance(_channel.credentials(None, secure), grpc.ChannelCredentials)
    with pytest.raises(ValueError, match="https:// in the address requires TLS"):
        _channel.credentials(False, secure)


@pytest.mark.parametrize(
    ("address", "target"),
    [
        ("db:1", "db:1"),
        ("http://db:1", "db:1"),
        ("http://db:1/", "db:1"),
        (" db ", "db:7443"),
        ("http://10.0.0.1", "10.0.0.1:7443"),
        ("[::1]:2", "[::1]:2"),
        ("[::1]", "[::1]:7443"),
        ("fe80::1", "[fe80::1]:7443"),
        ("dns:9000", "dns:9000"),
        ("dns:///db:1", "dns:///db:1"),
        ("unix:/run/threadkeep.sock", "unix:/run/threadkeep.sock"),
    ],
)
def test_an_address_of_each_form_is_the_place_that_it_names(address: str, target: str) -> None:
    assert endpoint(address) == Endpoint(target)


def test_https_in_an_address_turns_tls_on() -> None:
    assert endpoint("https://db:1") == Endpoint("db:1", tls=True)
    assert endpoint("HTTPS://db") == Endpoint("db:7443", tls=True)


@pytest.mark.parametrize(
    "address", ["ftp://db:1", "http://db:1/path", "db:", "db:http", "db:70000", ":1", "a b", "u@db", "1:2:3"]
)
def test_an_address_of_another_form_is_refused_with_the_forms(address: str) -> None:
    with pytest.raises(ValueError, match=r"address must be HOST:PORT, http://HOST:PORT or https://HOST:PORT .*7443"):
        threadkeep.Client(address)


@pytest.mark.parametrize("address", ["localhost:1", "127.0.0.1", "127.8.8.8:1", "[::1]:1", "unix:/run/x.sock", "https://db:1"])
def test_a_token_to_this_machine_or_over_tls_is_sent(address: str) -> None:
    threadkeep.Client(address, token="hush")


@pytest.mark.parametrize("make", [threadkeep.Client, threadkeep.AsyncClient])
def test_a_token_over_plaintext_to_another_machine_is_refused(
    make: type[threadkeep.Client | threadkeep.AsyncClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("THREADKEEP_TOKEN", raising=False)
    make("db:1")
    for address in ("db:1", "http://db:1", "10.0.0.1:1", "dns:///db:1"):
        with pytest.raises(
            ValueError, match=r"can be read in transit; give the address as https://.*allow_plaintext_token=True"
        ):
            make(address, token="hush")
    make("db:1", token="hush", allow_plaintext_token=True)
    monkeypatch.setenv("THREADKEEP_TOKEN", "hush")
    with pytest.raises(ValueError, match="can be read"):
        make("db:1")
    monkeypatch.setenv("THREADKEEP_ALLOW_PLAINTEXT_TOKEN", "1")
    make("db:1")
    with pytest.raises(ValueError, match="can be read"):
        make("db:1", allow_plaintext_token=False)


TAKEN_PORT = """
import socket, {module}, grpc
from concurrent.futures import ThreadPoolExecutor

taken = socket.create_server(("127.0.0.1", 0))
server = grpc.server(ThreadPoolExecutor(1), options=[("grpc.so_reuseport", 0)])
try:
    server.add_insecure_port("127.0.0.1:%d" % taken.getsockname()[1])
except RuntimeError:
    pass
"""


@pytest.mark.parametrize("module", ["threadkeep", "threadkeep.cli", "threadkeep_server"])
def test_grpc_log_lines_reach_no_terminal_by_default(module: str) -> None:
    program = (sys.executable, "-c", TAKEN_PORT.format(module=module))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GRPC_")}
    quiet = subprocess.run(program, env=environment, capture_output=True, text=True, check=True)
    assert quiet.stderr == ""
    loud = subprocess.run(program, env={**environment, "GRPC_VERBOSITY": "ERROR"}, capture_output=True, text=True, check=True)
    assert "Address already in use" in loud.stderr


@pytest.mark.parametrize("make", [threadkeep.Client, threadkeep.AsyncClient])
def test_a_wrong_name_of_the_constructor_is_refused_with_the_right_one(make: Any) -> None:
    with pytest.raises(TypeError, match=r"Client has no argument 'user'; did you mean user_id\?"):
        make("db:1", user="alice")


def test_an_address_of_another_type_is_refused() -> None:
    with pytest.raises(TypeError, match="address must be str, not int"):
        threadkeep.Client(7443)  # type: ignore[arg-type]
