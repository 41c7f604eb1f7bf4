"""The MCP server, called by the client of the MCP library over stdio and HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

import httpx2
import pytest
from mcp import Client as McpClient
from mcp import MCPError, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

import threadkeep
from tests.support.programs.python import python
from tests.support.servers.server_process import free_port
from threadkeep import Client
from threadkeep.mcp.http import TokenMissing, http_app
from threadkeep.mcp.server import Binding

THREE = {"load_memory", "conversation_search", "cross_session_search"}


@pytest.fixture
def filled(address: str) -> str:
    """Sessions and memories of alice and bob."""
    with Client(address, app="shop") as client:
        for user, drink in (("alice", "green tea"), ("bob", "black coffee")):
            ref = threadkeep.SessionRef(app="shop", user_id=user, session_id=f"{user}-1")
            client.append(ref, threadkeep.user(f"I drink {drink} every morning."), create_if_missing=True)
            client.append(ref, threadkeep.assistant(f"Noted: {drink}."))
            client.memory(user_id=user).add_session(ref)
    return address


def _arguments(address: str, *more: str) -> list[str]:
    return ["-m", "threadkeep.cli", "mcp", "--user", "alice", "--app", "shop", "--address", address, *more]


@contextlib.asynccontextmanager
async def stdio(address: str, *more: str, program: Sequence[str] = ()) -> AsyncIterator[McpClient]:
    """A client of a server that it has started."""
    command, *arguments = program or python()
    server = StdioServerParameters(command=command, args=[*arguments, *_arguments(address, *more)], env=dict(os.environ))
    async with McpClient(stdio_client(server)) as client:
        yield client


@contextlib.contextmanager
def over_http(address: str, *more: str, **environment: str) -> Iterator[str]:
    """Starts a server over HTTP in a process; returns its URL."""
    port = free_port()
    command = [*python(), *_arguments(address, "--http", f"127.0.0.1:{port}", *more)]
    process = subprocess.Popen(command, env=os.environ | environment)
    url = f"http://127.0.0.1:{port}/mcp"
    try:
        deadline = time.monotonic() + 120
        while True:
            with contextlib.suppress(httpx2.TransportError):
                httpx2.post(url, json={})  # a GET would wait for events
                break
            assert process.poll() is None, "the server has ended"
            assert time.monotonic() < deadline, "the server does not answer"
            time.sleep(0.05)
        yield url
    finally:
        process.terminate()
        assert process.wait(timeout=60) == -signal.SIGTERM, "it ends by SIGTERM after the response"


def said(result: Any) -> dict[str, Any]:
    """Returns the result of a tool, which is the same in both forms."""
    assert not result.is_error, result
    value: dict[str, Any] = json.loads(result.content[0].text)
    assert value == result.structured_content
    return value


def refusal(result: CallToolResult) -> str:
    assert result.is_error
    content = result.content[0]
    assert isinstance(content, TextContent)
    return content.text


async def test_the_tools_are_listed_over_stdio(filled: str) -> None:
    async with stdio(filled, program=[sys.executable]) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(tools) == THREE
    assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools.values())
    assert tools["load_memory"].input_schema["required"] == ["query"]
    assert "session_id" in tools["conversation_search"].input_schema["required"], "no session is bound, so one is to be named"


async def test_each_tool_answers_for_the_bound_user_only(filled: str) -> None:
    async with stdio(filled) as client:
        memories = said(await client.call_tool("load_memory", {"query": "what does the user drink in the morning?"}))
        assert next(each["text"] for each in memories["memories"]) == "I drink green tea every morning."
        assert "coffee" not in json.dumps(memories)
        found = said(await client.call_tool("cross_session_search", {"query": "coffee tea"}))
        assert {each["session_id"] for each in found["results"]} == {"alice-1"}
        found = said(await client.call_tool("conversation_search", {"query": "tea", "session_id": "alice-1"}))
        assert found["results"]
        other = await client.call_tool("conversation_search", {"query": "coffee", "session_id": "bob-1"})
        assert other.is_error, "bob's session is none of alice's"


async def test_a_bound_session_is_searched_without_naming_it(filled: str) -> None:
    async with stdio(filled, "--session", "alice-1") as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert "session_id" not in tools["conversation_search"].input_schema["properties"]
        assert said(await client.call_tool("conversation_search", {"query": "tea"}))["results"]


async def test_invalid_arguments_return_an_error_result(filled: str) -> None:
    async with stdio(filled) as client:
        wrong = await client.call_tool("load_memory", {"question": "tea"})
        assert "query" in refusal(wrong)
        unnamed = await client.call_tool("conversation_search", {"query": "tea"})
        assert "session_id" in refusal(unnamed)
        for name in ("no_such_tool", "preload_memory"):
            refused = await client.call_tool(name, {})
            assert f"there is no tool '{name}'; there are load_memory, " in refusal(refused)


async def test_the_server_is_read_only_by_default(filled: str) -> None:
    async with stdio(filled) as client, contextlib.AsyncExitStack():
        with contextlib.suppress(MCPError):
            assert (await client.call_tool("remember", {"text": "The user has a cat."})).is_error
    with Client(filled) as direct:
        assert not [each for each in direct.memory(user_id="alice", app="shop").list() if "cat" in each.content.parts[0].text]
    async with stdio(filled, "--allow-writes") as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == {*THREE, "remember"}
        assert said(await client.call_tool("remember", {"text": "The user has a cat."}))["remembered"]
        found = said(await client.call_tool("load_memory", {"query": "cat"}))
        assert [each["text"] for each in found["memories"]] == ["The user has a cat."]


async def test_the_server_supports_streamable_http(filled: str) -> None:
    with over_http(filled) as url:
        async with McpClient(streamable_http_client(url)) as client:
            assert {tool.name for tool in (await client.list_tools()).tools} == THREE
            found = said(await client.call_tool("load_memory", {"query": "morning"}))
            assert "green tea" in found["memories"][0]["text"]


async def test_the_http_server_requires_a_configured_token(filled: str) -> None:
    with over_http(filled, THREADKEEP_MCP_TOKEN="s3cret") as url:
        assert (await asyncio.to_thread(httpx2.post, url, json={}, timeout=30)).status_code == 401
        headers = {"authorization": "Bearer s3cret"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30) as http,
            McpClient(streamable_http_client(url, http_client=http)) as client,
        ):
            assert {tool.name for tool in (await client.list_tools()).tools} == THREE


def test_a_public_address_requires_a_token() -> None:
    client = threadkeep.AsyncClient("127.0.0.1:1")
    with pytest.raises(TokenMissing, match="THREADKEEP_MCP_TOKEN"):
        http_app(client, Binding("alice"), host="0.0.0.0")
    assert callable(http_app(client, Binding("alice"), host="0.0.0.0", token="t"))


async def test_a_page_of_another_origin_is_rejected(filled: str) -> None:
    with over_http(filled) as url:
        headers = {"origin": "http://evil.example", "accept": "application/json, text/event-stream"}
        answer = await asyncio.to_thread(httpx2.post, url, json={}, headers=headers, timeout=30)
        assert answer.status_code == 403


async def test_the_tools_report_an_unreachable_server() -> None:
    async with stdio(f"127.0.0.1:{free_port()}") as client:
        with pytest.raises(MCPError):
            await client.list_tools()


def test_the_http_server_prints_its_address(filled: str) -> None:
    command = [sys.executable, *_arguments(filled, "--http", "127.0.0.1:0")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        outcome = process.stderr.readline()
        url = outcome.split(" at ")[1].partition(";")[0]
        assert httpx2.post(url, json={}, timeout=30).status_code >= 400, "the server responds"
        process.terminate()
    assert outcome.startswith("serving MCP for alice at http://127.0.0.1:")


def test_a_port_in_use_is_reported(filled: str) -> None:
    taken = ["--http", filled]
    done = subprocess.run([*python(), *_arguments(filled, *taken)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert done.stderr == f"error: cannot listen on {filled}: Address already in use; give another --http\n"
