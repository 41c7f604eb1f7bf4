from __future__ import annotations

import json

import grpc
import pytest

import threadkeep
from threadkeep import _channel


def test_the_retry_policy_names_what_the_protos_mark() -> None:
    names = {f"{each['service'].rpartition('.')[2]}.{each['method']}" for each in _channel.retryable_methods()}
    assert names == {
        "SessionService.GetSession",
        "SessionService.ListSessions",
        "SessionService.UpdateSession",
        "SessionService.DeleteSession",
        "SessionService.DeleteExpiredSessions",
        "EventService.AppendEvents",
        "EventService.GetEvent",
        "EventService.ListEvents",
        "EventService.GetContext",
        "CompactionService.PlanCompaction",
        "CompactionService.ApplyCompaction",
        "CompactionService.ListCompactions",
        "CompactionService.SetCompactionPolicy",
        "CompactionService.GetCompactionPolicy",
        "RecallService.SearchEvents",
        "ServerService.GetServerInfo",
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
        "MemoryService.DeleteMemories",
        "ToolService.ListTools",
        "ToolService.CallTool",
    }


def test_the_service_config_holds_the_policy() -> None:
    [config] = json.loads(dict(_channel.channel_options())["grpc.service_config"])["methodConfig"]
    assert config["retryPolicy"]["maxAttempts"] == 5
    assert config["retryPolicy"]["retryableStatusCodes"] == ["UNAVAILABLE"]
    assert config["name"] == list(_channel.retryable_methods())


def test_a_server_that_comes_back_is_looked_for_within_seconds() -> None:
    """The default of gRPC is two minutes, in which whoever resumes a stream is told that there is no server."""
    assert dict(_channel.channel_options())["grpc.max_reconnect_backoff_ms"] <= 5_000


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
    assert _channel.credentials(False) is None
    assert _channel.credentials(given) is given
    assert isinstance(_channel.credentials(True), grpc.ChannelCredentials)


def test_an_address_of_another_type_is_refused() -> None:
    with pytest.raises(TypeError, match="address must be str, not int"):
        threadkeep.Client(7443)  # type: ignore[arg-type]
