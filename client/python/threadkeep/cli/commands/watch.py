"""`threadkeep watch`: a live tail."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Annotated, TypedDict

import typer
from rich.console import Console
from rich.text import Text

from ... import AsyncClient
from ..._streams.backoff import Backoff
from ...errors import SessionNotFound, ThreadkeepError
from ...filters import Authors, Filter, event_filter
from ...v1.event_pb2 import SessionEvent
from ...v1.session_pb2 import SessionRef
from ...v1.subscription_pb2 import Change, EventBatch
from ...values.changes import Change as Watched
from ..options import Address, AllUsers, App, Json, Token, check_users, cli_of, pairs, ref_of, usage
from ..render.changes import ChangeLines, change_json
from ..render.output import console, print_json
from .events import Role

Open = Callable[[str | None], AsyncGenerator[Watched]]
"""Opens a stream after the change with this token; None: at the start that the command line sets."""


class Start(TypedDict, total=False):
    """The start, as an argument of the client's `watch`."""

    resume_token: str
    after_seq: int
    from_beginning: bool


@dataclass(frozen=True, slots=True)
class Whose:
    """The session to follow; without one, all of a scope."""

    session: SessionRef | None
    user: str
    app: str | None
    labels: dict[str, str]

    def watch(self, client: AsyncClient, chosen: Filter, start: Start) -> AsyncGenerator[Watched]:
        """Returns the changes, without retries: `Tail` retries and prints notes."""
        if self.session is not None:
            return client.watch(self.session, filter=chosen, checkpoints=True, max_retries=0, **start)
        return client.watch_all(
            user_id=self.user or None,
            any_user=not self.user,
            app=self.app,
            labels=self.labels or None,
            filter=chosen,
            resume_token=start.get("resume_token"),
            from_beginning=start.get("from_beginning", False),
            checkpoints=True,
            max_retries=0,
        )

    def lines(self) -> ChangeLines:
        """Returns a printer that names sessions by the fields that differ."""
        one = self.session is not None
        return ChangeLines(console(), app=not one and self.app is None, user=not one and not self.user, session=not one)


class Tail:
    """Follows changes and resumes when the server is back. `token`: the resume token of the last change."""

    def __init__(self, show: Callable[[Change], None], notes: Console, token: str | None) -> None:
        self._show, self._notes = show, notes
        self.token = token

    async def follow(self, begin: Open, count: int) -> None:
        """Shows the changes of `begin`, `count` of them, 0 without limit. A server that never responded is an error."""
        backoff, heard, gone = Backoff(), False, False
        while True:
            try:
                async with aclosing(begin(self.token)) as changes:
                    async for change in changes:
                        if gone:
                            self._note("back")
                        heard, gone = True, False
                        backoff.reset()
                        shown = not change.HasField("checkpoint")
                        if shown:
                            self._show(change.pb)
                        self.token = change.resume_token or self.token
                        if shown and (count := count - 1) == 0:
                            return
            except ThreadkeepError as error:
                if not heard:
                    raise
                seconds = backoff.pause(error)
            if not gone:
                self._note("server gone, retrying")
            gone = True
            await asyncio.sleep(seconds)

    def print_token(self) -> None:
        """Prints how to resume, after the first change."""
        if self.token:
            self._notes.print(Text(f"\nto resume here: --resume-token {self.token}", "dim"), soft_wrap=True)

    def _note(self, text: str) -> None:
        self._notes.print(Text(text, "dim"))


