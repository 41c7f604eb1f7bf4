"""Invalid settings that an adapter rejects before a request, and content that no request can represent."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import threading
import time
import warnings
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from threadkeep.chat import (
    ChatError,
    ChatOptions,
    Data,
    ModelFailed,
    ModelTimeout,
    Prompt,
    Text,
    ToolCall,
    ToolResult,
    UnsupportedContent,
    assistant,
    tool,
    user,
)

from ..async_and_sync import Kit, Way
from ..fakes.loopback import Loopback, completion, drips, loopback, refuses, replies
from ..fakes.models import HELLO, answer_of
from ..fakes.vendors import ANTHROPIC, GEMINI, OPENAI, VENDORS, Vendor


@pytest.fixture(params=VENDORS, ids=lambda vendor: vendor.name)
def vendor(request: pytest.FixtureRequest) -> Vendor:
    found: Vendor = request.param
    return found


@pytest.fixture
async def endpoint(vendor: Vendor) -> AsyncIterator[Loopback]:
    async with loopback(vendor.name) as model:
        model.does(replies(vendor.whole("Hello")))
        yield model


@pytest.fixture
async def model(endpoint: Loopback, kit: Kit, vendor: Vendor) -> AsyncIterator[Any]:
    opened = vendor.model(kit, endpoint)
    yield opened
    await kit.of(opened.close)


@contextlib.contextmanager
def served_apart(vendor: Vendor) -> Iterator[Loopback]:
    """Serves an endpoint in its own event loop, in a thread."""
    found: list[Loopback] = []
    begun = threading.Event()
    ended: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def serve() -> None:
        async with loopback(vendor.name) as endpoint:
            endpoint.does(replies(vendor.whole("Hello")))
            found.append(endpoint)
            ended.append((asyncio.get_running_loop(), asyncio.Event()))
            begun.set()
            await ended[0][1].wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert begun.wait(60)
    try:
        yield found[0]
    finally:
        loop, end = ended[0]
        loop.call_soon_threadsafe(end.set)
        thread.join(60)


@pytest.mark.parametrize("key", ["sk-0123456789\n", " sk-0123456789", "sk-0123…6789"])
def test_invalid_key_is_rejected_and_not_shown(kit: Kit, vendor: Vendor, key: str) -> None:
    with pytest.raises(ValueError, match="api_key") as refused:
        getattr(kit, vendor.adapter)("small", base_url="http://127.0.0.1:9", api_key=key)
    assert "0123" not in str(refused.value)


@pytest.mark.parametrize("address", ["localhost:8080/v1", "http://", "http://[::1", "ftp://host/", "http://host:99999", ""])
def test_invalid_base_url_is_rejected(kit: Kit, vendor: Vendor, address: str) -> None:
    with pytest.raises(ValueError, match="base_url"):
        getattr(kit, vendor.adapter)("small", base_url=address, api_key="k")


@pytest.mark.parametrize("timeout", [0, -1, float("inf"), float("nan"), 1e12])
async def test_invalid_timeout_is_rejected_before_the_request(endpoint: Loopback, model: Any, way: Way, timeout: float) -> None:
    with pytest.raises(ValueError, match="timeout"):
        await answer_of(way, model, Prompt(HELLO.messages, ChatOptions(timeout=timeout)))
    assert endpoint.requests == []


async def test_call_of_closed_model_raises_chat_error(endpoint: Loopback, model: Any, kit: Kit, way: Way) -> None:
    await kit.of(model.close)
    with pytest.raises(ChatError, match="closed"):
        await answer_of(way, model, HELLO)


async def test_lone_surrogate_in_message_raises_unsupported_content(endpoint: Loopback, model: Any, way: Way) -> None:
    with pytest.raises(UnsupportedContent, match="surrogate"):
        await answer_of(way, model, Prompt((user("half \ud83d"),)))


@pytest.mark.parametrize("arguments", ['{"x": NaN}', '{"x": -Infinity}', '{"x": 1e999}', '{"x": "\\ud83d"}'])
async def test_arguments_outside_standard_json_are_sent_back(endpoint: Loopback, model: Any, kit: Kit, arguments: str) -> None:
    messages = (user("Go"), assistant(tool_calls=[ToolCall("a", "f", arguments)]), tool(ToolResult("a", "f", (Text("no"),))))
    assert (await kit.of(model.call, Prompt(messages))).text == "Hello"


async def test_data_part_without_json_object_is_rejected(endpoint: Loopback, model: Any, kit: Kit, vendor: Vendor) -> None:
    with pytest.raises(UnsupportedContent, match="Data"):
        await kit.of(model.call, Prompt((user([Data(vendor.name, "[1]")]),)))


@pytest.mark.parametrize("vendor", [GEMINI], ids=["gemini"], indirect=True)
async def test_slow_byte_by_byte_error_raises_model_timeout(endpoint: Loopback, model: Any, way: Way) -> None:
    endpoint.does(drips(b" " * 1000, status="400 Bad Request"))
    began = time.monotonic()
    with pytest.raises(ModelTimeout):
        await answer_of(way, model, Prompt(HELLO.messages, ChatOptions(timeout=0.4)))
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("vendor", [OPENAI], ids=["openai"], indirect=True)
async def test_lone_surrogate_in_answer_is_replaced(endpoint: Loopback, model: Any, kit: Kit) -> None:
    endpoint.does(replies(completion("whole \U0001f600, half \ud83d")))
    assert (await kit.of(model.call, HELLO)).text == "whole \U0001f600, half \ufffd"


@pytest.mark.parametrize("vendor", [OPENAI, GEMINI, ANTHROPIC], ids=lambda vendor: vendor.name, indirect=True)
async def test_placeholder_key_is_not_masked_in_error_text(endpoint: Loopback, kit: Kit, vendor: Vendor) -> None:
    model = getattr(kit, vendor.adapter)("small", base_url=f"http://127.0.0.1:{endpoint.port}{vendor.path}", api_key="o")
    endpoint.does(refuses(400, "no model of that name"))
    with pytest.raises(ModelFailed, match="no model of that name"):
        await kit.of(model.call, HELLO)
    await kit.of(model.close)


def test_model_works_in_successive_event_loops(kit: Kit, vendor: Vendor) -> None:
    """As in a program that calls asyncio.run more than once; connections end with their loop."""
    with served_apart(vendor) as endpoint:
        ask_in_three_loops(kit, vendor.model(kit, endpoint))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # of the connections of loops that have ended
            gc.collect()


def ask_in_three_loops(kit: Kit, model: Any) -> None:
    async def many() -> set[str]:
        return {each.text for each in await asyncio.gather(*(kit.of(model.call, HELLO) for _ in range(8)))}

    assert [asyncio.run(many()) for _ in range(3)] == [{"Hello"}] * 3
    asyncio.run(kit.of(model.close))


def test_forked_process_opens_its_own_connection(vendor: Vendor) -> None:
    with served_apart(vendor) as endpoint, vendor.model(Kit(is_async=False), endpoint) as model:
        assert model.call(HELLO).text == "Hello"
        begun = time.monotonic()
        child = os.fork()
        if child == 0:
            os._exit(0 if model.call(HELLO).text == "Hello" else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert model.call(HELLO).text == "Hello"
        # A client closes a connection that is idle for 5 seconds, as on a busy machine.
        assert endpoint.connections == 2 or time.monotonic() - begun > 5
