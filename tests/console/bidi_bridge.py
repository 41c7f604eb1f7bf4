"""Runs Firefox for Playwright: `python bidi_bridge.py FIREFOX ARGUMENT...`.

Playwright drives an unpatched Firefox by WebDriver BiDi, and fails if the browser lacks a command that it sends. Firefox
ESR lacks some that set what these tests do not need; this program answers those itself and passes on all else.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys

from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import Server, ServerConnection, serve

UNKNOWN = frozenset({"emulation.setMediaFeaturesOverride", "emulation.setScreenSettingsOverride"})
LISTENING = re.compile(rb"WebDriver BiDi listening on (ws://\S+)")


async def pass_on(source: ClientConnection | ServerConnection, target: ClientConnection | ServerConnection) -> None:
    async for message in source:
        command = json.loads(message)
        if command.get("method") in UNKNOWN and isinstance(source, ServerConnection):
            await source.send(json.dumps({"type": "success", "id": command["id"], "result": {}}))
        else:
            await target.send(message)
    await target.close()


async def listen(firefox: str) -> Server:
    """Listens for Playwright and passes its commands to Firefox at this address."""

    async def bridge(playwright: ServerConnection) -> None:
        path = playwright.request.path if playwright.request else "/session"
        async with connect(firefox + path, max_size=None) as browser:
            await asyncio.gather(pass_on(playwright, browser), pass_on(browser, playwright))

    return await serve(bridge, "127.0.0.1", 0, max_size=None)


async def main(program: str, *arguments: str) -> int:
    process = await asyncio.create_subprocess_exec(program, *arguments, stderr=asyncio.subprocess.PIPE)
    assert process.stderr is not None
    servers = []
    async for line in process.stderr:
        found = LISTENING.search(line)
        if found:
            server = await listen(found[1].decode().rstrip("/"))
            servers.append(server)
            port = next(iter(server.sockets)).getsockname()[1]
            line = b"WebDriver BiDi listening on ws://127.0.0.1:%d\n" % port
        sys.stderr.buffer.write(line)
        sys.stderr.buffer.flush()
    return await process.wait()


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*sys.argv[1:])))