def watch(
    ctx: typer.Context,
    session: Annotated[str, typer.Argument(metavar="[SESSION]", help="The session's id; it need not exist yet.")] = "",
    user: Annotated[str, typer.Option("--user", help="The user who owns the session, or all sessions of this user.")] = "",
    app: App = None,
    all_users: AllUsers = False,
    label: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Only sessions with this label; may be repeated: all.")
    ] = None,
    role: Annotated[list[Role] | None, typer.Option(help="Only this role; may be repeated.")] = None,
    keyword: Annotated[list[str] | None, typer.Option(help="Only texts with this keyword; may be repeated: all.")] = None,
    author: Annotated[list[str] | None, typer.Option(help="Only this agent id; may be repeated.")] = None,
    branch: Annotated[str, typer.Option(help="What an agent on this branch sees.")] = "",
    last_n: Annotated[
        int | None, typer.Option("--last-n", "-n", min=1, help="From this number of newest events of SESSION.")
    ] = None,
    from_beginning: Annotated[
        bool, typer.Option("--from-beginning", help="From the beginning, as far as it is retained.")
    ] = False,
    after_seq: Annotated[int | None, typer.Option(min=0, help="Begin after this seq of SESSION.")] = None,
    resume_token: Annotated[str, typer.Option(metavar="TOKEN", help="Resume after the change of this token.")] = "",
    count: Annotated[int, typer.Option(min=0, help="End after this number of changes; 0: never.")] = 0,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Follow a session, or all of a user, an app or the tenant, until Ctrl-C. With --json, one change per line.

    It starts with new changes, or at the start that -n, --from-beginning, --after-seq or --resume-token selects. After
    an outage of the server it resumes: each change is shown once, in order. Options that select events hide no
    compaction, removal, change of state, update or deletion.
    """
    cli = cli_of(ctx, address, token, json)
    whose = _whose(session, user, app, all_users, pairs(label or [], "--label"))
    start = _start(whose, last_n, from_beginning, after_seq, resume_token)

    roles = [each.value for each in role or []]
    authors = Authors.include(author) if author else Authors()
    chosen = partial(event_filter, roles=roles, authors=authors, keywords=keyword or (), match="all", branch=branch)
    show = _print_change if cli.json else whose.lines().show
    tail = Tail(show, console(to_stderr=True), resume_token or None)

    async def followed(client: AsyncClient) -> None:
        begin_at = start
        if last_n is not None and whose.session is not None:
            events, seq = await _newest(client, whose.session, lambda end: chosen(before_seq=end, last_n=last_n))
            for event in events:
                show(Change(session=whose.session, batch=EventBatch(events=[event])))
            begin_at = Start(after_seq=seq)

        def begin(reached: str | None) -> AsyncGenerator[Watched]:
            return whose.watch(client, chosen(), begin_at if reached is None else Start(resume_token=reached))

        await tail.follow(begin, count)

    try:
        cli.call(followed)
    except KeyboardInterrupt:
        if not cli.json:
            tail.print_token()


def _whose(session: str, user: str, app: str | None, all_users: bool, labels: dict[str, str]) -> Whose:
    if session:
        if all_users or labels:
            raise usage("give either SESSION, or --all-users or --label")
        return Whose(ref_of(session, user, app), user, app, {})
    check_users(user, all_users)
    if not (all_users or user):
        raise usage("watch what? give SESSION, --user or --all-users; --app and --label then narrow it")
    return Whose(None, user, app, labels)


def _start(whose: Whose, last_n: int | None, from_beginning: bool, after_seq: int | None, resume_token: str) -> Start:
    if (last_n is not None) + from_beginning + (after_seq is not None) + bool(resume_token) > 1:
        raise usage("give at most one of -n, --from-beginning, --after-seq and --resume-token")
    if whose.session is None and (last_n is not None or after_seq is not None):
        raise usage("-n and --after-seq are for one session: give SESSION")
    if from_beginning:
        return Start(from_beginning=True)
    if after_seq is not None:
        return Start(after_seq=after_seq)
    return Start()


async def _newest(client: AsyncClient, ref: SessionRef, up_to: Callable[[int], Filter]) -> tuple[list[SessionEvent], int]:
    """Returns the newest events that match a filter, and the seq to follow from so that none is missed or repeated."""
    try:
        found = await client.get_session(ref)
    except SessionNotFound:
        if not ref.user_id and not ref.app:
            raise
        return [], 0
    return [event.pb async for event in client.events(found.ref, up_to(found.last_seq + 1))], found.last_seq


def _print_change(change: Change) -> None:
    print_json(change_json(change))
    sys.stdout.flush()
