# Generated from _async by `make sync-client`. Do not edit.
"""The subscriptions: changes of a session or of many; see `client`."""

from __future__ import annotations

from collections.abc import Generator, Mapping

from .._convert import SessionLike
from .._streams import changes
from .._streams.backoff import Backoff
from .._streams.frames_threads import Frames, pause
from ..errors import ThreadkeepError, Unavailable
from ..filters import FilterLike, filter_of
from ..v1 import subscription_service_pb2 as su
from ..values.changes import Change, typed
from .connection import Connection


class Subscriptions(Connection):
    """The calls that subscribe."""

    def watch(
        self,
        session: SessionLike,
        *,
        filter: FilterLike | None = None,  # noqa: A002
        resume_token: str | None = None,
        after_seq: int | None = None,
        from_beginning: bool = False,
        checkpoints: bool = False,
        max_retries: int | None = None,
    ) -> Generator[Change]:
        """Subscribe to a session, which need not exist yet. Delivers every change once, in order; each append is one change.

        Yields `Appended`, `Compacted`, `Removed`, `StateChanged`, `SessionCreated`, `SessionUpdated`, `SessionDeleted`,
        `SessionExpired`, `SessionMovedOut` and `SessionMovedIn`. `filter`: the events to deliver, without a window; an append
        without such events is not delivered.

        It starts with changes committed from now on; or after the change with `resume_token`; or after the seq `after_seq`; or
        `from_beginning`. Store the `resume_token` of a handled change: `watch` with it and the same filter resumes after it.

        `checkpoints`: yield CheckpointReached too. The first item then has the kind STARTED: every change committed later is
        delivered.

        It has no deadline. When the server is unavailable or silent for 30 seconds it opens the stream again and resumes,
        after a pause of up to 0.1 seconds that doubles up to 5 (and at least the server's retry delay), `max_retries` times in
        a row, by default without limit; any message resets the count. Leaving the loop and closing the iterator end the call;
        closing the client ends the calls of other threads with a ThreadkeepError.

        Raises SessionNotFound and AmbiguousSession for a session without user; InvalidResumeToken; QuotaExceeded; and
        ResumePositionExpired when the feed no longer contains the next changes: read the session again, then start at
        its `oldest_resume_token`.
        """
        request = changes.watch_request(
            self._ref(session),
            filter_of(filter),
            resume_token=resume_token,
            after_seq=after_seq,
            from_beginning=from_beginning,
        )
        return self._follow(request, checkpoints, _retries(max_retries))

    def watch_all(
        self,
        *,
        user_id: str | None = None,
        app: str | None = None,
        any_user: bool = False,
        any_app: bool = False,
        labels: Mapping[str, str] | None = None,
        filter: FilterLike | None = None,  # noqa: A002
        resume_token: str | None = None,
        from_beginning: bool = False,
        checkpoints: bool = False,
        max_retries: int | None = None,
    ) -> Generator[Change]:
        """Subscribe to all sessions of a scope; see `watch`.

        The scope is that of `sessions_page`, by default the client's user and app; `labels`: only sessions with all of them, at
        most 64. `from_beginning`: of the retained feed. Raises InvalidResumeToken, QuotaExceeded, ResumePositionExpired.
        """
        request = changes.watch_request(
            self._scope(user_id, app, labels, any_user, any_app),
            filter_of(filter),
            resume_token=resume_token,
            after_seq=None,
            from_beginning=from_beginning,
        )
        return self._follow(request, checkpoints, _retries(max_retries))

    def _open(self, request: changes.WatchRequest) -> Frames[su.WatchSessionResponse] | Frames[su.WatchAllResponse]:
        stub = self._stubs().subscriptions
        if isinstance(request, su.WatchSessionRequest):
            return Frames(stub.WatchSession(request, metadata=self._credential.metadata()), changes.SILENCE, self.address)
        return Frames(stub.WatchAll(request, metadata=self._credential.metadata()), changes.SILENCE, self.address)

    def _follow(self, request: changes.WatchRequest, checkpoints: bool, backoff: Backoff) -> Generator[Change]:
        cursor = changes.Cursor()
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


def _retries(max_retries: int | None) -> Backoff:
    if max_retries is not None and max_retries < 0:
        raise ValueError("max_retries must be at least 0")
    return Backoff(max_retries)
