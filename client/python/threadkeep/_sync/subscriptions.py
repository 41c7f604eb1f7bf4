# Generated from _async by `make sync-client`. Do not edit.
"""What a client follows: changes of a session, or of all; see `client`."""

from __future__ import annotations

from collections.abc import Generator, Mapping

from .. import _changes
from .._backoff import Backoff
from .._convert import SessionLike
from .._frames_threads import Frames, pause
from ..errors import ThreadkeepError, Unavailable
from ..v1 import subscription_service_pb2 as su
from ..v1.filter_pb2 import EventFilter
from ..values.changes import Change, typed
from .connection import Connection


class Subscriptions(Connection):
    """The subscriptions."""

    def watch(
        self,
        session: SessionLike | None = None,
        *,
        user_id: str | None = None,
        app: str | None = None,
        all_users: bool = False,
        all_apps: bool = False,
        labels: Mapping[str, str] | None = None,
        filter: EventFilter | None = None,  # noqa: A002
        resume_token: str | None = None,
        after_seq: int | None = None,
        from_beginning: bool = False,
        checkpoints: bool = False,
        max_retries: int | None = None,
    ) -> Generator[Change]:
        """Follow every change of one session, or of all sessions of a scope: in order, each once, an append as a whole.

        `session`: follow this one, which need not exist yet. Else `user_id`, `app`, `all_users`, `all_apps`: whose sessions, as
        in `list_sessions`, by default the client's; `labels`: only sessions with all of them, at most 64.
        `filter`: which events to deliver, without a window; an append of which nothing is left is not told.

        It starts with what is committed from now on; or after the change that bore `resume_token`; or, of one session, with
        what comes after the seq `after_seq`; or `from_beginning`: of the session, or of the feed as far as it reaches back.
        Keep a change's `resume_token` once it is handled: `watch` with it and the same scope and filter goes on after it.

        Checkpoints are not handed out unless `checkpoints`. Then the first item is one of kind STARTED, which says that
        nothing that is committed later will be missed.

        It has no deadline. When the server is unavailable or silent for 30 seconds it opens the stream again where it stood,
        after a pause of up to 0.1 seconds that doubles up to 5 (and as long as the server asks for), `max_retries` times in a
        row, by default for ever; any message begins a new row. Leaving the loop and closing the iterator end the call; what
        waits in another thread is ended by closing the client, with a ThreadkeepError.

        Raises SessionNotFound and AmbiguousSession for a session without user; InvalidResumeToken; QuotaExceeded; and
        ResumePositionExpired when the feed no longer holds what comes next: then changes were missed, so read the sessions
        again before you start at its `oldest_resume_token`.
        """
        if session is not None and (user_id is not None or app is not None or labels is not None or all_users or all_apps):
            raise ValueError("give either session, or whose sessions: user_id, app, labels, all_users, all_apps")
        if max_retries is not None and max_retries < 0:
            raise ValueError("max_retries must be at least 0")
        whose = self._scope(user_id, app, labels, all_users, all_apps) if session is None else self._ref(session)
        request = _changes.watch_request(
            whose, filter, resume_token=resume_token, after_seq=after_seq, from_beginning=from_beginning
        )
        return self._follow(request, checkpoints, Backoff(max_retries))

    def _open(self, request: _changes.WatchRequest) -> Frames[su.WatchSessionResponse] | Frames[su.WatchAllResponse]:
        stub = self._stubs().subscriptions
        if isinstance(request, su.WatchSessionRequest):
            return Frames(stub.WatchSession(request, metadata=self._metadata), _changes.SILENCE, self.address)
        return Frames(stub.WatchAll(request, metadata=self._metadata), _changes.SILENCE, self.address)

    def _follow(self, request: _changes.WatchRequest, checkpoints: bool, backoff: Backoff) -> Generator[Change]:
        cursor = _changes.Cursor()
        while True:
            try:
                with self._open(request) as frames:
                    for frame in frames:
                        backoff.reset()
                        for part in frame.changes:
                            change = cursor.take(part)
                            if change is not None and (checkpoints or not change.HasField("checkpoint")):
                                yield typed(change)
                raise Unavailable("the server ended the stream")
            except ThreadkeepError as error:
                seconds = backoff.pause(error)
            pause(seconds)
            cursor.resume(request)
