"""`threadkeep mcp`."""

from __future__ import annotations

import os
import signal
import sys
from functools import partial
from typing import Annotated

import typer

from ... import AsyncClient
from ..errors import CliError, Exit
from ..options import Address, App, Token, cli_of, usage
from ..render.output import plain

_NO_PORT = "--http takes HOST:PORT, for example 127.0.0.1:7490"


def mcp(
    ctx: typer.Context,
    user: Annotated[str, typer.Option("--user", help="Whose conversations and memories. (env THREADKEEP_MCP_USER)")] = "",
    app: App = None,
    session: Annotated[str, typer.Option("--session", help="The session of conversation_search.")] = "",
    http: Annotated[str, typer.Option("--http", metavar="HOST:PORT", help="Serve streamable HTTP, not standard input.")] = "",
    writes: Annotated[bool, typer.Option("--allow-writes", help="Offer `remember` too, which adds memories.")] = False,
    address: Address = None,
    token: Token = None,
) -> None:
    """Offer the recall tools of one user to MCP clients, by default over standard input and output.

    Read-only unless --allow-writes. Over HTTP the endpoint is http://HOST:PORT/mcp; THREADKEEP_MCP_TOKEN, if set, is the
    bearer token that it requires; an address beyond this machine requires one.
    """
    user = user or os.environ.get("THREADKEEP_MCP_USER", "")
    if not user:
        raise usage("--user (or THREADKEEP_MCP_USER) must say whose conversations and memories are offered")
    try:
        from ... import mcp as serving
    except ModuleNotFoundError as error:
        raise CliError(f"MCP needs {error.name}; run: pip install 'threadkeep[mcp]'", reason="MISSING_EXTRA") from None
    cli = cli_of(ctx, address, token, json=False)
    binding = serving.Binding(user, app or "", session, writes)
    host, port = _split(http) if http else ("", 0)

    async def use(client: AsyncClient) -> None:
        if not http:  # a thread that waits for standard input cannot be interrupted, and nothing here needs to be closed
            signal.signal(signal.SIGINT, lambda number, frame: os._exit(Exit.INTERRUPTED))
            await serving.serve_stdio(client, binding)
            return
        secret = os.environ.get("THREADKEEP_MCP_TOKEN", "")
        try:
            await serving.serve_http(client, binding, host=host, port=port, token=secret, ready=partial(_tell, user))
        except OSError as error:
            why = str(error.strerror or error).partition(" (")[0]  # the library adds the address
            raise CliError(f"cannot listen on {http}: {why}; give another --http", reason="OS_ERROR") from None

    cli.call(use)


def _tell(user: str, url: str) -> None:
    print(f"serving MCP for {plain(user)} at {url}; Ctrl-C ends it", file=sys.stderr, flush=True)


def _split(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdecimal() or not 0 <= int(port) < 1 << 16:
        raise usage(f"{_NO_PORT}, not {text!r}")
    return host.strip("[]"), int(port)
