"""The application; the exit codes are in `errors`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import ThreadkeepError
from .errors import CliError, Exit, debugging, from_server, from_system, one_line, report
from .loading import add_commands
from .options import Address, Cli, Json, TlsFiles, Token, usage


def build(arguments: Sequence[str] = ()) -> typer.Typer:
    """Returns the application with the command that the arguments call, or with all commands."""
    app = typer.Typer(
        name="threadkeep",
        help="One session memory for every agent: run the server, and inspect its data.",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog="Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 no server, 130 interrupted.",
    )
    app.callback(invoke_without_command=True)(_base)
    add_commands(app, arguments)
    return app


def run(arguments: list[str]) -> int:
    """Runs one command line and returns its exit code. THREADKEEP_DEBUG=1 lets tracebacks through."""
    try:
        return _invoke(_with_tokens_of_files(arguments))
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except BrokenPipeError:  # the reader of the output has exited
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.FAILED
    except (CliError, ThreadkeepError, OSError, ValueError) as error:
        failure = _failure(error)
        if debugging() and (failure is not error or error.__cause__ is not None):
            raise
    return report(failure, as_json="--json" in arguments)


def _with_tokens_of_files(arguments: list[str]) -> list[str]:
    """Returns the arguments with `--token TOKEN` in place of each `--token-file FILE`: every command with one has the other."""
    found: list[str] = []
    rest = iter(arguments)
    for each in rest:
        name, given, value = each.partition("=")
        if each == "--":
            return [*found, each, *rest]
        found.append(f"--token={_token_in(value if given else next(rest, ''))}" if name == "--token-file" else each)
    return found


def _token_in(path: str) -> str:
    if not path:
        raise usage("--token-file needs the path of a file with a token")
    lines = Path(path).read_text(encoding="utf-8").split()
    if len(lines) != 1:
        raise usage(f"--token-file: {path} must contain one token and nothing else")
    return lines[0]


def _failure(error: Exception) -> CliError:
    if isinstance(error, CliError):
        return error
    if isinstance(error, ThreadkeepError):
        return from_server(error)
    if isinstance(error, OSError):
        return from_system(error)
    if isinstance(error, UnicodeError):
        return CliError(f"not UTF-8 text: {error}", reason="INVALID_TEXT")
    return CliError(one_line(str(error)), Exit.USAGE, reason="USAGE")


def _invoke(arguments: list[str]) -> int:
    """Runs typer and converts its errors."""
    try:
        code = typer.main.get_command(build(arguments))(arguments, prog_name="threadkeep", standalone_mode=False)
        sys.stdout.flush()
        if code == Exit.INTERRUPTED:  # typer raises it for a KeyboardInterrupt
            raise KeyboardInterrupt
    except typer.Abort:
        raise KeyboardInterrupt from None
    except Exception as error:
        message = _usage_message(error)
        if message is None:
            raise
        if not message:
            return Exit.USAGE
        raise CliError(message, Exit.USAGE, reason="USAGE") from None
    return code if isinstance(code, int) else Exit.OK


def _usage_message(error: Any) -> str | None:
    """Returns the message of a usage error, on one line; None for other errors; empty if help was shown instead."""
    if not hasattr(error, "format_message") or not hasattr(error, "exit_code"):
        return None
    message = one_line(error.format_message())
    if not message:
        return ""
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "threadkeep"
    return f"{message.rstrip('.')}; see {command} --help"


def _version(wanted: bool) -> None:
    if wanted:
        from .. import __version__  # the package is complete by now

        typer.echo(f"threadkeep {__version__}")
        raise typer.Exit


def _base(
    ctx: typer.Context,
    address: Address = None,
    token: Token = None,
    json: Json = False,
    allow_plaintext_token: Annotated[
        bool,
        typer.Option(
            "--allow-plaintext-token",
            help="Send the token to another machine without TLS. (env THREADKEEP_ALLOW_PLAINTEXT_TOKEN=1)",
        ),
    ] = False,
    ca: Annotated[
        Path | None,
        typer.Option(
            "--ca",
            metavar="FILE",
            envvar="THREADKEEP_CA",
            show_envvar=False,
            help="PEM file of the CA of an https:// server. (env THREADKEEP_CA, default the system's)",
        ),
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(
            "--certificate", metavar="FILE", help="PEM file of the client's certificate, for a server that requires one."
        ),
    ] = None,
    private_key: Annotated[
        Path | None,
        typer.Option("--private-key", metavar="FILE", help="PEM file of the key of --certificate."),
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    ctx.obj = Cli(address, token, json, allow_plaintext_token or None, TlsFiles(ca, certificate, private_key))
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())
