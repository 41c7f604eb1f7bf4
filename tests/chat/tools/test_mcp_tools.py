"""Tools of real MCP servers over stdio and streamable HTTP, in both forms of the kit."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client as McpClient
from mcp import MCPError, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

import threadkeep
from tests.api.conftest import running
from tests.support.programs.python import python
from tests.support.servers.server_process import free_port
from threadkeep.chat import AsyncMcpServer, ChatError, InvalidTool, McpServer, Media, Text, Tool, ToolContext, ToolOutput
from threadkeep.chat.tools.mcp_calls import model_name

from ..async_and_sync import Kit
from ..fakes.mcp_demo import PIXEL

ROOT = Path(__file__).parents[3]


def started(*arguments: str) -> StdioServerParameters:
    """A program that a client starts, with its imports done."""
    command, *before = python()
    return StdioServerParameters(command=command, args=[*before, *arguments], cwd=ROOT, env=dict(os.environ))


def demo() -> StdioServerParameters:
    return started("-m", "tests.chat.fakes.mcp_demo", "stdio")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Serves the demo over HTTP in its own process."""
    port = free_port()
    command = [*python(), "-m", "tests.chat.fakes.mcp_demo", "http", str(port)]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}/mcp"
    try:
        deadline = time.monotonic() + 120
        while True:
            with contextlib.suppress(httpx2.TransportError):
                httpx2.post(url, json={})
                break
            assert process.poll() is None, "the server has ended"
            assert time.monotonic() < deadline, "the server does not answer"
            time.sleep(0.05)
        yield url
    finally:
        process.terminate()
        process.wait(60)


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """The address of a Threadkeep server."""
    with running(data_dir=tmp_path / "data") as server:
        yield f"127.0.0.1:{server.grpc_port}"


@pytest.fixture(params=["stdio", "http"])
def target(request: pytest.FixtureRequest) -> Any:
    return demo() if request.param == "stdio" else request.getfixturevalue("url")


@contextlib.asynccontextmanager
async def connected(kit: Kit, target: Any, **settings: Any) -> AsyncIterator[Any]:
    server = kit.McpServer(target, **{"connect_timeout": 120} | settings)  # a program may start slowly
    if kit.is_async:
        async with server:
            yield server
        return
    await asyncio.to_thread(server.__enter__)
    try:
        yield server
    finally:
        await asyncio.to_thread(server.__exit__, None, None, None)


async def tools_of(kit: Kit, server: Any) -> dict[str, Tool]:
    return {each.name: each for each in await kit.of(server.tools)}


async def ask(kit: Kit, tool: Tool, arguments: dict[str, Any] | str) -> ToolOutput:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    result: Any = await kit.of(tool.run, text, ToolContext())
    assert isinstance(result, ToolOutput)
    return result


async def test_mcp_tools_have_schemas_and_typed_results(kit: Kit, target: Any) -> None:
    async with connected(kit, target) as server:
        tools = await tools_of(kit, server)
        add = tools["add"].definition
        assert (add.description, add.input_schema["required"], add.strict) == ("Adds two numbers.", ["a"], False)
        assert await ask(kit, tools["add"], {"a": 2}) == ToolOutput(structured_json='{"sum": 3}')
        assert await ask(kit, tools["look"], {}) == ToolOutput((Text("a picture"), Media("image/png", data=PIXEL)))
        audio, blob, text, link = (await ask(kit, tools["everything"], {})).parts
        assert audio == Media("audio/wav", data=b"aa")
        assert blob == Media("application/pdf", data=b"PDF", name="demo://blob")
        assert text == Text("kept")
        assert isinstance(link, Text)
        assert json.loads(link.text)["uri"] == "demo://link"


async def test_invalid_mcp_tool_name_is_changed_and_can_be_called(kit: Kit, url: str) -> None:
    async with connected(
        kit, url, prefix="demo", only={"files.read/v1"}, return_direct={"files.read/v1"}, timeout=20
    ) as server:
        [tool] = await kit.of(server.tools)
        assert (tool.name, tool.return_direct, tool.timeout) == ("demo_files_read_v1", True, 20)
        assert "content of a.txt" in (await ask(kit, tool, {"path": "a.txt"})).structured_json


async def test_mcp_tool_error_is_an_error_result(kit: Kit, url: str) -> None:
    async with connected(kit, url) as server:
        tools = await tools_of(kit, server)
        failed = await ask(kit, tools["fail"], {"why": "no such flight"})
        assert failed.is_error
        assert any(isinstance(part, Text) and "no such flight" in part.text for part in failed.parts)
        wrong = await ask(kit, tools["add"], {"a": "x"})
        assert wrong.is_error
        assert "a" in str(wrong.parts)
        for text, said in (('{"a"', "not valid JSON"), ("[1]", "must be an object")):
            refused = await ask(kit, tools["add"], text)
            assert refused.is_error
            assert said in str(refused.parts)


async def test_mcp_calls_run_concurrently_and_time_out(kit: Kit, url: str) -> None:
    async with connected(kit, url, timeout=60.0) as server:
        tools = await tools_of(kit, server)
        met = await asyncio.gather(*(ask(kit, tools["meet"], {"calls": 4}) for _ in range(4)))
        assert met == [ToolOutput((Text("met"),))] * 4, "in sequence they never meet"
    async with connected(kit, url, timeout=2.0) as server:
        tools = await tools_of(kit, server)
        with pytest.raises(MCPError):
            await ask(kit, tools["wait"], {"seconds": 30})
        server._timeout = 60.0  # only the call above is to run out of time
        assert (await ask(kit, tools["add"], {"a": 1})).structured_json == '{"sum": 2}', "the connection still works"


