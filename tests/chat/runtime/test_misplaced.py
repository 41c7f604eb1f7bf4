"""Misplaced or missing arguments are rejected where they are passed, not by a later failure."""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterator
from typing import Any

import pytest

from threadkeep import CompactionStrategy, CompactionTrigger, compaction
from threadkeep.chat.context_keys import SESSION_MEMORY_ORDER

from ..async_and_sync import Kit, Way, text_of
from ..recording_memory import memory_at

POLICY: dict[str, Any] = {"trigger": compaction.turns_over(2), "strategy": compaction.turn_window(1)}


@pytest.fixture
async def clients(kit: Kit) -> AsyncIterator[tuple[Any, Any]]:
    """Opens an SDK client of the kit's form, and one of the other form."""
    other = Kit(is_async=not kit.is_async)
    own, foreign = (form.Client("127.0.0.1:1", app="shop", user_id="alice") for form in (kit, other))
    yield own, foreign
    await kit.of(own.close)
    await other.of(foreign.close)


@pytest.mark.parametrize("name", ["SessionMemoryAdvisor", "RecallTools", "SearchTools"])
async def test_sdk_client_of_the_other_form_is_rejected(kit: Kit, clients: tuple[Any, Any], name: str) -> None:
    own, foreign = clients
    taker = getattr(kit, name)
    taker(own)
    with pytest.raises(TypeError) as caught:
        taker(foreign)
    said = {
        True: f"Async{name} needs an AsyncClient, not a Client: pass it to {name}, or pass an AsyncClient here",
        False: f"{name} needs a Client, not an AsyncClient: pass it to Async{name}, or pass a Client here",
    }
    assert str(caught.value) == said[kit.is_async]


def test_sdk_client_in_place_of_a_model_is_rejected(kit: Kit, clients: tuple[Any, Any]) -> None:
    for given in clients:
        with pytest.raises(TypeError, match=f"needs an? (Async)?ChatModel .* not {type(given).__name__}"):
            kit.ChatClient(given)


async def test_summarizer_of_the_other_form_is_rejected(kit: Kit, clients: tuple[Any, Any]) -> None:
    foreign = Kit(is_async=not kit.is_async).ScriptedModel()
    with pytest.raises(TypeError, match="ScriptedModel: pass it to"):
        kit.SessionMemoryAdvisor(clients[0], **POLICY, summarizer=foreign)


@pytest.mark.parametrize("argument", ["trigger", "strategy"])
@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (compaction.policy(**POLICY), TypeError, "not CompactionPolicy"),
        (20, TypeError, "not int"),
        (None, ValueError, "trigger and strategy: pass both"),
        ("empty", ValueError, "is empty: make one with threadkeep.compaction"),
    ],
)
async def test_invalid_trigger_or_strategy_is_rejected(
    kit: Kit, clients: tuple[Any, Any], argument: str, value: Any, error: type[Exception], message: str
) -> None:
    if value == "empty":
        value = CompactionTrigger() if argument == "trigger" else CompactionStrategy()
    with pytest.raises(error, match=message):
        kit.SessionMemoryAdvisor(clients[0], **{**POLICY, argument: value})


# --- sessions without a memory advisor


async def _warned(way: Way, client: Any, times: int = 1) -> list[warnings.WarningMessage]:
    """Returns the warnings under the default filter, which shows each once per line of the program."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("default")
        for _ in range(times):
            assert text_of(await way.ask(client.prompt("Hi").session("s1"))) == "Hello"
    return seen


async def test_session_without_memory_advisor_warns_once_with_hint(kit: Kit, way: Way) -> None:
    client = kit.ChatClient(kit.ScriptedModel(["Hello"] * 3), advisors=[kit.advisor()])
    [warning] = await _warned(way, client, times=3)
    prefix = "Async" if kit.is_async else ""
    assert f"Give {prefix}ChatClient advisors=[{prefix}SessionMemoryAdvisor(...)]" in str(warning.message)
    assert ".tool_context(session=...)" in str(warning.message)


def test_session_warning_points_at_the_calling_program() -> None:
    client = Kit(is_async=False).ChatClient(Kit(is_async=False).ScriptedModel(["Hello"] * 2))
    for ask in (lambda: client.prompt("Hi").session("s1").call(), lambda: list(client.prompt("Hi").session("s1").stream())):
        with pytest.warns(UserWarning, match="without a memory advisor") as seen:
            ask()
        assert [warning.filename for warning in seen] == [__file__]


async def test_session_used_by_an_advisor_does_not_warn(kit: Kit, way: Way) -> None:
    own = kit.advisor()
    own.needs_session = True
    for advisor in (memory_at(kit, SESSION_MEMORY_ORDER, []), kit.ToolSearchAdvisor(), own):
        client = kit.ChatClient(kit.ScriptedModel(["Hello"]), advisors=[advisor])
        assert await _warned(way, client) == [], advisor
