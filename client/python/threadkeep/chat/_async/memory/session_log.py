"""A session as the memory uses it: read once per turn, written after each step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from .... import AsyncClient
from ...._convert import CreateOptions, session_ref
from ....errors import AmbiguousSession, InvalidField, PermissionDenied, SessionNotFound
from ....memory import MemoryProvider
from ....v1.event_pb2 import SessionEvent
from ....v1.event_service_pb2 import AppendEventsResponse
from ....v1.session_pb2 import Session, SessionRef, TokenUsage, WindowCounters
from ...context_keys import RUN, SESSION, USER
from ...errors import MissingSession, WrongUser
from ...memory.events import from_event, to_event
from ...memory.turns import Turn
from ...types.messages import Message, Role
from ...types.responses import Usage

DEFAULT_USER = "default-user"
"""User of a session that is created when the request, the client and the credential name none."""


class NewEvent(NamedTuple):
    """A message to store. `shared`: other writers derive the same id; the version that was stored first applies to all."""

    message: Message
    event_id: str
    usage: Usage | None = None
    shared: bool = False


class Stored(NamedTuple):
    """The turn, the stored messages with their ids, and the window's counters after the append, None without one."""

    turn: Turn
    messages: tuple[Message, ...]
    window: WindowCounters | None


class AsyncSessionLog:
    """Reads a session and appends to it, and creates it if necessary."""

    def __init__(
        self,
        client: AsyncClient,
        *,
        author: str,
        author_role: str,
        branch: str,
        create: bool | CreateOptions,
        check_owner: bool,
    ) -> None:
        self._client = client
        self._stamp = {"author": author, "author_role": author_role, "branch": branch}
        self._create = create
        self._check_owner = check_owner

    @property
    def branch(self) -> str:
        return self._stamp["branch"]

    async def read(self, context: Mapping[str, Any], provider: MemoryProvider) -> Turn:
        """Returns a new turn with the messages that the provider selects. Raises MissingSession, WrongUser."""
        ref = self._session_ref(context)
        if self.branch and not provider.spec.branch:
            provider = provider.on_branch(self.branch)
        turn = Turn(ref, provider)
        if provider.reads:
            answer = await self._client.get_context(ref, provider)
            messages = [_history_message(event) for event in answer.pb.events]
            turn = replace(
                turn,
                instructions=tuple(message for message in messages if message.role is Role.SYSTEM),
                messages=tuple(message for message in messages if message.role is not Role.SYSTEM),
                exists=answer.log_version > 0,
            )
        if not turn.exists and self._check_owner and context.get(USER):
            await self._require_ownership(ref)
        return turn

    async def append(self, turn: Turn, new_events: Sequence[NewEvent], context: Mapping[str, Any]) -> Stored:
        """Stores the events, all or none. They are durable when it returns."""
        if not new_events or not turn.provider.writes:
            return Stored(turn, tuple(new_event.message for new_event in new_events), None)
        run = context.get(RUN)
        events = [self._event(new_event, "" if run is None else str(run)) for new_event in new_events]
        ref, answer = await self._append(turn, events)
        messages: list[Message] = []
        for new_event, appended in zip(new_events, answer.events, strict=True):
            message = replace(new_event.message, id=appended.event_id, author=self._stamp["author"], branch=self.branch)
            if new_event.shared and appended.replayed:
                message = from_event((await self._client.get_event(ref, appended.event_id)).pb)
            messages.append(message)
        return Stored(replace(turn, ref=ref, exists=True), tuple(messages), answer.window)

    async def _append(self, turn: Turn, events: Sequence[SessionEvent]) -> tuple[SessionRef, AppendEventsResponse]:
        create = False if turn.exists else self._create
        try:
            return turn.ref, await self._client.append(turn.ref, *events, if_exists="ignore", create_if_missing=create)
        except InvalidField as error:
            if error.field != "session.user_id" or turn.ref.user_id:
                raise
        ref = SessionRef(app=turn.ref.app, user_id=DEFAULT_USER, session_id=turn.ref.session_id)
        return ref, await self._client.append(ref, *events, if_exists="ignore", create_if_missing=create)

    def _event(self, new_event: NewEvent, run: str) -> SessionEvent:
        usage = new_event.usage
        counted = usage and TokenUsage(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            total_tokens=usage.total_tokens,
            cached_tokens=usage.cache_read_tokens,
            reasoning_tokens=usage.reasoning_tokens,
        )
        return to_event(new_event.message, event_id=new_event.event_id, usage=counted or None, invocation_id=run, **self._stamp)

    def _session_ref(self, context: Mapping[str, Any]) -> SessionRef:
        """Returns the session of a request."""
        session, user_id = context.get(SESSION), context.get(USER)
        if not session:
            raise MissingSession(
                f'this request names no session, which the memory needs: call .session("...") on the prompt, '
                f"or set the key {SESSION!r} of the request's context to a session's id or SessionRef"
            )
        ref = session_ref(session, self._client.app, user_id or self._client.user_id)
        if isinstance(session, SessionRef | Session) and user_id and ref.user_id != user_id:
            if ref.user_id:
                raise _wrong_user(ref, user_id)
            ref = SessionRef(app=ref.app, user_id=user_id, session_id=ref.session_id)
        return ref

    async def _require_ownership(self, ref: SessionRef) -> None:
        """Raises WrongUser if the user has no such session but another user of the app has.

        It is not checked if several apps have sessions with this id, or if the credential is bound to a user, who then owns
        all sessions that it can read.
        """
        try:
            found = (await self._client.get_session(SessionRef(session_id=ref.session_id))).ref
        except (SessionNotFound, AmbiguousSession, PermissionDenied):
            return
        if found.app == ref.app and found.user_id != ref.user_id:
            raise _wrong_user(found, ref.user_id)


def _history_message(event: SessionEvent) -> Message:
    """Returns the message of a stored event. A summary gets no id, so that no turn is resumed at it."""
    message = from_event(event)
    if event.synthetic and message.role is not Role.TOOL:
        return replace(message, id="")
    return message


def _wrong_user(ref: SessionRef, user_id: str) -> WrongUser:
    return WrongUser(f"the session {ref.session_id!r} does not belong to the user {user_id!r}")