async def test_mcp_server_outside_with_block_raises_not_connected(kit: Kit, url: str) -> None:
    server = kit.McpServer(url)
    with pytest.raises(ChatError, match="not connected"):
        await kit.of(server.tools)
    async with connected(kit, url) as server:
        tools = await tools_of(kit, server)
    with pytest.raises(ChatError, match="not connected"):
        await ask(kit, tools["add"], {"a": 1})


async def test_dead_mcp_server_fails_the_call_without_hanging(kit: Kit) -> None:
    async with connected(kit, demo()) as server:
        tools = await tools_of(kit, server)
        with pytest.raises((MCPError, ChatError)):
            await asyncio.wait_for(ask(kit, tools["die"], {}), 60)
        with pytest.raises((MCPError, ChatError)):
            await asyncio.wait_for(ask(kit, tools["add"], {"a": 1}), 60)


async def test_failed_mcp_connection_raises_within_connect_timeout(kit: Kit) -> None:
    broken = started("-c", "raise SystemExit(3)")
    for target in (broken, f"http://127.0.0.1:{free_port()}/mcp", StdioServerParameters(command="/no/such/program")):
        with pytest.raises(Exception) as failed:
            async with connected(kit, target, connect_timeout=60):
                pass
        assert not isinstance(failed.value, TimeoutError | asyncio.CancelledError)
    silent = started("-c", "import time; time.sleep(60)")
    begun = time.monotonic()
    with pytest.raises(TimeoutError):
        async with connected(kit, silent, connect_timeout=0.5):
            pass
    assert time.monotonic() - begun < 30, "it sleeps for 60 seconds"


SILENT = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    about = {"capabilities": {"tools": {}}, "serverInfo": {"name": "silent", "version": "1"}}
    about["protocolVersion"] = request.get("params", {}).get("protocolVersion")
    reply = {"result": about} if request["method"] == "initialize" else {"error": {"code": -32601, "message": "unknown"}}
    if "id" in request and request["method"] != "tools/list":
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}), flush=True)
"""


async def test_mcp_server_that_never_lists_tools_times_out(kit: Kit) -> None:
    silent = started("-c", SILENT)
    async with connected(kit, silent) as server:
        server._connect_timeout = 3  # limits the list as well; the program itself may start more slowly
        begun = time.monotonic()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(kit.of(server.tools), 60)
        assert time.monotonic() - begun < 30


async def test_unknown_mcp_tool_in_only_is_rejected(kit: Kit, url: str) -> None:
    async with connected(kit, url, only={"add", "subtract"}) as server:
        with pytest.raises(InvalidTool, match="has no tool subtract"):
            await kit.of(server.tools)


def test_truncated_tool_names_stay_unique() -> None:
    long = "x" * 70
    assert model_name("add", "") == "add"
    assert model_name("a/b", "my srv") == "my_srv_a_b"
    first, second = model_name(f"{long}1", ""), model_name(f"{long}2", "")
    assert len(first) == len(second) == 64
    assert first != second


async def test_open_mcp_connection_is_used_and_left_open() -> None:
    async with McpClient(stdio_client(demo())) as client:
        for given in (client, client.session):
            async with AsyncMcpServer(given) as server:
                tools = {each.name: each for each in await server.tools()}
                result: Any = tools["add"].run('{"a": 1}', ToolContext())
                assert (await result).structured_json == '{"sum": 2}'
            with pytest.raises(TypeError, match="belongs to an event loop; use AsyncMcpServer"):
                McpServer(given)
        assert (await client.call_tool("add", {"a": 1})).structured_content == {"sum": 2}


async def test_mcp_transport_factory_is_called_in_the_event_loop_of_the_connection(kit: Kit, url: str) -> None:
    seen: list[str] = []

    async def note(request: httpx2.Request) -> None:
        seen.append(request.headers["authorization"])

    @contextlib.asynccontextmanager
    async def with_token() -> AsyncIterator[Any]:
        async with httpx2.AsyncClient(headers={"authorization": "Bearer x"}, event_hooks={"request": [note]}) as http:
            yield streamable_http_client(url, http_client=http)

    async with connected(kit, with_token) as server:
        assert "add" in await tools_of(kit, server)
    assert {*seen} == {"Bearer x"}


async def test_threadkeep_recall_tools_work_over_mcp(kit: Kit, address: str) -> None:
    with threadkeep.Client(address) as client:
        ref = threadkeep.SessionRef(app="shop", user_id="alice", session_id="s1")
        client.append(ref, threadkeep.user("I drink green tea every morning."), create_if_missing=True)
    arguments = ["-m", "threadkeep.cli", "mcp", "--user", "alice", "--app", "shop", "--address", address]
    program = started(*arguments)
    async with connected(kit, program) as server:
        tools = await tools_of(kit, server)
        assert tools.keys() == {"load_memory", "conversation_search", "cross_session_search"}
        found = await ask(kit, tools["conversation_search"], {"query": "tea", "session_id": "s1"})
        assert "green tea" in found.structured_json
        wrong = await ask(kit, tools["load_memory"], {"question": "tea"})
        assert wrong.is_error
