"""Shared by all commands: the options of the connection, and calls to the server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, TypedDict, TypeVar

import grpc
import typer

from .. import AsyncClient
from .._address import endpoint
from ..errors import ThreadkeepError
from ..v1.session_pb2 import SessionRef
from .errors import CliError, Exit, from_server

Result = TypeVar("Result")

Address = Annotated[
    str | None,
    typer.Option("--address", metavar="HOST:PORT", help="The server. (env THREADKEEP_ADDRESS, default 127.0.0.1:7443)"),
]
Token = Annotated[
    str | None, typer.Option("--token", help="The bearer token; --token-file FILE reads it from a file. (env THREADKEEP_TOKEN)")
]
Json = Annotated[bool, typer.Option("--json", help="Write JSON for programs: one object, or one to a line.")]
User = Annotated[str, typer.Option("--user", help="The user who owns the session.")]
AllUsers = Annotated[bool, typer.Option("--all-users", help="Of every user that the token can access.")]
App = Annotated[str | None, typer.Option("--app", help="The application of the session.")]
AsOfSeq = Annotated[int | None, typer.Option(min=1, help="As it was directly after the event with this seq was stored.")]
AsOfVersion = Annotated[int | None, typer.Option(min=0, help="As it was at this log version.")]
SessionId = Annotated[str, typer.Argument(metavar="SESSION", help="The session's id.")]


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files of a TLS connection; None is the system's roots, or no client certificate."""

    ca: Path | None = None
    certificate: Path | None = None
    private_key: Path | None = None

    def credentials(self) -> grpc.ChannelCredentials | None:
        """Returns what the files say; None if there are none. Raises OSError for a file that cannot be read."""
        if (self.certificate is None) != (self.private_key is None):
            raise usage("give --certificate and --private-key together, or neither")
        files = (self.ca, self.private_key, self.certificate)
        if not any(files):
            return None
        return grpc.ssl_channel_credentials(*(file.read_bytes() if file else None for file in files))


@dataclass(frozen=True, slots=True)
class Cli:
    """The connection's options and the form of the output."""

    address: str | None = None
    token: str | None = None
    json: bool = False
    allow_plaintext_token: bool | None = None
    tls: TlsFiles = TlsFiles()

    def client(self) -> AsyncClient:
        """Returns a client of the server."""
        return AsyncClient(
            self.address,
            token=self.token,
            tls=self.tls.credentials() if endpoint(self.address).tls else None,
            allow_plaintext_token=self.allow_plaintext_token,
        )

    def call(self, use: Callable[[AsyncClient], Awaitable[Result]]) -> Result:
        """Runs calls against the server; raises CliError for its errors."""

        async def connected() -> Result:
            async with self.client() as client:
                return await use(client)

        try:
            return asyncio.run(connected())
        except ThreadkeepError as error:
            raise from_server(error) from error

    @property
    def server(self) -> str:
        """The effective address."""
        return endpoint(self.address).target


def cli_of(ctx: typer.Context, address: str | None, token: str | None, json: bool) -> Cli:
    """Returns the options of a command, completed by those before the command."""
    base = ctx.find_object(Cli) or Cli()
    token = base.token if token is None else token
    return replace(base, address=address or base.address, token=token, json=json or base.json)


def ref_of(session_id: str, user: str, app: str | None) -> SessionRef:
    """Returns the session of the arguments."""
    if not session_id:
        raise usage("SESSION must not be empty; `threadkeep sessions list` lists sessions")
    return SessionRef(app=app or "", user_id=user, session_id=session_id)


def check_users(user: str, all_users: bool) -> None:
    """One user, or every user."""
    if user and all_users:
        raise usage("give either --user or --all-users")


def pairs(given: list[str], option: str) -> dict[str, str]:
    """Returns KEY=VALUE arguments as a mapping."""
    found = {}
    for each in given:
        key, equals, value = each.partition("=")
        if not equals or not key:
            raise usage(f"{option} takes KEY=VALUE, not {each!r}")
        found[key] = value
    return found


class AsOf(TypedDict):
    """The moment of a read, for the client."""

    as_of_seq: int | None
    as_of_log_version: int | None


def one_moment(as_of_seq: int | None, as_of_version: int | None) -> None:
    """Raises CliError if both are given."""
    if as_of_seq is not None and as_of_version is not None:
        raise usage("give at most one of --as-of-seq and --as-of-version")


def usage(message: str) -> CliError:
    """The command line is wrong."""
    return CliError(message, Exit.USAGE, reason="USAGE")
